"""Redacts secrets of unknown shape in unknown places: long runs of characters that look random."""

import base64
import binascii
import re
from collections.abc import Callable

from ullage.redaction import REDACTED
from ullage.redaction.scan import long_words
from ullage.redaction.secrets.judgement import is_random

# A run of at least 24 characters. The lookbehinds exclude runs after a sign of a public digest or of a longer word. The
# first character comes before them, because the search for it is fast.
_RUN = re.compile(r"[A-Za-z0-9](?<![\w+/.%-].)(?<![\W_]=.)(?<!h1:.)[A-Za-z0-9_.+/-]{23,}={0,2}(?![\w%])")
_HEX = re.compile(r"[0-9a-fA-F-]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
# Beginnings of ids from model APIs, of digests from package managers and of public keys of SSH (`AAAA`). They are
# random, but public.
_ID = re.compile(
    r"(?:toolu|srvtoolu|call|msg|req|chatcmpl|run|thread|step|file|resp|item|fc|rs|asst|batch|ses|gen|wrkspc)[_-]"
    r"|(?:sha\d{3}|md5|h1|integrity)[-:=]|AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh|GnNrLX)",
    re.IGNORECASE,
)
_FEWEST_DIGITS = 3
# Characters. Longer base64 is not decoded.
_LONGEST_DECODED = 2_000


def redact_runs(text: str, look_inside: Callable[[str], str]) -> str:
    """Returns `text` with `[redacted]` for long runs of characters that look random, and for base64 whose decoded text
    contains a secret. `look_inside` redacts a decoded text; if it changes the text, the text contains a secret."""

    def is_secret(run: str) -> bool:
        return _is_drawn(run) or _hides(run, look_inside)

    if not any(is_secret(run) for run in _RUN.findall(long_words(text))):
        return text
    return _RUN.sub(lambda match: REDACTED if is_secret(match[0]) else match[0], text)


def _is_drawn(run: str) -> bool:
    if _HEX.fullmatch(run) or _ID.match(run):
        return False
    digits = sum(map(str.isdigit, run))
    mixed = any(map(str.isupper, run)) and any(map(str.islower, run))
    if digits < _FEWEST_DIGITS or not mixed:
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
