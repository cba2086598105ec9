"""Redacts secrets by their place: in a URL, a header or a command line."""

import re

from ullage.redaction import REDACTED
from ullage.redaction.scan import cut, lowered, matches_at, places_of
from ullage.redaction.secrets.judgement import is_secret

_IN_URL = re.compile(r"(?P<head>://[^\s:/@\"'<>]{0,100}:)(?P<inside>[^\s\"'<>`]{1,300})(?=@[\w\[$])")
_URL_USER = re.compile(r"(?<=://)(?=[\w.~%-]{0,200}\d)[\w.~%-]{20,300}(?=(?::x-oauth-basic)?@)")
# `https://registry:443/@scope/name` has a port in the place of a password.
_PORT = re.compile(r"\d{1,5}(?:[/?#].*)?")
_QUERY = re.compile(
    r"(?P<head>[?&;](?:[\w.-]{0,30}(?:key|token|secret|sig|signature|password|passwd|pwd|auth|credential)|code|hmac)=)"
    r"(?P<inside>[^&\s\"'<>#;)]{6,2000})",
    re.IGNORECASE,
)
_SCHEMES = ("bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate ")
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
_USER = r"[^\n|;]{0,300}?\s(?:-u|--user|--proxy-user|-a|--auth)[ =]?[\"']?[^\s:\"']{0,80}:"
_INLINE = r"[^\n|;]{0,300}?\s-p"
_LOGIN = r"\s+login\b[^\n|;]{0,200}?\s-p[ =][\"']?"
# Characters between a program's name and the password that a pattern looks through at most.
_LONGEST_ARGUMENTS = 300
# Programs that take a password after an option, each with the text between the program's name and the password.
_PROGRAMS = {
    "curl": _USER,
    "wget": _USER,
    "http": _USER,
    "mysql": _INLINE,
    "mariadb": _INLINE,
    "7z": _INLINE,
    "sshpass": r"\s+-p\s*",
    "docker": _LOGIN,
    "podman": _LOGIN,
    "registry": _LOGIN,
    "skopeo": _LOGIN,
    "oc ": _LOGIN,
    "az ": _LOGIN,
    "redis-cli": r"[^\n|;]{0,200}?\s-a\s+",
    "zip": r"[^\n|;]{0,80}?\s-P\s*",
}
# Those options. The literal text comes first, because the search for it is fast.
_OPTION = re.compile(r"-(?<=\s-)(?:[upaP]|-user|-proxy-user|-auth)")
# Programs that take a password without one of those.
_OTHERS = {
    "openssl": r"[^\n|;]{0,300}?\spass:",
    "htpasswd": r"\s+-\w{0,20}?b\w{0,20}\s+\S+\s+\S+\s+",
    "login ": r"\S+\s+password\s+",  # .netrc
    "thin:": r"[^\s/]{1,60}/",  # Oracle over JDBC
}
_ARGUMENTS = {
    program: re.compile(re.escape(program) + between + r"[\"']?(?P<inside>[^\s\"'@|]{4,300})")
    for program, between in (*_PROGRAMS.items(), *_OTHERS.items())
}
_PIPED = re.compile(
    r"(?:echo|printf)\s+(?:-n\s+)?[\"']?(?:[\w.-]{1,40}:)?(?P<inside>[^\s\"':|]{4,300}?)"
    r"(?=(?:\\n)?[\"']?\s*\|[^\n|]{0,80}(?:--password-stdin|sudo\s+-S|chpasswd|passwd|--with-token|--stdin))"
)
_PORTED = re.compile(r":(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:")
# In a line of `.pgpass`.
_FEWEST_COLONS = 4
_PGPASS = re.compile(
    r"(?m)(?:^|(?<=[\s\"']))[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*-]{1,60}:(?P<inside>[^\s:\"'\\]{4,200})(?=$|[\s\"'\\])"
)


def redact_places(text: str) -> str:
    """Returns `text` with `[redacted]` for secrets in places where only secrets are written: passwords and tokens in
    URLs, authorization and cookie headers, and password arguments of known programs."""
    if "://" in text:
        text = _redact_addresses(text)
    low = lowered(text)
    if "cookie" in low:
        text = _COOKIES.sub(lambda match: match["head"] + _COOKIE.sub(REDACTED, match["inside"]), text)
        low = lowered(text)
    schemes = [word for word in _SCHEMES if word in low]
    found = [match for word in schemes for match in matches_at(_SCHEME, text, places_of(low, (word,)))]
    spans = [match.span("inside") for match in found if any(map(str.isdigit, match["inside"]))]
    found = [*matches_at(_AUTHORIZATION, text, places_of(low, ("authorization",)))]
    programs = _ARGUMENTS if _OPTION.search(text) else _OTHERS
    for program in [program for program in programs if program in text]:
        found += matches_at(_ARGUMENTS[program], text, places_of(text, (program,)), _LONGEST_ARGUMENTS)
    if "|" in text:
        found += [match for word in ("echo", "printf") for match in matches_at(_PIPED, text, places_of(text, (word,)))]
    if text.count(":") >= _FEWEST_COLONS and _PORTED.search(text):
        found += _PGPASS.finditer(text)
    return cut(text, [*spans, *(match.span("inside") for match in found if _counts(match["inside"]))])


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
