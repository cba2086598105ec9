"""A dialog at the ACP door equals the committed one line by line, and each line of the agent is valid ACP.

`./scripts/test tests/golden --update-golden` writes `protocol/acp.jsonl` again.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Never

import pytest

from support.acp_dialog import DIALOG, record_dialog
from support.acp_schema import faults_in_error, faults_in_params, faults_in_result, has_schema

Line = dict[str, Any]


@pytest.fixture
async def made() -> Sequence[str]:
    return await record_dialog()


@pytest.fixture
def committed(made: Sequence[str], request: pytest.FixtureRequest) -> Sequence[Line]:
    if request.config.getoption("--update-golden"):
        DIALOG.write_text("".join(line + "\n" for line in made))
    return [json.loads(line) for line in DIALOG.read_text().splitlines()]


async def test_the_dialog_is_what_was_committed(made: Sequence[str], committed: Sequence[Line]) -> None:
    said = [json.loads(line) for line in made]
    for number, (now, then) in enumerate(zip(said, committed, strict=False), start=1):
        assert now == then, f"line {number} changed; if that is meant: ./scripts/test tests/golden --update-golden"
    assert len(said) == len(committed)


async def test_every_line_of_the_agent_s_is_valid_by_the_official_schema(
    committed: Sequence[Line], lacking: Callable[[str], Never]
) -> None:
    if not has_schema():
        lacking("the Agent Client Protocol's schema (scripts/rigs/acp.sh)")
    methods = {line["message"]["id"]: line["message"]["method"] for line in requests(committed)}
    for line in committed:
        if line["from"] == "agent":
            assert faults(line["message"], methods) == [], line


async def test_the_dialog_shows_every_update_that_only_this_door_sends(committed: Sequence[Line]) -> None:
    told = {
        line["message"]["params"]["update"]["sessionUpdate"]
        for line in committed
        if line["message"].get("method") == "session/update"
    }
    assert told >= {
        "available_commands_update",
        "usage_update",
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "compaction_update",
        "compaction_summary_chunk",
        "notice",
        "plan",
        "current_mode_update",
        "config_option_update",
    }


def requests(committed: Sequence[Line]) -> list[Line]:
    return [line for line in committed if line["from"] == "client" and "method" in line["message"]]


def faults(message: Line, methods: dict[Any, str]) -> list[str]:
    if "error" in message:
        return faults_in_error(message["error"])
    if "method" in message:
        return faults_in_params(message["method"], message["params"])
    method = methods[message["id"]]
    return [] if method.startswith("_") else faults_in_result(method, message["result"])
