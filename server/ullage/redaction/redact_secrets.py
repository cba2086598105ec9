"""Redacts secrets, by their own characters or by the text around them.

Private keys, tokens of known issuers and long random runs are recognised by their characters. Others are recognised by
their place (addresses, headers, command lines), by their name in code, data, environments, command lines and prose, or
by the service next to them. A token that only a service is named for is hexadecimal or in lower case, as are many
digests and ids; the rest of its line decides.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from ullage.redaction import REDACTED
from ullage.redaction.issuers import SERVICES
from ullage.redaction.known_words import (
    ADDRESS,
    ARGUMENTS,
    AUTHORIZATION,
    BOT,
    COOKIE,
    HOOK,
    IDENTIFIES,
    LOGINS,
    LONGEST_ARGUMENTS,
    LONGEST_RUN,
    NAMES,
    PIPED,
    PIPING,
    PRIVATE_KEY,
    PROGRAM_WORDS,
    PUTTY,
    SCHEMES,
    SPOKEN,
    WEB_TOKEN,
    is_drawn,
    is_random,
    is_secret,
    is_strong,
    parted_prefixes,
    prefixes_in,
    programs_in,
    shapes_by_prefix,
    unpunctuated,
    words_in,
)
from ullage.redaction.named_values import (
    AFTER,
    APART,
    ARGUMENT,
    CHANGED,
    IDENTIFIED,
    LOGIN,
    QUOTE,
    WRAPPED,
    column_values,
    inserted_value,
    is_public,
    near_value,
    spoken_values,
    value_before,
)
from ullage.redaction.scan import LONG_WORDS, CharRuns, FewWithin, cut, lowered, matches_at, places_of

_LABEL = r"[A-Z0-9 ]{0,40}(?:PRIVATE KEY|OPENSSH PRIVATE KEY)(?: BLOCK)?"
_WORD = re.compile(rf"[\w.~+/=:-]{{1,{LONGEST_RUN}}}")
_WEB_TOKEN = re.compile(r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,1000}")
# What ends with a letter or digit and yet not inside a word: an escape (`\n`, `%22`), the sign of a colour.
_ESCAPE = re.compile(r"(?:\\(?:[a-z]|u00[0-9a-f]{2})|%[0-9A-F]{2}|\x1b\[[\d;]{0,18}m)\Z")
_BOT = re.compile(r"\b\d{8,10}:AA[\w-]{30,40}")  # Telegram
# A header is not a key: near it is a long run, or below it a line that is all key.
_PEM = re.compile(
    rf"-----BEGIN {_LABEL}-----(?=.{{0,300}}?[\w+/=]{{20}}|(?:\\[nr]|\s){{1,4}}[\w+/=]{{10,90}}(?:\\[nr]|\s))"
    rf"(?:.{{0,8000}}?-----END {_LABEL}-----|.{{0,8000}})",
    re.DOTALL,
)
_PUTTY = re.compile(r"PuTTY-User-Key-File-\d.{0,8000}?Private-MAC: \w{10,80}", re.DOTALL)
_LONGEST_PUTTY = 8_000
# The end of a private key whose beginning was cut off. What is before it is matched from its end backwards.
_PEM_END = re.compile(rf"-----END {_LABEL}-----")
_LINES_BACKWARDS = re.compile(r"(?:(?:[nr]\\|\s){1,4}[\w+/=]{20,90}){1,200}")
_LONGEST_PEM = 18_000
_HOOKS = re.compile(
    r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/|https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/"
    r"|https://[\w.-]{1,80}webhook\.office\.com/webhookb2/|https://hooks\.zapier\.com/hooks/catch/)[\w/@.-]{8,300}"
)
_CRYPT = re.compile(r"\$(?:2[abxy]|apr1|argon2(?:id?|d)|scrypt|pbkdf2-sha\d+|[156y])\$[^\s:\"'<>%]{12,300}")
_LONG = CharRuns("_.+/-", 24)
# A run of at least 24 characters. The lookbehinds exclude runs after a sign of a public digest or of a longer word.
_RUN = re.compile(r"[A-Za-z0-9](?<![\w+/.%-].)(?<![\W_]=.)(?<!h1:.)(?<!\?[bB]\?.)[A-Za-z0-9_.+/-]{23,}={0,2}(?![\w%(])")
# Base64 whose first characters hold a printable one of ASCII and half of the next.
_BASE64 = re.compile(r"[I-Za-f][C-HS-Xi-nyz0-3][A-Za-z0-9+/_-]{22,}={0,2}")
# Beginnings of ids from model APIs, of digests from package managers and of public keys of SSH (`AAAA`). They are
# random, but public.
_ID = re.compile(
    r"(?:toolu|srvtoolu|call|msg|req|chatcmpl|run|thread|step|file|resp|item|fc|rs|asst|batch|ses|gen|wrkspc)[_-]"
    r"|(?:sha\d{3}|md5|h1|integrity)[-:=]|AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh|GnNrLX)",
    re.IGNORECASE,
)
# What is public although it is random. A private key in it would begin with five hyphens.
_CERTIFICATE = re.compile(
    r"-----BEGIN (?P<what>(?:TRUSTED )?CERTIFICATE|CERTIFICATE REQUEST|(?:RSA )?PUBLIC KEY"
    r"|PGP (?:PUBLIC KEY BLOCK|SIGNATURE))-----"
    r"(?:-{0,4}[^-]){1,32000}?-----END (?P=what)-----"
)
# Lines of a dump: a place, bytes as hexadecimal digits, and perhaps their characters.
_DUMP = re.compile(r"(?m)(?:^[0-9a-f]{6,16}:?[ \t]{1,4}(?:[0-9a-f]{2,4} {1,3}){1,16}[^\n]{0,24}(?:\n|\Z)){1,4000}")
_DUMPED = re.compile(r"(?m)^[0-9a-f]{6,16}:?[ \t]{1,4}((?:[0-9a-f]{2,4} {1,2}){1,16})")
_PAIR = re.compile("[0-9a-f]{2}")
# At least three digits.
_DIGITS = re.compile(r"(?:[^0-9]*[0-9]){3}")
# Characters. Longer base64 is not decoded.
_LONGEST_DECODED = 2_000


def redact_shapes(text: str) -> str:
    """Redacts private keys, tokens of known issuers, webhook addresses and password hashes."""
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
    """Returns whether a word of ASCII begins before a place and goes on there."""
    last = text[max(0, at - 1) : at]
    return last.isascii() and (last.isalnum() or last == "_") and not _ESCAPE.search(text, max(0, at - 21), at)


def _unwrapped(text: str, end: int) -> int:
    more = WRAPPED.match(text, end)
    return more.end() if more else end


def redact_all(text: str) -> str:
    """Returns `text` with `[redacted]` for each secret. Redacting the result changes nothing."""
    if "0000" in text:
        text = _DUMP.sub(_redact_dump, text)
    text = _redact_known(text)
    return cut(text, _secret_runs(text)) if _LONG.of(text) else text


def _redact_dump(dump: re.Match[str]) -> str:
    """Returns a dump's lines without their bytes if a secret is in these."""
    shown = "".join(chr(int(pair, 16)) for line in _DUMPED.findall(dump[0]) for pair in _PAIR.findall(line))
    return dump[0] if _redact_known(shown) == shown else f"{REDACTED}\n"


