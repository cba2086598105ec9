"""The error that a refusal becomes, by its status and kind, without a server."""

import pytest

from ullage.model.errors import (
    AuthenticationFailed,
    ContextTooLong,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from ullage.providers.failures import Refusal, retry_after, translate_refusal


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (400, "invalid_request_error", "max_tokens: required", RequestRefused),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ContextTooLong),
        (400, "", "input length and `max_tokens` exceed context limit: 8 + 2 > 9", ContextTooLong),
        (400, "exceed_context_size_error", "the request exceeds the available context size", ContextTooLong),
        (402, "billing_error", "no credit", RequestRefused),
        (404, "not_found_error", "model: nobody", RequestRefused),
        (408, "", "timed out", ProviderUnavailable),
        (409, "", "another request holds the lock", ProviderUnavailable),
        (429, "insufficient_quota", "no credit", RequestRefused),
        (503, "", "down", ProviderUnavailable),
        (0, "rate_limit_exceeded", "slower", RateLimited),
        (0, "server_error", "sorry", ProviderUnavailable),
        (200, "overloaded_error", "Overloaded", ProviderUnavailable),
        (403, "", "no", AuthenticationFailed),
    ],
)
def test_a_refusal_becomes_the_error_that_says_what_to_do(
    status: int, kind: str, message: str, expected: type[ProviderError]
) -> None:
    error = translate_refusal("anthropic", Refusal(status=status, kind=kind, message=message))
    assert type(error) is expected
    assert message in str(error)


def test_an_error_in_the_middle_of_a_stream_is_not_called_a_success() -> None:
    error = translate_refusal("anthropic", Refusal(status=200, kind="overloaded_error", message="Overloaded"))
    assert str(error) == "anthropic answered with an error: Overloaded"


def test_a_key_that_the_server_repeats_is_left_out() -> None:
    refusal = Refusal(status=401, message="Incorrect key sk-12345678", key="sk-12345678")
    assert "sk-12345678" not in str(translate_refusal("openai", refusal))
    assert "[key]" in str(translate_refusal("openai", refusal))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "-1"}, 0.0),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_either_header(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected
