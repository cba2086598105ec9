"""Redacts secrets by their place: in a URL, a header or a command line."""

import re
from collections.abc import Iterator

from ullage.redaction import REDACTED
from ullage.redaction.known_words import ADDRESS, AUTHORIZATION, COOKIE, SCHEMES, words_in
from ullage.redaction.scan import cut, lowered, matches_at, places_of
from ullage.redaction.secrets.judgement import is_secret
from ullage.redaction.secrets.programs import ARGUMENTS, LONGEST_ARGUMENTS, PIPED, PIPING, programs_in

_IN_URL = re.compile(r"(?P<head>://[^\s:/@\"'<>]{0,100}:)(?P<inside>[^\s\"'<>`]{1,300})(?=@[\w\[$])")
_URL_USER = re.compile(r"(?<=://)(?=[\w.~%-]{0,200}\d)[\w.~%-]{20,300}(?=(?::x-oauth-basic)?@)")
# `https://registry:443/@scope/name` has a port in the place of a password.
_PORT = re.compile(r"\d{1,5}(?:[/?#].*)?")
_QUERY = re.compile(
    r"(?P<head>[?&;](?:[\w.-]{0,30}(?:key|token|secret|sig|signature|password|passwd|pwd|auth|credential)|code|hmac)=)"
    r"(?P<inside>[^&\s\"'<>#;)]{6,2000})",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[A-Za-z]{5,9}\s{1,3}(?P<inside>[A-Za-z0-9+/_.=~:-]{16,2000})")
_AUTHORIZATION = re.compile(
    r"authorization\\{0,3}[\"'`]?\s{0,3}(?:[:=]|=>|,)\s{0,3}\\{0,3}[\"'`]?(?:[A-Za-z][\w-]{1,20}\s{1,3})?"
    r"(?P<inside>[^\s\"'\\,;:][^\s\"'\\,;]{5,2000})",
    re.IGNORECASE,
)
_COOKIES = re.compile(
    r"(?P<head>cookie\\{0,3}[\"']?\s{0,2}:\s{0,3}\\{0,3}[\"']?)(?P<inside>[\w.-]{1,80}=[^\r\n\"'\\]{4,4000})",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"(?<==)[^;\s=][^;\s]{7,}")
_PORTED = re.compile(r":(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:")
# In a line of `.pgpass`.
_FEWEST_COLONS = 4
_PGPASS = re.compile(
    r"(?m)(?:^|(?<=[\s\"']))[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:(?P<inside>[^\s:\"'\\]{4,200})(?=$|[\s\"'\\])"
)


def redact_places(text: str) -> str:
    """Returns `text` with `[redacted]` for secrets in places where only secrets are written: passwords and tokens in
    URLs, authorization and cookie headers, and password arguments of known programs."""
    words = words_in(text)
    if not words and text.count(":") < _FEWEST_COLONS:
        return text
    if ADDRESS in words:
        text = _redact_addresses(text)
    if COOKIE in words:
        text = _COOKIES.sub(lambda match: match["head"] + _COOKIE.sub(REDACTED, match["inside"]), text)
    return cut(text, [*_spans_after_schemes(text), *_spans_of_passwords(text)])


def _spans_after_schemes(text: str) -> Iterator[tuple[int, int]]:
    for scheme in words_in(text) & SCHEMES:
        for match in matches_at(_SCHEME, text, places_of(lowered(text), (scheme,))):
            if any(map(str.isdigit, match["inside"])):
                yield match.span("inside")


def _spans_of_passwords(text: str) -> Iterator[tuple[int, int]]:
    words = words_in(text)
    found: list[re.Match[str]] = []
    if AUTHORIZATION in words:
        found += matches_at(_AUTHORIZATION, text, places_of(lowered(text), (AUTHORIZATION,)))
    for program in programs_in(text, words):
        found += matches_at(ARGUMENTS[program], text, places_of(text, (program,)), LONGEST_ARGUMENTS)
    for program in words & PIPING if "|" in text else ():
        found += matches_at(PIPED, text, places_of(text, (program,)))
    if text.count(":") >= _FEWEST_COLONS and _PORTED.search(text):
        found += _PGPASS.finditer(text)
    return (match.span("inside") for match in found if _counts(match["inside"]))


def _redact_addresses(text: str) -> str:
    if "@" in text:
        text = _IN_URL.sub(
            lambda match: match[0] if _PORT.fullmatch(match["inside"]) else _unless_harmless(match), text
        )
        text = _URL_USER.sub(REDACTED, text)
    return _QUERY.sub(_unless_harmless, text) if "=" in text else text


def _unless_harmless(match: re.Match[str]) -> str:
    return match["head"] + REDACTED if _counts(match["inside"]) else match[0]


def _counts(value: str) -> bool:
    """Returns whether a value in a password's place (for example in a URL) is a secret. Values of fewer than four
    characters, placeholders, common words and code are not."""
    return is_secret("password", value, quoted=False, bound=True)