def _redact_known(text: str) -> str:
    """Returns `text` without the secrets that are recognised by shape, place, name or service."""
    return redact_by_service(redact_named(redact_places(redact_shapes(text))))


def _secret_runs(text: str) -> Iterator[tuple[int, int]]:
    """Yields the places of long runs that look random, and of base64 whose decoded text contains a secret."""
    known: dict[str, bool] = {}
    public = [one.span() for one in _CERTIFICATE.finditer(text)] if "-----BEGIN" in text else []
    for start, _ in _LONG.of(text):
        if any(begin <= start < end for begin, end in public):
            continue
        if run := _RUN.match(text, start):
            if run[0] not in known:
                known[run[0]] = _is_random_run(run[0]) or _hides_secret(run[0])
            if known[run[0]]:
                yield run.span()


def _is_random_run(run: str) -> bool:
    is_mixed = run.lower() != run != run.upper()
    if not is_mixed or not _DIGITS.match(run) or _HEX.fullmatch(run) or _ID.match(run):
        return False
    # A long path is not a secret unless each of its longer names looks random.
    return all(is_random(part) for part in re.split(r"[/_.-]", run) if len(part) >= 8) and is_random(run)


def _hides_secret(run: str) -> bool:
    if len(run) > _LONGEST_DECODED or not _BASE64.fullmatch(run) or _HEX.fullmatch(run):
        return False
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), altchars=b"-_" if "-" in run or "_" in run else None)
        text = decoded.decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return text.isprintable() and _redact_known(text) != text


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
    rf"authorization{QUOTE}?\s{{0,3}}(?:(?:[:=]|=>)\s{{0,3}}{QUOTE}?|,\s{{0,3}}{QUOTE}(?!\w*-?authorization))(?:[A-Za-z][\w-]{{1,20}}(?:\s|%20){{1,3}})?"
    r"(?P<inside>[^\s\"'\\,;:`][^\s\"'\\,;`]{5,2000}+)(?!\s[\"'`])",
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
# In a list of arguments, which is read as a command line.
_BETWEEN_ARGUMENTS = re.compile(r"[\"'],\s?[\"']")
_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)?|masterauth|pwd|secret(?:[_ -]?key)?|token|credential|key|_auth|_pw|psk"
    r"|sig(?:nature)?)"
    r"(?:s|_?\d{1,3}| \d{1,2}(?=:)|[_-](?:value|base|b64|base64|raw|plain|text|prod|production"
    r"|dev|test|staging|live|old|new|v\d))?"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
