"""Reads token counts from the JSON that agents send."""

from collections.abc import Mapping
from typing import Any


def prompt_and_answer(usage: Mapping[str, Any]) -> int | None:
    """Returns the input and output tokens of one request together, or None if the usage has no input tokens.

    The keys may be in snake case or in camel case. Missing output tokens count as 0.
    """
    prompt = _first(usage, "input_tokens", "inputTokens")
    answer = _first(usage, "output_tokens", "outputTokens") or 0
    return prompt + answer if prompt else None


def token_count(value: Any) -> int | None:
    """Returns the value if it is an integer of at least 0, otherwise None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(usage: Mapping[str, Any], *names: str) -> int | None:
    return next((tokens for name in names if (tokens := token_count(usage.get(name))) is not None), None)
