"""Lists of messages: an unknown role, a run that is asked for, and the fields of a usage. Samples show what else there
is."""

from typing import Any

import pytest

from support.foreign import read_value
from ullage.formats.parsing import convert_usage
from ullage.model.errors import InvalidRequest
from ullage.model.usage import Usage


def test_a_message_of_unknown_role_is_named_not_dropped() -> None:
    transcript = read_value([{"role": "user", "content": "a"}, {"role": "ghost", "content": "b"}], "openai-messages")
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(2, False)]


RUNS = [
    {"task_id": number, "trial": 0, "traj": [{"role": "user", "content": f"run {number}"}] * length}
    for number, length in ((1, 1), (2, 3), (3, 2))
]


def test_a_run_that_is_not_there_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match=r"test\.json: there is no run 4; the file holds runs 1 to 3"):
        read_value(RUNS, run=4)
    with pytest.raises(InvalidRequest, match=r"there is no run 2; the file holds one conversation"):
        read_value(RUNS[:1], run=2)


# Provider usage


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
