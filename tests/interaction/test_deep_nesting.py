"""Values nested in hundreds of levels: refused where they come in, and harmless where they are already."""

import json
from typing import Any

import pytest

from support.workspace import build_test_client
from ullage.agents.transcripts import read
from ullage.formats.tool_calls import NativeCalls
from ullage.model.answer import ToolUseEnd
from ullage.model.errors import InvalidRequest
from ullage.model.events import MessageAppended
from ullage.model.json_values import MOST_LEVELS
from ullage.model.message import Message, Role, ToolUseBlock
from ullage.store.search.word_index import message_text


def nested(levels: int) -> Any:
    value: Any = "the core"
    for _ in range(levels):
        value = {"in": [value]} if _ % 2 else {"in": value}
    return value


def calling(given: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "run", "input": {"a": given}}]}


@pytest.mark.parametrize("levels", [MOST_LEVELS, 300])
async def test_a_message_nested_too_deeply_is_refused_and_the_store_goes_on(levels: int) -> None:
    client = build_test_client()
    session_id = (await client.call("session/new", model="m"))["sessionId"]
    with pytest.raises(InvalidRequest, match=f"at most {MOST_LEVELS} levels"):
        await client.call("session/append", sessionId=session_id, messages=[calling(nested(levels))])
    tools = [{"name": "run", "input_schema": nested(levels)}]
    with pytest.raises(InvalidRequest, match=f"at most {MOST_LEVELS} levels"):
        await client.call("session/append", sessionId=session_id, tools=tools)
    await client.call("session/append", sessionId=session_id, messages=[calling(nested(50))])
    assert (await client.call("context/search", query="core"))["hits"]


@pytest.mark.parametrize("levels", [1_000, 3_000])
def test_what_is_stored_is_indexed_however_deep_it_is_nested(levels: int) -> None:
    use = ToolUseBlock(id="t", name="run", input={"a": nested(levels), "b": "last"})
    text = message_text(Message(id="m", role=Role.ASSISTANT, content=(use,), timestamp=0))
    assert text == "run\nthe core\nlast"


@pytest.mark.parametrize("levels", [150, 220])
def test_a_transcript_keeps_what_is_nested_too_deeply_as_text(levels: int) -> None:
    lines = [{"role": "user", "content": "Go on."}, calling(nested(levels))]
    found = read(json.dumps(lines).encode(), "deep.json")
    message = [event.message for event in found.events if isinstance(event, MessageAppended)][-1]
    assert "the core" in message_text(message)
    assert depth(message.content[0].input) <= MOST_LEVELS  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]


@pytest.mark.parametrize("levels", [250, 5_000])
def test_a_models_call_nested_too_deeply_becomes_no_deep_value(levels: int) -> None:
    calls = NativeCalls()
    calls.start("0", "t", "run")
    calls.add("0", '{"a":' * levels + "1" + "}" * levels)
    (end,) = calls.end("0")
    assert isinstance(end, ToolUseEnd)
    assert end.error or depth(end.input) <= MOST_LEVELS + 1


def depth(value: Any) -> int:
    level, levels = [value], 0
    while level := [
        inner
        for outer in level
        if isinstance(outer, dict | list)
        for inner in (outer.values() if isinstance(outer, dict) else outer)
    ]:
        levels += 1
    return levels
