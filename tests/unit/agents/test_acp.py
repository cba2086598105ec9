"""The usage of an agent's context, as the known agents report it."""

from typing import Any

import pytest

from ullage.agents.acp import occupancy_of_answer, occupancy_of_update
from ullage.agents.agent import Occupancy

USAGE: dict[str, Any] = {"sessionUpdate": "usage_update", "used": 53_000, "size": 200_000}
CHUNK: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}}


@pytest.mark.parametrize(
    ("update", "told"),
    [
        (USAGE, Occupancy(used=53_000, size=200_000)),
        ({**USAGE, "_meta": {"_claude/model": "claude-x"}}, Occupancy(used=53_000, size=200_000, model="claude-x")),
        ({**USAGE, "size": 0}, Occupancy(used=53_000)),
        ({**USAGE, "used": -1}, None),
        ({**USAGE, "used": "many"}, None),
        ({**CHUNK, "_meta": {"usage": {"inputTokens": 900, "outputTokens": 10}}}, Occupancy(used=910)),
        ({**CHUNK, "_meta": {"contextCompression": {"phase": "done", "newTokenCount": 400}}}, Occupancy(used=400)),
        (CHUNK, None),
    ],
)
def test_an_update(update: dict[str, Any], told: Occupancy | None) -> None:
    assert occupancy_of_update(update) == told


def test_a_quota_in_an_answer_is_a_sum_and_names_the_model() -> None:
    quota = {"token_count": {"input_tokens": 900, "output_tokens": 10}, "model_usage": [{"model": "gemini-x"}]}
    assert occupancy_of_answer({"_meta": {"quota": quota}}) == Occupancy(used=910, model="gemini-x", summed=True)


def test_the_usage_of_an_answer_is_no_occupancy() -> None:
    assert occupancy_of_answer({"stopReason": "end_turn", "usage": {"totalTokens": 9}}) is None