_KEY_OF = re.compile(
    r"(?:api|access|secret|private|auth|encryption|signing|master|account|subscription|storage|shared|license|deploy"
    r"|consumer|client|webhook|hmac|jwt|role|app|admin|data|cookie|session|unseal|recovery)[_ .-]?$",
    re.IGNORECASE,
)
_PASS_OF = re.compile(
    r"(?:[_/-]|(?:user(?:name)?|login)\W{1,3}\S{1,40}[\s,;/]{1,3}"
    r"|(?:smtp|mail|ftp|db|admin|root|user|wifi|require|store|key)[ .]?)$",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(?<![\w-])--?(?:[A-Za-z0-9]+-){0,3}$")
# Before the name of a variable of the environment, after which only its value follows.
_DECLARES = re.compile(r"(?:^|\s)(?:ENV|setx|SetEnv)\s{1,4}\w*$")
_BEFORE = re.compile(r"[\w.-]*$")
_LONGEST_NAME = 40
_LONGEST_OF = len("subscription-")
# Characters before and after a name in which its value is looked for, unless that is in a table or a statement.
_LOOKED_BEFORE, _LOOKED_AFTER = 300, 1_600
# Values that are looked for in the rest of a text, too: their characters, and how many.
_SHORTEST_REPEATED, _MOST_REPEATED = 8, 20
# What people choose for a password, and seldom for a name in code.
_CHOSEN = re.compile(r"[A-Za-z@]\w{4,}[\W_]?\d{2,4}[\W_]?")
# Names whose surroundings are remembered.
_MOST_KNOWN = 500
# Services whose tokens have no prefix and that gitleaks' list lacks.
_MORE_SERVICES = (
    "abuseipdb", "adyen", "alchemy", "alphavantage", "amplitude", "anthropic", "assemblyai", "binance", "braintree",
    "brevo", "bugsnag", "buildkite", "chargebee", "circleci", "clearbit", "clickup", "cloudinary", "deepgram", "deepl",
    "digitalocean", "elevenlabs", "etherscan", "firebase", "freshdesk", "geoapify", "grafana", "hetzner", "honeycomb",
    "huggingface", "infura", "ipinfo", "ipstack", "klaviyo", "linode", "mailjet", "maptiler", "mistral", "mixpanel",
    "nexmo", "openai", "openweather", "opsgenie", "pagerduty", "paypal", "pinecone", "plivo", "posthog", "postmark",
    "recurly", "rollbar", "salesforce", "sendgrid", "shodan", "shopify", "slack", "sparkpost", "stripe", "supabase",
    "telegram", "tiingo", "trello", "twilio", "vercel", "virustotal", "vonage", "vultr", "wandb",
)  # fmt: skip
_SERVICE = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(sorted((*SERVICES, *_MORE_SERVICES)))})", re.IGNORECASE)
_SHORTEST_TOKEN, _SHORTEST_ENTRY = 16, 20
_TOKEN = re.compile(rf"(?<![\w/.+%@#-])[A-Za-z0-9][\w-]{{{_SHORTEST_TOKEN - 1},199}}+(?![\w/.+%@(=-])")
_DIGIT = re.compile("[0-9]")
_SEPARATORS = re.compile(r"[_-]")
_HEX = re.compile(r"[0-9a-fA-F-]+")
# Characters before a token in which its name or its service is searched.
_LENGTH_BEFORE = 70
# Characters before the service's name that can say what the value is, as in `request id of slack`.
_LEAD = 16
_ENVIRONMENT = re.compile(r"(?:^|[\s;&'\"])(?P<name>[A-Z][A-Z0-9_]{2,50})=[\"']?$")
_ENTRY = re.compile(
    r"(?:^|\n|\\n|[\"'])[ \t]*(?:- )?[\"']?(?P<name>[A-Za-z][\w.-]{1,40})[\"']?[ \t]?[:=][ \t]{0,2}[\"']?$"
)
_END_OF_ENTRY = re.compile(r"\\?[\"']?[,}\])]{0,3}[ \t]*(?:$|[\r\n]|\\n)")


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
                start, end = match.span("inside")
                yield start, _wrapped(text, start, end)


