"""Keeps what must not travel out of summaries and ledgers: secrets, and text that poses as our markers."""

import re

REDACTED = "[redacted]"

_KNOWN_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:.{0,8000}?-----END [A-Z ]{0,40}PRIVATE KEY-----|.{0,8000})"
    r"|\bsk-[A-Za-z0-9_-]{16,200}"  # OpenAI, Anthropic, and those who copied the prefix
    r"|\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,120}"  # Stripe
    r"|\bgh[pousr]_[A-Za-z0-9]{20,120}|\bgithub_pat_\w{20,120}|\bglpat-[\w-]{16,60}"
    r"|\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b"  # AWS key ids
    r"|\bAIza[\w-]{30,45}|\bya29\.[\w-]{20,400}"  # Google
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,200}|\bxapp-[A-Za-z0-9-]{10,200}"  # Slack
    r"|\bhf_[A-Za-z0-9]{20,60}|\bnpm_[A-Za-z0-9]{20,60}|\bpypi-[\w-]{40,400}|\bdop_v1_[a-f0-9]{40,80}"
    r"|\bSG\.[\w-]{16,40}\.[\w-]{16,80}|\bsq0[a-z]{3}-[\w-]{20,60}"
    r"|\beyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,1000}"  # JSON web tokens
    r"|\bage-secret-key-1[a-z0-9]{40,80}|\b\d{8,10}:AA[\w-]{30,40}",
    re.DOTALL | re.IGNORECASE,
)
_IN_URL = re.compile(r"(?<=://)([^\s:/@]{0,100}):[^\s/@]{1,200}(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic|token)\s+[A-Za-z0-9+/_.=~-]{16,2000}")
_NAMED = re.compile(
    r"((?:password|passwd|passphrase|pwd|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|auth[_-]?key)s?[\"']?\s{0,3}(?:=>|[:=])\s{0,3})"
    r"(\"[^\"\n]{4,400}\"|'[^'\n]{4,400}'|[^\s\"',;)}\]&]{6,400})",
    re.IGNORECASE,
)
# Most text holds none of these; looking for them first is what keeps redaction cheap.
_SHAPE_HINTS = (
    "-----begin", "sk-", "_live_", "_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "akia",
    "asia",     "aroa", "aida", "aiza", "ya29.", "xox", "xapp-", "hf_", "npm_", "pypi-", "dop_v1_", "sg.", "sq0", "eyj",
    "age-secret", ":aa",
)  # fmt: skip
_NAME_HINTS = ("passw", "passphrase", "pwd", "secret", "token", "credential", "key")
_BEARER_HINTS = ("bearer ", "basic ", "token ")
# What stands after "password =" in code far more often than a password: names, calls, types and placeholders.
_HARMLESS = re.compile(
    r"(?i)[\"']?(?:none|null|true|false|undefined|\[redacted\]|str(?:ing)?|bytes|<[^>]*>|\$[\w{(].*|%.*|\*+"
    r"|[a-z_][\w.]*[(\[{].*|[a-z_]+(?:\.[a-z_]+)*|(?:self|os|process|env|config|settings)\b.*)[\"']?"
)
_WHOLE_QUOTE = re.compile(r"[\"'].*[\"']")
_MARKER_OPENING = re.compile(
    r"\[(?=\s*(?:compaction\s+\d|\d+\s+earlier\s+messages|context[_ ]compaction))", re.IGNORECASE
)
_CONTROL_TAG = re.compile(
    r"<(/?)(system[\w-]*|summary|instructions?|compaction|context_compaction|assistant|user|human)\b[^>\n]{0,80}>",
    re.IGNORECASE,
)


def clean(text: str) -> str:
    """`text` fit for a summary: secrets redacted, imitations of markers made harmless."""
    return neutralise(redact(text))


def redact(text: str) -> str:
    """Replaces what looks like a key, token, password or private key by `[redacted]`."""
    lowered = text.lower()
    if any(hint in lowered for hint in _SHAPE_HINTS):
        text = _KNOWN_SHAPES.sub(REDACTED, text)
    if "://" in text and "@" in text:
        text = _IN_URL.sub(rf"\1:{REDACTED}", text)
    if any(hint in lowered for hint in _BEARER_HINTS):
        text = _BEARER.sub(_redact_bearer, text)
    if any(hint in lowered for hint in _NAME_HINTS):
        text = _NAMED.sub(_redact_named, text)
    return text


def neutralise(text: str) -> str:
    """Takes from archived text the shapes by which a model would take it for a marker or for its frame."""
    return _CONTROL_TAG.sub(r"(\1\2)", _MARKER_OPENING.sub("(", text))


def _redact_bearer(match: re.Match[str]) -> str:
    value = match[0].split(None, 1)[1]
    return f"{match[1]} {REDACTED}" if any(char.isdigit() for char in value) else match[0]


def _redact_named(match: re.Match[str]) -> str:
    value = match[2]
    quoted = _WHOLE_QUOTE.fullmatch(value) is not None
    if _HARMLESS.fullmatch(value) and not (quoted and any(char.isdigit() for char in value)):
        return match[0]
    return match[1] + REDACTED
