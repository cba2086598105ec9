"""Secrets that are known by their own shape, whatever stands around them."""

import re
from collections.abc import Iterable, Iterator

REDACTED = "[redacted]"

_LABEL = r"[A-Z0-9 ]{0,40}(?:PRIVATE KEY|OPENSSH PRIVATE KEY)(?: BLOCK)?"
# Prefixes as their issuers document them; what follows is a run of the issuer's alphabet.
_PREFIXED = (
    r"sk-[\w-]{16,200}",  # OpenAI, Anthropic, and those who copied the prefix
    r"(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,120}|whsec_[\w+/=-]{16,100}",  # Stripe
    r"gh[pousr]_[A-Za-z0-9]{20,120}|github_pat_\w{20,120}",
    r"(?:gl(?:pat|dt|rt|cbt|ptt|soat|agent|oas|ft)|glimt)-[\w.-]{16,80}",  # GitLab
    r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b|LTAI[A-Za-z0-9]{12,30}|AKID[A-Za-z0-9]{13,60}",  # AWS, Alibaba, Tencent
    r"AIza[\w-]{30,45}|ya29\.[\w-]{20,400}|GOCSPX-[\w-]{20,40}|1//0[\w-]{30,120}",  # Google
    r"xox[abceoprs]-[\w.-]{10,250}|xapp-[\w-]{10,200}",  # Slack
    r"hf_[A-Za-z0-9]{20,60}|npm_[A-Za-z0-9]{20,60}|pypi-[\w-]{16,400}|rubygems_[a-f0-9]{20,60}",
    r"do[opr]_v1_[a-f0-9]{40,80}|dckr_(?:pat|oat)_[\w-]{20,60}|hv[sbr]\.[\w-]{20,300}",
    r"SG\.[\w-]{16,40}\.[\w-]{16,80}|sq0[a-z]{3}-[\w-]{20,60}|key-[0-9a-f]{32}|xkeysib-[a-f0-9]{30,80}[\w-]{0,30}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,60}|gsk_[A-Za-z0-9]{20,80}|xai-[A-Za-z0-9]{20,120}|pplx-[A-Za-z0-9]{20,80}",
    r"r8_[A-Za-z0-9]{20,60}|glsa_\w{20,80}|lin_api_[A-Za-z0-9]{20,60}|ntn_[A-Za-z0-9]{20,60}|figd_[\w-]{20,80}",
    r"sntrys?_[\w+/=-]{20,250}|NRAK-[A-Z0-9]{20,40}|PMAK-[a-f0-9-]{20,80}|dapi[a-f0-9]{32}|dp\.(?:pt|st)\.[\w.]{20,80}",
    r"ATATT3x[\w=-]{20,250}|sbp_[a-f0-9]{30,60}|pscale_(?:tkn|pw|oauth)_[\w.-]{20,80}|tskey-[\w-]{16,80}",
    r"fm2_[\w+/=]{20,400}|ops_eyJ[\w=-]{20,900}|sl\.[\w-]{40,200}|EAA[A-Za-z0-9]{30,250}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,80}",
    r"SK[0-9a-f]{32}\b|sqp_[a-f0-9]{30,60}|CFPAT-[\w-]{30,60}|v1\.0-[a-f0-9]{20,200}",
    r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,1000}",  # JSON web tokens
)
# A terminal or an editor that wraps lines cuts a secret in two; a continuation is one more unbroken run with a digit.
_WRAPPED = r"(?:\\?\r?\n[ \t]{0,12}(?=[\w+/=-]{0,40}\d)[\w+/=-]{8,200}(?=[\s\"']|$))?"
_PREFIX = re.compile(rf"(?:{'|'.join(_PREFIXED)}){_WRAPPED}")
# Looking for these first, by plain search, is what keeps redaction cheap.
_PREFIXES = (
    "sk-", "sk_live_", "pk_live_", "rk_live_", "sk_test_", "pk_test_", "rk_test_", "whsec_", "ghp_", "gho_", "ghu_",
    "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "glagent-", "gloas-",
    "glft-", "glimt-", "AKIA", "ASIA", "AROA", "AIDA", "LTAI", "AKID", "AIza", "ya29.", "GOCSPX-", "1//0", "xox",
    "xapp-", "hf_", "npm_", "pypi-", "rubygems_", "dop_v1_", "doo_v1_", "dor_v1_", "dckr_", "hvs.", "hvb.", "hvr.",
    "SG.", "sq0", "key-", "xkeysib-", "shpat_", "shpca_", "shppa_", "shpss_", "gsk_", "xai-", "pplx-", "r8_", "glsa_",
    "lin_api_", "ntn_", "figd_", "sntry", "NRAK-", "PMAK-", "dapi", "dp.pt.", "dp.st.", "ATATT3x", "sbp_", "pscale_",
    "tskey-", "fm2_", "ops_", "sl.", "EAA", "AGE-SECRET-KEY-1", "SK", "sqp_", "CFPAT-", "v1.0-", "eyJ",
)  # fmt: skip
# No token of theirs is shorter: Slack's, `xoxb-` and ten characters.
_SHORTEST = 15
# The end of a word, so that what follows is no beginning; an escape's letter is none.
_INSIDE = re.compile(r"(?:^|[^\\])[A-Za-z0-9_]\Z|[A-Z0-9_]\Z")
_BOT = re.compile(r"\b\d{8,10}:AA[\w-]{30,40}")  # Telegram
_PEM = re.compile(
    rf"-----BEGIN {_LABEL}-----(?:.{{0,8000}}?-----END {_LABEL}-----|.{{0,8000}})"
    rf"|(?:[\w+/=]{{20,90}}(?:\\[nr]|\s){{1,4}}){{1,200}}-----END {_LABEL}-----"
    r"|PuTTY-User-Key-File-\d.{0,8000}?Private-MAC: \w{10,80}",
    re.DOTALL,
)
_HOOKS = re.compile(
    r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/|https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/"
    r"|https://[\w.-]{1,80}webhook\.office\.com/webhookb2/|https://hooks\.zapier\.com/hooks/catch/)[\w/@.-]{8,300}"
)
_CRYPT = re.compile(r"\$(?:2[abxy]|apr1|argon2(?:id?|d)|scrypt|pbkdf2-sha\d+|[156y])\$[^\s:\"'<>]{12,300}")


