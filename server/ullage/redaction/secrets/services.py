"""Redacts tokens that are known only by the service next to them, as in `DATADOG=…` or `sent to stripe with …`.

Such a token is hexadecimal or in lower case, as are many digests and ids. So the rest of the line decides.
"""

import re
from collections.abc import Iterator
from functools import cache

from ullage.redaction.scan import LONG_WORDS, cut
from ullage.redaction.secrets.issuers import SERVICES
from ullage.redaction.secrets.judgement import is_drawn

# Services whose tokens have no prefix and that gitleaks' list lacks.
_MORE = (
    "abuseipdb", "adyen", "alchemy", "alphavantage", "amplitude", "anthropic", "assemblyai", "binance", "braintree",
    "brevo", "bugsnag", "buildkite", "chargebee", "circleci", "clearbit", "clickup", "cloudinary", "deepgram", "deepl",
    "digitalocean", "elevenlabs", "etherscan", "firebase", "freshdesk", "geoapify", "grafana", "hetzner", "honeycomb",
    "huggingface", "infura", "ipinfo", "ipstack", "klaviyo", "linode", "mailjet", "maptiler", "mistral", "mixpanel",
    "nexmo", "openai", "openweather", "opsgenie", "pagerduty", "paypal", "pinecone", "plivo", "posthog", "postmark",
    "recurly", "rollbar", "salesforce", "sendgrid", "shodan", "shopify", "slack", "sparkpost", "stripe", "supabase",
    "telegram", "tiingo", "trello", "twilio", "vercel", "virustotal", "vonage", "vultr", "wandb",
)  # fmt: skip
_SERVICE = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(sorted((*SERVICES, *_MORE)))})", re.IGNORECASE)
_SHORTEST, _SHORTEST_BARE = 16, 20
_WORD = re.compile(rf"(?<![\w/.+%@#-])[A-Za-z0-9][\w-]{{{_SHORTEST - 1},199}}+(?![\w/.+%@(=-])")
_DIGIT = re.compile("[0-9]")
_SEPARATORS = re.compile(r"[_-]")
_HEX = re.compile(r"[0-9a-fA-F-]+")
# Characters before a token in which its name or its service is searched.
_BEFORE = 70
# Characters before the service's name that can say what the value is, as in `request id of slack`.
_LEAD = 16
_ENVIRONMENT = re.compile(r"(?:^|[\s;&'\"])(?P<name>[A-Z][A-Z0-9_]{2,50})=[\"']?$")
_ENTRY = re.compile(
    r"(?:^|\n|\\n|[\"'])[ \t]*(?:- )?[\"']?(?P<name>[A-Za-z][\w.-]{1,40})[\"']?[ \t]?[:=][ \t]{0,2}[\"']?$"
)
_END = re.compile(r"\\?[\"']?[,}\])]{0,3}[ \t]*(?:$|[\r\n]|\\n)")
# Words in the names of values that look drawn and are public.
_PUBLIC = frozenset((
    "account", "blob", "build", "cache", "checksum", "commit", "container", "customer", "digest", "etag", "event",
    "file", "fingerprint", "guid", "hash", "head", "host", "id", "ids", "image", "index", "integrity", "issue", "job",
    "layer", "md", "message", "name", "nonce", "object", "oid", "order", "path", "project", "pub", "public", "ref",
    "release", "request", "rev", "revision", "run", "seed", "session", "sha", "span", "sum", "tag", "thread",
    "thumbprint", "trace", "tree", "uri", "url", "user", "uuid", "version",
))  # fmt: skip
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def redact_by_service(text: str) -> str:
    """Returns `text` with `[redacted]` for drawn values of environment variables, of lines that only give one value to
    one name, and next to the name of a service. Names of public values, such as `commit`, keep theirs."""
    return cut(text, _tokens(text)) if LONG_WORDS.of(text) else text


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    drawn = cache(is_drawn)
    for found in _words(text):
        token = found[0]
        if drawn(token):
            start = max(0, found.start() - _BEFORE)
            before = text[start : found.start()]
            if _is_named(token, before, text, found.end()) or _is_of_service(before):
                yield found.span()


def _words(text: str) -> Iterator[re.Match[str]]:
    for start, end in LONG_WORDS.of(text):
        if _DIGIT.search(text, start, end):
            # With the character after the run, at which the pattern looks.
            yield from _WORD.finditer(text, start, end + 1)


def _is_named(token: str, before: str, text: str, end: int) -> bool:
    if len(token) < _SHORTEST_BARE or max(map(len, _SEPARATORS.split(token))) < _SHORTEST:
        return False
    name = _ENVIRONMENT.search(before) or (None if _HEX.fullmatch(token) else _ENTRY.search(before))
    return name is not None and not _is_public(name["name"]) and _END.match(text, end) is not None


def _is_of_service(before: str) -> bool:
    line = before.rpartition("\n")[2]
    service = _SERVICE.search(line)
    return service is not None and not _is_public(line[max(0, service.start() - _LEAD) :])


def _is_public(name: str) -> bool:
    return any(word.lower() in _PUBLIC for word in _NAME_WORD.findall(name))
