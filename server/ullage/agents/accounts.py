"""Numbers of tokens in what agents send."""

from collections.abc import Mapping
from typing import Any


def prompt_and_answer(account: Mapping[str, Any]) -> int | None:
    """Tokens of a request and its answer together. Returns None if the account names no prompt."""
    prompt = _first(account, "input_tokens", "inputTokens")
    answer = _first(account, "output_tokens", "outputTokens") or 0
    return prompt + answer if prompt else None


def token_count(value: Any) -> int | None:
    """The value if it can be a number of tokens, otherwise None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(account: Mapping[str, Any], *names: str) -> int | None:
    return next((tokens for name in names if (tokens := token_count(account.get(name))) is not None), None)