def _spans_of_passwords(text: str) -> Iterator[tuple[int, int]]:
    words = words_in(text)
    found: list[re.Match[str]] = []
    if AUTHORIZATION in words:
        found += matches_at(_AUTHORIZATION, text, places_of(lowered(text), (AUTHORIZATION,)))
    line = _BETWEEN_ARGUMENTS.sub(lambda match: " " * len(match[0]), text) if words & PROGRAM_WORDS else text
    for program in programs_in(line, words):
        found += matches_at(ARGUMENTS[program], line, places_of(line, (program,)), LONGEST_ARGUMENTS)
    for program in words & PIPING if "|" in text else ():
        found += matches_at(PIPED, text, places_of(text, (program,)))
    if IDENTIFIES in words:
        found += matches_at(IDENTIFIED, text, places_of(lowered(text), (IDENTIFIES,)))
    if logins := words & LOGINS:
        found += matches_at(LOGIN, text, places_of(lowered(text), logins))
    if text.count(":") >= _FEWEST_COLONS and _PORTED.search(text):
        found += _PGPASS.finditer(text)
    for match in found:
        if _is_password(match["inside"]):
            start, end = match.span("inside")
            yield start, _wrapped(text, start, end)


def _redact_addresses(text: str) -> str:
    if "@" in text:
        text = _IN_URL.sub(
            lambda match: match[0] if _PORT.fullmatch(match["inside"]) else _unless_harmless(match), text
        )
        text = _URL_USER.sub(REDACTED, text)
    return _QUERY.sub(_unless_harmless, text) if "=" in text else text


