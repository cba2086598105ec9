"""A conversation that grows is read as the finished one is, whatever its lines and in whatever pieces."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.codex_files import logged as _log
from support.foreign import to_lines
from support.growing_files import expect_pieces_to_equal_the_whole
from support.transcripts import ROOT
from ullage.agents import antigravity, copilot_chat, copilot_cli, cursor, droid, grok, hermes
from ullage.agents.codex import early_log as codex_log
from ullage.formats.parsing import Line, parse_document
from ullage.formats.transcripts.format import Format

ROUND: dict[str, Any] = {
    "id": "r",
    "response": "x",
    "toolCalls": [{"id": "c", "name": "ls", "arguments": "{}"}],
    "summary": "y",
}
CHAT_ROUND: dict[str, Any] = {"metadata": {"toolCallRounds": [ROUND], "toolCallResults": {"c": {}}, "promptTokens": 5}}


def _event(kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": kind, "timestamp": "2026-01-01T00:00:00Z", "agentId": agent}


def _step(kind: str, **facts: Any) -> dict[str, Any]:
    return {"step_index": 0, "source": "MODEL", "type": kind, "status": "DONE", "content": "x"} | facts


def _row(kind: str, **facts: Any) -> dict[str, Any]:
    return {"type": kind, "content": "x"} | facts


# Lines of each format, of which any sequence may make up a file.
LINES: dict[str, tuple[Format, list[dict[str, Any]]]] = {
    "copilot-cli": (
        copilot_cli.FORMAT,
        [
            _event("session.start", sessionId="s"),
            _event("user.message", content="one"),
            _event("user.message", "helper", content="two"),
            _event("assistant.message", content="x", messageId="a", apiCallId="k", toolRequests=[{"toolCallId": "t"}]),
            _event("assistant.message", content="y", messageId="b", apiCallId="k"),
            _event("assistant.reasoning", content="hm"),
            _event("session.usage_record", usage={"apiCallId": "k", "inputTokens": 5, "maxPromptTokens": 9}),
            _event("tool.execution_complete", toolCallId="t", result={"content": "out"}),
            _event("session.compaction_start"),
            _event("session.compaction_complete", success=True, summaryContent="so far"),
            _event("session.truncation", messagesRemovedDuringTruncation=1, postTruncationMessagesLength=2),
            _event("system.message", content="be brief"),
        ],
    ),
    "codex-log": (
        codex_log.FORMAT,
        [
            _log("task_started"),
            _log("agent_reasoning_delta", delta="h"),
            _log("agent_reasoning", text="hm"),
            _log("agent_message_delta", delta="I"),
            _log("agent_message", message="I look."),
            _log("exec_command_begin", call_id="c", command=["ls"]),
            _log("exec_command_output_delta", call_id="c", stream="stdout", chunk="b3V0"),
            _log("exec_command_end", call_id="c", stdout="o", stderr="", exit_code=0),
            _log("token_count", input_tokens=5, output_tokens=2),
            _log("user_message", message="go"),
        ],
    ),
    "vscode-chat": (
        copilot_chat.FORMAT,
        [
            {"session": {"sessionId": "s", "customTitle": "t"}},
            {"requestId": "q", "message": {"text": "one"}, "response": [{"value": "x"}]},
            {"requestId": "p", "message": "two", "result": CHAT_ROUND},
            {"requestId": "o", "message": "three", "takenBack": True},
            {"requestId": "n", "message": "four", "shouldBeRemovedOnSend": {}},
        ],
    ),
    "droid": (
        droid.FORMAT,
        [
            {"type": "session_start", "id": "s"},
            {"type": "message", "id": "m", "message": {"role": "user", "content": "one"}},
            {"type": "message", "id": "n", "message": {"role": "assistant", "content": "x", "modelId": "m"}},
            {"type": "compaction_state", "id": "c", "summaryText": "so far", "removedCount": 1},
        ],
    ),
    "droid-stream": (
        droid.STREAM_FORMAT,
        [
            {"type": "system", "model": "m"},
            {"type": "message", "role": "user", "text": "one"},
            {"type": "message", "role": "assistant", "text": "x"},
            {"type": "tool_call", "id": "t", "toolName": "ls", "parameters": {}},
            {"type": "tool_result", "id": "t", "value": "out"},
            {"type": "completion", "finalText": "y", "usage": {"input_tokens": 5, "output_tokens": 1}},
        ],
    ),
    "cursor-cli": (
        cursor.FORMAT,
        [
            {"role": "user", "message": {"content": "one"}},
            {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "ls", "input": {}}]}},
            {"role": "user", "message": {"content": [{"type": "tool_result", "content": "out"}]}},
            {"type": "turn_ended"},
        ],
    ),
    "antigravity": (
        antigravity.FORMAT,
        [
            _step("USER_INPUT"),
            _step("PLANNER_RESPONSE", tool_calls=[{"name": "ls", "args": {"a": "[1"}}]),
            _step("LIST_DIRECTORY"),
            _step("CHECKPOINT", source="SYSTEM"),
        ],
    ),
    "grok-cli": (
        grok.FORMAT,
        [
            _row("system"),
            _row("user", prompt_index=0),
            _row("reasoning", summary="hm"),
            _row("assistant", tool_calls=[{"id": "c", "name": "ls"}]),
            _row("tool_result", tool_call_id="c"),
            _row("backend_tool_call"),
        ],
    ),
    "hermes": (
        hermes.FORMAT,
        [
            {"facts": {"session_id": "s", "system_prompt": "be brief"}},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "x", "tool_calls": [{"id": "c", "function": {"name": "ls"}}]},
            {"role": "tool", "content": "out", "tool_call_id": "c"},
        ],
    ),
}
CHOICES = st.lists(st.integers(0, 11), max_size=20)


@pytest.mark.parametrize("name", LINES)
@given(choices=CHOICES, cuts=st.lists(st.integers(0, 20), max_size=4))
def test_any_growing_conversation_is_read_as_the_whole_is(name: str, choices: list[int], cuts: list[int]) -> None:
    known, lines = LINES[name]
    values = [lines[choice % len(lines)] for choice in choices]
    records = [Line(number=number, value=value) for number, value in enumerate(values, start=1)]
    expect_pieces_to_equal_the_whole(known, [*records, Line(number=99, problem="not JSON")], cuts)


RECORDED = sorted(
    path
    for pattern in ("live/copilot-cli/*/events.jsonl", "agent_fixtures/*.json*")
    for path in ROOT.glob(pattern)
    if "codex" not in path.name
)


@pytest.mark.skipif(not RECORDED, reason="no recorded conversations on this machine (set ULLAGE_TRANSCRIPTS)")
@pytest.mark.parametrize("name", LINES)
def test_recorded_conversations_that_grow_are_read_as_the_whole_is(name: str) -> None:
    known, lines = LINES[name]
    assert known.records is not None
    assert known.matches(parse_document(to_lines(*lines), "made up")) or name in ("vscode-chat", "hermes")
    for path in RECORDED:
        document = parse_document(path.read_bytes(), path.name)
        if known.matches(document):
            records = known.records(document).lines
            expect_pieces_to_equal_the_whole(known, records, range(len(records)))