def redact_shapes(text: str) -> str:
    """`text` without private keys, tokens of known issuers, webhook addresses and password hashes."""
    if "PRIVATE KEY" in text or "PuTTY-User" in text:
        text = _PEM.sub(REDACTED, text)
    text = cut(text, _prefixed(text))
    if ":AA" in text:
        text = _BOT.sub(REDACTED, text)
    if "hook" in text:
        text = _HOOKS.sub(rf"\1{REDACTED}", text)
    if "$" in text:
        text = _CRYPT.sub(REDACTED, text)
    return text


def lowered(text: str) -> str:
    """`text` in lower case, every character in its place (`İ` alone becomes two)."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("İ", "I").lower()


def places_of(text: str, words: Iterable[str]) -> Iterator[int]:
    """Where each of `words` begins in `text`, word by word."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + 1)


def cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` with each span replaced by `[redacted]`; of spans that overlap the first counts, and the longest there."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= done:
            pieces += [text[done:start], REDACTED]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def long_words(text: str, shortest: int) -> str:
    """The words of `text` of at least so many characters: all there is to search for what has no space in it."""
    return " ".join([word for word in text.split() if len(word) >= shortest])


def _prefixed(text: str) -> Iterator[tuple[int, int]]:
    words = long_words(text, _SHORTEST)
    for at in places_of(text, [prefix for prefix in _PREFIXES if prefix in words]):
        found = _PREFIX.match(text, at) if _INSIDE.search(text[max(0, at - 2) : at]) is None else None
        if found:
            yield found.span()
