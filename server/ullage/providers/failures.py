"""Converts a provider's failures to our errors. Both official SDKs come from one generator and fail in the same
ways."""

import json
import re
from collections.abc import Mapping

from msgspec import Struct

from ullage.model.errors import (
    AnswerBroken,
    AuthenticationFailed,
    ContextTooLong,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from ullage.providers.prerequisites import forget_keys

# The phrases by which Anthropic, OpenAI and servers that speak their protocols refuse a prompt that is too long (their
# documents on errors; the sources of vLLM and llama.cpp). They are only looked for in a 400.
_TOO_LONG = (
    "prompt is too long",
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "exceed context limit",
    "exceeds the available context size",
    "input is too long",
)
# These are 429 as well, but waiting does not help (OpenAI and Anthropic, "Error codes").
_NO_CREDIT = ("insufficient_quota", "billing_error")
# Worth another try although the status blames the client: timeouts, and locks held by another request.
_MEND_THEMSELVES = (408, 409)
_LONGEST = 300
_USER = re.compile(r"//[^/\s]*@")
# Shorter keys are placeholders for servers that need none; removing them from messages would remove ordinary words.
_SHORTEST_KEY = 8
# What the SDKs' lenient types and our readers raise for JSON of another shape; `ValueError` is also bad JSON or UTF-8.
SHAPES = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


class Refusal(Struct, frozen=True, kw_only=True):
    """An error answer: its HTTP status (below 400 for an error event in a stream), the `type` or `code` in its body,
    its message and its headers. `key` is the key that was sent, because some servers repeat it in the message."""

    status: int
    key: str = ""
    kind: str = ""
    message: str = ""
    headers: Mapping[str, str] = {}


def translate_refusal(provider: str, refusal: Refusal) -> ProviderError:
    """Returns Ullage's error for an answer with an error status, or for an error event in a stream. `provider` is the
    name in the error's text. An error that waiting may cure is a `ProviderUnavailable`."""
    status, kind = refusal.status, refusal.kind
    answered = status if status >= 400 else "with an error"
    text = f"{provider} answered {answered}: {_short(_hidden(refusal.message, refusal.key)) or kind}"
    if status in (401, 403) or kind in ("authentication_error", "permission_error"):
        # The user may store another key while the program runs.
        forget_keys()
        return AuthenticationFailed(f"{text}. Check the key; `ullage doctor` tells where it is taken from.")
    if kind in _NO_CREDIT:
        return RequestRefused(text)
    if status == 429 or kind in ("rate_limit_error", "rate_limit_exceeded"):
        return RateLimited(text, retry_after(refusal.headers))
    if status == 413 or kind == "request_too_large" or _is_too_long(refusal):
        return ContextTooLong(text)
    if (
        status >= 500
        or status in _MEND_THEMSELVES
        or kind in ("overloaded_error", "api_error", "server_error", "timeout_error")
    ):
        return ProviderUnavailable(text, retry_after(refusal.headers))
    return RequestRefused(text)


def shown_address(address: str) -> str:
    """Returns a server's URL without the user's name and password that it may hold."""
    return _USER.sub("//…@", address)


def translate_connection(provider: str, address: str, error: Exception) -> ProviderUnavailable:
    """Returns the error for a server at the URL `address` that is away, too slow, or closed the connection."""
    return ProviderUnavailable(f"{provider} at {shown_address(address)}: {_short(str(error)) or type(error).__name__}")


def translate_nonsense(provider: str, error: Exception, key: str = "") -> AnswerBroken:
    """Returns Ullage's error for an answer that breaks the provider's protocol, such as one that is not JSON. `key` is
    the key that was sent, which the answer may repeat."""
    if isinstance(error, AnswerBroken):
        return error if str(error).startswith(provider) else AnswerBroken(f"{provider}: {error}")
    if isinstance(error, json.JSONDecodeError):
        what = "is not JSON"
    elif isinstance(error, AttributeError | KeyError | TypeError):
        what = "has not the shape that its protocol asks for"
    else:
        what = _short(_hidden(str(error), key))
    return AnswerBroken(f"{provider}'s answer cannot be read: {what}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds to wait by RFC 9110 §10.2.3 or OpenAI's `retry-after-ms`, or None."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * scale)
        except (KeyError, ValueError):
            continue
    return None


def _is_too_long(refusal: Refusal) -> bool:
    text = f"{refusal.kind} {refusal.message}".lower()
    return refusal.status in (0, 200, 400) and any(phrase in text for phrase in _TOO_LONG)


def _hidden(text: str, key: str) -> str:
    return text if len(key) < _SHORTEST_KEY else text.replace(key, "[key]")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
