"""Redacts secrets by their own shape, whatever the text around them."""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from ullage.redaction import REDACTED
from ullage.redaction.scan import FewWithin, cut, long_words, matches_at, places_of
from ullage.redaction.secrets.issuers import ISSUED
from ullage.redaction.secrets.judgement import is_random

_LABEL = r"[A-Z0-9 ]{0,40}(?:PRIVATE KEY|OPENSSH PRIVATE KEY)(?: BLOCK)?"
# Tokens that gitleaks' list lacks or describes more narrowly, in the form of `ISSUED`. From their issuers' documents.
_MORE = (
    ("sk-", r"\w-", 16, 200),  # OpenAI, Anthropic, and those who copied the prefix
    ("pk_live_", "A-Za-z0-9", 10, 120), ("pk_test_", "A-Za-z0-9", 10, 120), ("whsec_", r"\w+/=-", 16, 100),  # Stripe
    ("AKIA", "A-Z0-9", 16, 16), ("ASIA", "A-Z0-9", 16, 16), ("AROA", "A-Z0-9", 16, 16), ("AIDA", "A-Z0-9", 16, 16),
    ("ABIA", "A-Z0-9", 16, 16), ("ACCA", "A-Z0-9", 16, 16),
    ("LTAI", "A-Za-z0-9", 12, 30), ("AKID", "A-Za-z0-9", 13, 60),  # Alibaba, Tencent
    ("ya29.", r"\w-", 20, 400), ("GOCSPX-", r"\w-", 20, 40), ("1//0", r"\w-", 30, 120),  # Google
    *((f"xox{kind}-", r"\w.-", 10, 250) for kind in "abceoprs"), ("xapp-", r"\w-", 10, 200),  # Slack
    ("hf_", "A-Za-z0-9", 20, 60), ("pypi-", r"\w-", 16, 400), ("npm_", "A-Za-z0-9", 20, 60),
    ("dckr_pat_", r"\w-", 20, 60), ("dckr_oat_", r"\w-", 20, 60),  # Docker
    ("hvs.", r"\w-", 20, 300), ("hvb.", r"\w-", 20, 300), ("hvr.", r"\w-", 20, 300),  # Vault
    ("AGE-SECRET-KEY-1", "A-Z0-9", 40, 80), ("key-", "0-9a-f", 32, 32),  # age, Mailgun
    ("SK", "0-9a-f", 32, 32),  # Twilio
    *((f"sq0{kind}-", r"\w-", 20, 60) for kind in ("atp", "csp", "idp")),  # Square
    ("gsk_", "A-Za-z0-9", 20, 80), ("xai-", "A-Za-z0-9", 20, 120), ("r8_", "A-Za-z0-9", 20, 60),  # Groq, xAI, Replicate
    ("figd_", r"\w-", 20, 80), ("lin_api_", "A-Za-z0-9", 20, 60), ("sntrys_", r"\w+/=-", 20, 250),
    ("NRAK-", "A-Z0-9", 20, 40), ("dp.st.", r"\w.", 20, 80), ("ATATT3x", r"\w=-", 20, 250),
    ("sbp_", "a-f0-9", 30, 60), ("sqp_", "a-f0-9", 30, 60), ("tskey-", r"\w-", 16, 80), ("CFPAT-", r"\w-", 30, 60),
    ("sl.", r"\w-", 40, 200),  # Dropbox
    ("EAA", "A-Za-z0-9", 30, 250),  # Facebook
)  # fmt: skip
# So many random characters after a prefix are a token, even if its length is wrong: cut off, or of a newer kind.
_ENOUGH = 16
_LONGEST_RUN = 1_200
_WORD = re.compile(rf"[\w.~+/=:-]{{1,{_LONGEST_RUN}}}")
# A terminal or an editor that wraps lines divides a secret; the next line begins with one more run that contains a
# digit.
_WRAPPED = re.compile(r"\\?\r?\n[ \t]{0,12}(?=[\w+/=-]{0,40}\d)[\w+/=-]{8,200}(?=[\s\"']|$)")
_WEB_TOKEN = re.compile(r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,1000}")
# Text that ends inside a word, so that no token begins after it. The letter of an escape (`\n`) doesn't count.
_INSIDE = re.compile(r"(?:^|[^\\])[A-Za-z0-9_]\Z|[A-Z0-9_]\Z")
# Signs before which, and after which, a part of a word begins.
_PARTED = str.maketrans({sign: " " for sign in map(chr, range(128)) if not sign.isalnum() and sign != "_"})
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
    if "PuTTY-User" in text:
        keys = matches_at(_PUTTY, text, places_of(text, ("PuTTY-User",)), _LONGEST_PUTTY)
        text = cut(text, [key.span() for key in keys])
    if "PRIVATE KEY" in text:
        text = _PEM.sub(REDACTED, text)
        text = cut(text, _cut_off_keys(text))
    text = cut(text, _prefixed(text))
    if ":AA" in text:
        text = _BOT.sub(REDACTED, text)
    if "hook" in text:
        text = _HOOKS.sub(rf"\1{REDACTED}", text)
    if "$" in text:
        text = _CRYPT.sub(REDACTED, text)
    return text


