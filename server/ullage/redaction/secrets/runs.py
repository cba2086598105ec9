"""Secrets of no known shape in no known place: long runs of characters that only chance puts together."""

import base64
import binascii
import re
from collections.abc import Callable

from ullage.redaction.secrets.judgement import is_random
from ullage.redaction.secrets.shapes import REDACTED, long_words

# A run; before it, what says that it is a digest of something public. Its first character is named first, since a
# search for that is quick.
_RUN = re.compile(r"[A-Za-z0-9](?<![\w+/=.%-].)(?<!h1:.)[A-Za-z0-9_.+/-]{23,}={0,2}(?![\w%])")
_HEX = re.compile(r"[0-9a-fA-F-]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
# Ids that model APIs and package managers give; they are random, and public.
_ID = re.compile(
    r"(?:toolu|srvtoolu|call|msg|req|chatcmpl|run|thread|step|file|resp|item|fc|rs|asst|batch|ses|gen)[_-]"
    r"|(?:sha\d{3}|md5|h1|integrity)[-:=]",
    re.IGNORECASE,
)
_SHORTEST = 24
_FEWEST_DIGITS = 3
# Text in base64 up to here is looked into.
_LONGEST_DECODED = 2_000


def redact_runs(text: str, look_inside: Callable[[str], str]) -> str:
    """`text` without runs that look drawn by lot, and without base64 in which `look_inside` finds something."""

    def is_secret(run: str) -> bool:
        return _is_drawn(run) or _hides(run, look_inside)

    if not any(is_secret(run) for run in _RUN.findall(long_words(text, _SHORTEST))):
        return text
    return _RUN.sub(lambda match: REDACTED if is_secret(match[0]) else match[0], text)


def _is_drawn(run: str) -> bool:
    if _HEX.fullmatch(run) or _ID.match(run):
        return False
    digits = sum(map(str.isdigit, run))
    mixed = any(map(str.isupper, run)) and any(map(str.islower, run))
    if digits < _FEWEST_DIGITS or not mixed:
        return False
    # A path is no run, however long; each of its names would have to look drawn.
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
