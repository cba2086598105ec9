from typing import Any

import pytest

from ullage.formats.parsing import convert_usage
from ullage.model.usage import Usage

ACCOUNTS: list[tuple[dict[str, Any], Usage]] = [
    (
        {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20},
        Usage(input_tokens=5, output_tokens=2, cache_read_input_tokens=70, cache_creation_input_tokens=20),
    ),
    (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 80}},
        Usage(input_tokens=20, output_tokens=9, cache_read_input_tokens=80),
    ),
    (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": None, "cache_read_input_tokens": 30},
        Usage(input_tokens=70, output_tokens=9, cache_read_input_tokens=30),
    ),
    (
        {"input_tokens": 100, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 64}},
        Usage(input_tokens=36, output_tokens=9, cache_read_input_tokens=64),
    ),
    (
        {"input_tokens": 100, "output_tokens": 9, "cached_input_tokens": 64},
        Usage(input_tokens=36, output_tokens=9, cache_read_input_tokens=64),
    ),
    (
        {"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}},
        Usage(input_tokens=5, output_tokens=9, reasoning_tokens=7),
    ),
    (
        {
            "input_tokens": 5,
            "output_tokens": 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 7},
        },
        Usage(input_tokens=5, output_tokens=9, reasoning_tokens=7),
    ),
    (
        {"input_tokens": 5, "output_tokens": 9, "cached_input_tokens": 0, "reasoning_output_tokens": 11},
        Usage(input_tokens=5, output_tokens=9, reasoning_tokens=9),
    ),
    ({}, Usage()),
    ({"prompt_tokens": "many", "completion_tokens": -1, "prompt_tokens_details": 3}, Usage()),
    ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}}, Usage(cache_read_input_tokens=10)),
]


@pytest.mark.parametrize(("raw", "usage"), ACCOUNTS)
def test_a_usage_is_recognised_by_its_fields(raw: dict[str, Any], usage: Usage) -> None:
    assert convert_usage(raw) == usage