def _cut_off_keys(text: str) -> Iterator[tuple[int, int]]:
    for end in _PEM_END.finditer(text):
        lines = _LINES_BACKWARDS.match(text[max(0, end.start() - _LONGEST_PEM) : end.start()][::-1])
        if lines:
            yield end.start() - lines.end(), end.end()


class _Shape(Struct, frozen=True):
    """A kind of token: its prefix, and the pattern of the `shortest` to `longest` characters after the prefix."""

    prefix: str
    run: re.Pattern[str]
    shortest: int
    longest: int

    def end_at(self, text: str, at: int) -> int:
        """Returns the index after the token that begins at `at`, or -1 if no token of this kind begins there."""
        found = self.run.match(text, at + len(self.prefix)) if text.startswith(self.prefix, at) else None
        if found is None:
            return -1
        size = found.end() - found.start()
        if self.shortest <= size <= self.longest or (size >= _ENOUGH and is_random(found[0])):
            return found.end()
        return -1


@cache
def _by_first() -> dict[str, tuple[_Shape, ...]]:
    """Returns the known kinds of tokens by the prefix to search for. If a prefix begins with another prefix, only the
    shorter one is searched for, and its entry holds the kinds of both."""
    shapes = [
        _Shape(prefix, re.compile(rf"[{chars}]{{1,{_LONGEST_RUN}}}(?!\w)"), shortest, longest)
        for prefix, chars, shortest, longest in (*ISSUED, *_MORE)
    ]
    prefixes = {shape.prefix for shape in shapes}
    firsts = [one for one in prefixes if not any(one != other and one.startswith(other) for other in prefixes)]
    return {first: tuple(shape for shape in shapes if shape.prefix.startswith(first)) for first in sorted(firsts)}


@cache
def _by_start() -> dict[str, tuple[str, ...]]:
    """Returns the prefixes to search for by their first two characters."""
    firsts = sorted(_by_first())
    return {start: tuple(one for one in firsts if one.startswith(start)) for start in {first[:2] for first in firsts}}


@cache
def _divided() -> frozenset[str]:
    """Returns the first two characters of prefixes that a sign divides there, so that no part of a word has them."""
    return frozenset(start for start in _by_start() if not start.replace("_", "").isalnum())


def _prefixes_in(words: str) -> Iterator[str]:
    """Yields the prefixes that are in a text's long words. A token begins where a word or a part of one begins, or
    after the letter of an escape such as that of a line break, so that few prefixes need a search."""
    by_start = _by_start()
    # Letters that are not ASCII part a word as well, as for `_is_inside`.
    parts = words.encode("ascii", "replace").decode().translate(_PARTED).split()
    for start in by_start.keys() & ({part[:2] for part in parts} | {part[1:3] for part in parts} | _divided()):
        for first in by_start[start]:
            if first in words:
                yield first


def _prefixed(text: str) -> Iterator[tuple[int, int]]:
    words = long_words(text)
    if not words:
        return
    for first in _prefixes_in(words):
        shapes, few = _by_first()[first], FewWithin()
        for at in places_of(text, (first,)):
            if not _is_inside(text, at) and few.tries(at):
                end = max([shape.end_at(text, at) for shape in shapes])
                few.reaches(max(end, _end_of_word(text, at)))
                if end > 0:
                    yield at, _unwrapped(text, end)
    if "eyJ" in words:
        for token in _WEB_TOKEN.finditer(text):
            if not _is_inside(text, token.start()):
                yield token.start(), _unwrapped(text, token.end())


def _end_of_word(text: str, at: int) -> int:
    word = _WORD.match(text, at)
    return word.end() if word else at


def _is_inside(text: str, at: int) -> bool:
    return _INSIDE.search(text[max(0, at - 2) : at]) is not None


def _unwrapped(text: str, end: int) -> int:
    more = _WRAPPED.match(text, end)
    return more.end() if more else end
