"""Redacts secrets by their own characters: private keys, tokens of known issuers, and long random runs."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from ullage.redaction import REDACTED
from ullage.redaction.judgement import is_random
from ullage.redaction.known_words import (
    BOT,
    HOOK,
    LONGEST_RUN,
    PRIVATE_KEY,
    PUTTY,
    WEB_TOKEN,
    parted_prefixes,
    prefixes_in,
    shapes_by_prefix,
    words_in,
)
from ullage.redaction.scan import LONG_WORDS, CharRuns, FewWithin, cut, matches_at, places_of

_LABEL = r"[A-Z0-9 ]{0,40}(?:PRIVATE KEY|OPENSSH PRIVATE KEY)(?: BLOCK)?"
_WORD = re.compile(rf"[\w.~+/=:-]{{1,{LONGEST_RUN}}}")
# A terminal or an editor that wraps lines divides a secret; the next line begins with one more run that contains a
# digit.
_WRAPPED = re.compile(r"\\?\r?\n[ \t]{0,12}(?=[\w+/=-]{0,40}\d)[\w+/=-]{8,200}(?=[\s\"']|$)")
_WEB_TOKEN = re.compile(r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,1000}")
# Text that ends inside a word, so that no token begins after it. The letter of an escape (`\n`) doesn't count.
_INSIDE = re.compile(r"(?:^|[^\\])[A-Za-z0-9_]\Z|[A-Z0-9_]\Z")
_BOT = re.compile(r"\b\d{8,10}:AA[\w-]{30,40}")  # Telegram
_PEM = re.compile(
    rf"-----BEGIN {_LABEL}-----(?:.{{0,8000}}?-----END {_LABEL}-----|.{{0,8000}})",
    re.DOTALL,
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d.{0,8000}?Private-MAC: \w{10,80}", re.DOTALL)
_LONGEST_PUTTY = 8_000
# The end of a private key of which the beginning was cut off. What is before it is matched from its end backwards.
_PEM_END = re.compile(rf"-----END {_LABEL}-----")
_LINES_BACKWARDS = re.compile(r"(?:(?:[nr]\\|\s){1,4}[\w+/=]{20,90}){1,200}")
_LONGEST_PEM = 18_000
_HOOKS = re.compile(
    r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/|https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/"
    r"|https://[\w.-]{1,80}webhook\.office\.com/webhookb2/|https://hooks\.zapier\.com/hooks/catch/)[\w/@.-]{8,300}"
)
_CRYPT = re.compile(r"\$(?:2[abxy]|apr1|argon2(?:id?|d)|scrypt|pbkdf2-sha\d+|[156y])\$[^\s:\"'<>]{12,300}")
_LONG = CharRuns("_.+/-", 24)
# A run of at least 24 characters. The lookbehinds exclude runs after a sign of a public digest or of a longer word.
_RUN = re.compile(r"[A-Za-z0-9](?<![\w+/.%-].)(?<![\W_]=.)(?<!h1:.)[A-Za-z0-9_.+/-]{23,}={0,2}(?![\w%])")
_HEX = re.compile(r"[0-9a-fA-F-]+")
# Base64 whose first characters hold a printable one of ASCII and half of the next.
_BASE64 = re.compile(r"[I-Za-f][C-HS-Xi-nyz0-3][A-Za-z0-9+/_-]{22,}={0,2}")
# Beginnings of ids from model APIs, of digests from package managers and of public keys of SSH (`AAAA`). They are
# random, but public.
_ID = re.compile(
    r"(?:toolu|srvtoolu|call|msg|req|chatcmpl|run|thread|step|file|resp|item|fc|rs|asst|batch|ses|gen|wrkspc)[_-]"
    r"|(?:sha\d{3}|md5|h1|integrity)[-:=]|AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh|GnNrLX)",
    re.IGNORECASE,
)
# At least three digits.
_DIGITS = re.compile(r"(?:[^0-9]*[0-9]){3}")
# Characters. Longer base64 is not decoded.
_LONGEST_DECODED = 2_000


def redact_shapes(text: str) -> str:
    """Returns `text` with `[redacted]` for private keys, tokens of known issuers, webhook addresses and password
    hashes."""
    words = words_in(text)
    if PUTTY in words:
        keys = matches_at(_PUTTY, text, places_of(text, ("PuTTY-User",)), _LONGEST_PUTTY)
        text = cut(text, [key.span() for key in keys])
    if PRIVATE_KEY in words:
        text = _PEM.sub(REDACTED, text)
        text = cut(text, _cut_off_keys(text))
    text = cut(text, _prefixed(text))
    if BOT in words:
        text = _BOT.sub(REDACTED, text)
    if HOOK in words:
        text = _HOOKS.sub(rf"\1{REDACTED}", text)
    if "$" in text:
        text = _CRYPT.sub(REDACTED, text)
    return text


def _cut_off_keys(text: str) -> Iterator[tuple[int, int]]:
    for end in _PEM_END.finditer(text):
        lines = _LINES_BACKWARDS.match(text[max(0, end.start() - _LONGEST_PEM) : end.start()][::-1])
        if lines:
            yield end.start() - lines.end(), end.end()


def _prefixed(text: str) -> Iterator[tuple[int, int]]:
    words = words_in(text)
    for prefix in _prefixes_in(text, words):
        shapes, few = shapes_by_prefix()[prefix], FewWithin()
        for at in places_of(text, (prefix,)):
            if not _is_inside(text, at) and few.tries(at):
                end = max([shape.end_at(text, at) for shape in shapes])
                few.reaches(max(end, _end_of_word(text, at)))
                if end > 0:
                    yield at, _unwrapped(text, end)
    if WEB_TOKEN in words:
        for token in _WEB_TOKEN.finditer(text):
            if not _is_inside(text, token.start()):
                yield token.start(), _unwrapped(text, token.end())


def _prefixes_in(text: str, words: frozenset[str]) -> Iterator[str]:
    parted = parted_prefixes()
    for word in words.intersection(parted) if words else ():
        yield from parted[word]
    runs = LONG_WORDS.of(text)
    if runs:
        yield from prefixes_in(" ".join([text[start:end] for start, end in runs]))


def _end_of_word(text: str, at: int) -> int:
    word = _WORD.match(text, at)
    return word.end() if word else at


def _is_inside(text: str, at: int) -> bool:
    return _INSIDE.search(text[max(0, at - 2) : at]) is not None


def _unwrapped(text: str, end: int) -> int:
    more = _WRAPPED.match(text, end)
    return more.end() if more else end


def redact_runs(text: str, look_inside: Callable[[str], str]) -> str:
    """Returns `text` with `[redacted]` for long runs of characters that look random, and for base64 whose decoded text
    contains a secret. `look_inside` redacts a decoded text; if it changes the text, the text contains a secret."""
    return cut(text, _secret_runs(text, look_inside)) if _LONG.of(text) else text


def _secret_runs(text: str, look_inside: Callable[[str], str]) -> Iterator[tuple[int, int]]:
    known: dict[str, bool] = {}
    for start, _ in _LONG.of(text):
        if run := _RUN.match(text, start):
            if run[0] not in known:
                known[run[0]] = _is_random_run(run[0]) or _hides_secret(run[0], look_inside)
            if known[run[0]]:
                yield run.span()


def _is_random_run(run: str) -> bool:
    is_mixed = run.lower() != run != run.upper()
    if not is_mixed or not _DIGITS.match(run) or _HEX.fullmatch(run) or _ID.match(run):
        return False
    # A long path is not a secret unless each of its longer names looks random.
    return all(is_random(part) for part in re.split(r"[/_.-]", run) if len(part) >= 8) and is_random(run)


def _hides_secret(run: str, look_inside: Callable[[str], str]) -> bool:
    if len(run) > _LONGEST_DECODED or not _BASE64.fullmatch(run) or _HEX.fullmatch(run):
        return False
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), altchars=b"-_" if "-" in run or "_" in run else None)
        text = decoded.decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return text.isprintable() and look_inside(text) != text