def _unless_harmless(match: re.Match[str]) -> str:
    return match["head"] + REDACTED if _is_password(match["inside"]) else match[0]


def _is_password(value: str) -> bool:
    """Returns whether a value in a password's place (for example in a URL) is a secret. Values of fewer than four
    characters, placeholders, common words and code are not."""
    return is_secret("password", value, quoted=False, bound=True)


def redact_named(text: str) -> str:
    """Redacts the values of names that mean a password, secret, token, credential or key."""
    words = words_in(text)
    spans = list(spoken_values(text, words & SPOKEN)) if words & SPOKEN or not text.isascii() else []
    if words & NAMES:
        spans += _spans_of_values(text, words & NAMES)
    return cut(text, [*spans, *_elsewhere(text, spans)]) if spans else text


def _elsewhere(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields the other places of values that show by themselves that they are secrets."""
    values = {text[start:end] for start, end in spans if end - start >= _SHORTEST_REPEATED}
    for value in sorted(values)[:_MOST_REPEATED]:
        if is_drawn(value) or _CHOSEN.fullmatch(value):
            for at in places_of(text, (value,)):
                if not (text[at - 1 : at].isalnum() or text[at + len(value) : at + len(value) + 1].isalnum()):
                    yield at, at + len(value)


def _spans_of_values(text: str, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    done, few = 0, FewWithin()
    near = _NearValues()
    for at in sorted(places_of(lowered(text), words)):
        word = _NAME.match(text, at) if at >= done and few.tries(at) else None
        before = text[max(0, at - _LONGEST_NAME) : at]
        is_flag = ("-" in before and _FLAG.search(before) is not None) or _DECLARES.search(before) is not None
        if word and (is_flag or _means_secret(word[0].lower(), before)):
            name = _whole_name(before, word[0])
            start, end = word.end() - len(name), word.end()
            if inserted := inserted_value(text, start, end):
                spans, reach = [inserted], end
            else:
                spans, reach = near.of(text, name, start, end, is_flag)
            if not spans:
                spans = [span for span in column_values(text, start, end) if is_strong(name, text[slice(*span)])]
                reach = max([reach, *(span[1] for span in spans)])
            few.reaches(reach)
            if spans:
                done = max(done, spans[0][1])
                yield from spans
                if (later := CHANGED.match(text, spans[0][1])) and is_strong(name, later["inside"]):
                    few.reaches(later.end())
                    yield later.span("inside")


def _means_secret(word: str, before: str) -> bool:
    """Returns whether a word (lower case) of `_NAME` shows that the name around it means a secret. `before` is the text
    before the word.

    `key` counts only after a word like `api`, `pass` only at the end of a name or after the name of an account, and
    `sig` only if no letter or digit precedes it. Every other word counts always.
    """
    if word.startswith("key"):
        return _KEY_OF.search(before[-_LONGEST_OF:]) is not None
    if word.startswith("sig"):
        return not before[-1:].isalnum()
    return word != "pass" or _PASS_OF.search(before) is not None


def _whole_name(before: str, word: str) -> str:
    start = _BEFORE.search(before)
    return (start[0] if start else "") + word


def _values_of(text: str, name: str, start: int, end: int, is_flag: bool) -> tuple[list[tuple[int, int]], int]:
    """Returns the spans of the secret values near a name at `start` to `end`, and the end of the text in which they
    were searched. Both depend on nothing beyond `_LOOKED_BEFORE` and `_LOOKED_AFTER`."""
    reach = end
    for pattern in (ARGUMENT, *AFTER) if is_flag else AFTER:
        match = pattern.match(text, end)
        if match:
            reach = max(reach, match.end())
            span = _span_if_secret(match, name, pattern is ARGUMENT)
            if span:
                return [(span[0], _wrapped(text, *span))], reach
    for pattern in APART:
        match = pattern.match(text, end)
        if match:
            reach = max(reach, match.end())
            group = next(group for group, value in match.groupdict().items() if value is not None)
            if is_strong(name, match[group]):
                return [match.span(group)], reach
    one = value_before(text, name, start) or near_value(text, name, end)
    return [one] if one else [], reach


class _NearValues:
    """Remembers where the values of names were found by all that `_values_of` looks at: a text may repeat a name, with
    what is around it, a million times."""

    def __init__(self) -> None:
        self._known = dict[tuple[str, str, int, bool], tuple[list[tuple[int, int]], int]]()

    def of(self, text: str, name: str, start: int, end: int, is_flag: bool) -> tuple[list[tuple[int, int]], int]:
        around = text[max(0, start - _LOOKED_BEFORE) : end + _LOOKED_AFTER]
        key = around, name, min(start, _LOOKED_BEFORE), is_flag
        if (known := self._known.get(key)) is None:
            found, reach = _values_of(text, name, start, end, is_flag)
            known = [(one - end, other - end) for one, other in found], reach - end
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known[key] = known
        return [(one + end, other + end) for one, other in known[0]], known[1] + end


def _wrapped(text: str, start: int, end: int) -> int:
    """Returns the end of a value with its rest in the next line, where a terminal or an editor parted them."""
    more = WRAPPED.match(text, end)
    return more.end() if more and is_drawn(text[start:end] + more[0].strip("\\\r\n\t ")) else end


def _span_if_secret(match: re.Match[str], name: str, is_argument: bool) -> tuple[int, int] | None:
    groups = match.groupdict()
    group = next(key for key in ("literal", "literal2", "bare") if groups.get(key) is not None)
    quoted = group != "bare"
    start, end = match.span(group)
    value = match.string[start:end]
    if not quoted and groups.get("sign") != "=":
        end -= len(value) - len(unpunctuated(value))
    if groups.get("sign") == "==" and not quoted:
        return None
    # True for `DB_PASSWORD=letmein` and `--password letmein`.
    bound = (
        is_argument
        or groups.get("sign") == "?="
        or (groups.get("sign") == "=" and name.isupper() and match.string[start - 1] == "=")
    )
    return (start, end) if is_secret(name, match.string[start:end], quoted=quoted, bound=bound) else None


def redact_by_service(text: str) -> str:
    """Returns `text` with `[redacted]` for drawn values of environment variables, of lines that only give one value to
    one name, and next to the name of a service. Names of public values, such as `commit`, keep theirs."""
    return cut(text, _drawn_tokens(text)) if LONG_WORDS.of(text) else text


def _drawn_tokens(text: str) -> Iterator[tuple[int, int]]:
    drawn: dict[str, bool] = {}
    for found in _long_words(text):
        token = found[0]
        if token not in drawn:
            drawn[token] = is_drawn(token)
        if drawn[token]:
            start = max(0, found.start() - _LENGTH_BEFORE)
            before = text[start : found.start()]
            if _is_named(token, before, text, found.end()) or _is_of_service(before):
                yield found.span()


def _long_words(text: str) -> Iterator[re.Match[str]]:
    for start, end in LONG_WORDS.of(text):
        if _DIGIT.search(text, start, end):
            # With the character after the run, at which the pattern looks.
            yield from _TOKEN.finditer(text, start, end + 1)


def _is_named(token: str, before: str, text: str, end: int) -> bool:
    if len(token) < _SHORTEST_ENTRY or max(map(len, _SEPARATORS.split(token))) < _SHORTEST_TOKEN:
        return False
    name = _ENVIRONMENT.search(before) or (None if _HEX.fullmatch(token) else _ENTRY.search(before))
    return name is not None and not is_public(name["name"]) and _END_OF_ENTRY.match(text, end) is not None


def _is_of_service(before: str) -> bool:
    line = before.rpartition("\n")[2]
    service = _SERVICE.search(line)
    return service is not None and not is_public(line[max(0, service.start() - _LEAD) :])
