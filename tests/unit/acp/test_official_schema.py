"""The check of every line that the agent sends finds what it should find."""

from collections.abc import Callable
from typing import Any, Never

import pytest

from support.acp_schema import faults_in_error, faults_in_params, faults_in_result, has_schema

USAGE = {"sessionUpdate": "usage_update", "used": 5, "size": 10}
COMPACTION = {"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}
CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}


@pytest.fixture(autouse=True)
def schema(lacking: Callable[[str], Never]) -> None:
    if not has_schema():
        lacking("the Agent Client Protocol's schema (scripts/rigs/acp.sh)")


@pytest.mark.parametrize("update", [USAGE, COMPACTION, CHUNK, USAGE | {"_meta": {"ullage": {"source": "reported"}}}])
def test_what_the_protocol_has_is_right(update: Any) -> None:
    assert faults_in_params("session/update", {"sessionId": "s", "update": update}) == []


@pytest.mark.parametrize(
    "update",
    [
        USAGE | {"source": "reported"},
        USAGE | {"size": None},
        USAGE | {"used": -1},
        {"sessionUpdate": "usage_update", "used": 5},
        COMPACTION | {"trigger": "manual"},
        CHUNK | {"content": {"type": "text", "text": "hi", "bold": True}},
        CHUNK | {"content": {"type": "text"}},
        {"sessionUpdate": "context_update"},
    ],
)
def test_fields_of_one_s_own_missing_ones_and_wrong_ones_are_faults(update: Any) -> None:
    assert faults_in_params("session/update", {"sessionId": "s", "update": update})


def test_results_are_judged_by_their_method() -> None:
    assert faults_in_result("session/prompt", {"stopReason": "end_turn"}) == []
    assert faults_in_result("session/prompt", {"stopReason": "done"})
    assert faults_in_result("session/list", {"sessions": [], "total": 0})
    assert faults_in_result("session/new", {"configOptions": []})


def test_errors_are_judged() -> None:
    assert faults_in_error({"code": -32000, "message": "no key", "data": {"kind": "NoModelConfigured"}}) == []
    assert faults_in_error({"code": "x", "message": "no key"})
