"""Redacts secrets of unknown shape in unknown places: long runs of characters that look random."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import cache

from ullage.redaction.scan import CharRuns, cut
from ullage.redaction.secrets.judgement import is_random

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


def redact_runs(text: str, look_inside: Callable[[str], str]) -> str:
    """Returns `text` with `[redacted]` for long runs of characters that look random, and for base64 whose decoded text
    contains a secret. `look_inside` redacts a decoded text; if it changes the text, the text contains a secret."""
    return cut(text, _secret_runs(text, look_inside)) if _LONG.of(text) else text


def _secret_runs(text: str, look_inside: Callable[[str], str]) -> Iterator[tuple[int, int]]:
    @cache
    def is_secret(run: str) -> bool:
        return _is_drawn(run) or _hides(run, look_inside)

    for start, _ in _LONG.of(text):
        run = _RUN.match(text, start)
        if run and is_secret(run[0]):
            yield run.span()


def _is_drawn(run: str) -> bool:
    is_mixed = run.lower() != run != run.upper()
    if not is_mixed or not _DIGITS.match(run) or _HEX.fullmatch(run) or _ID.match(run):
        return False
    # A long path is not a secret unless each of its longer names looks random.
    return all(is_random(part) for part in re.split(r"[/_.-]", run) if len(part) >= 8) and is_random(run)


def _hides(run: str, look_inside: Callable[[str], str]) -> bool:
    if len(run) > _LONGEST_DECODED or not _BASE64.fullmatch(run) or _HEX.fullmatch(run):
        return False
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), altchars=b"-_" if "-" in run or "_" in run else None)
        text = decoded.decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return text.isprintable() and look_inside(text) != text
