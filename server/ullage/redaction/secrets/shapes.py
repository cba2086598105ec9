"""Redacts secrets by their own shape, whatever the text around them."""

import re
from collections.abc import Iterator

from ullage.redaction import REDACTED
from ullage.redaction.known_words import BOT, HOOK, PRIVATE_KEY, PUTTY, WEB_TOKEN, words_in
from ullage.redaction.scan import LONG_WORDS, FewWithin, cut, matches_at, places_of
from ullage.redaction.secrets.tokens import LONGEST_RUN, parted_prefixes, prefixes_in, shapes_by_prefix

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
