"""Clients append messages as they have them: Anthropic's, OpenAI's or Ullage's own."""

import json
from typing import Any

import pytest

from support.workspace import build_test_client
from ullage.model.errors import InvalidRequest

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
OPENAI: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "name": "ann",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        ],
    },
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "a = 1"},
    {"role": "assistant", "content": "A file."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a = 1"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "a"}},
            {"type": "text", "text": "One."},
        ],
    },
]


@pytest.mark.parametrize(("format_name", "messages"), [("openai", OPENAI), ("anthropic", ANTHROPIC)])
async def test_what_a_client_appends_is_what_it_would_send_again(format_name: str, messages: list[Any]) -> None:
    client = build_test_client()
    session_id = (await client.call("session/new"))["sessionId"]
    await client.call("session/append", sessionId=session_id, messages=messages)
    exported = await client.call("session/export", sessionId=session_id, format=format_name)
    sent = json.loads(exported["text"])["messages"]
    if format_name == "anthropic":
        sent[2]["content"][0]["content"] = "a = 1"
    assert sent == messages


async def test_thinking_without_a_signature_is_sent_to_no_provider_that_refuses_it() -> None:
    client = build_test_client()
    session_id = (await client.call("session/new"))["sessionId"]
    signed = {"type": "thinking", "thinking": "First.", "signature": "c2ln"}
    for thinking in (signed, {"type": "thinking", "thinking": "Then."}):
        content: list[Any] = [thinking, {"type": "text", "text": "It is.", "citations": []}]
        messages: list[Any] = [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": content}]
        await client.call("session/append", sessionId=session_id, messages=messages)
    answer = await client.call("context/messages", sessionId=session_id, provider="anthropic")
    blocks = [block for message in answer["request"]["messages"][1::2] for block in message["content"]]
    assert [block for block in blocks if block["type"] == "thinking"] == [signed]
    entries = await client.entries(session_id)
    assert [entry["message"]["content"][0]["thinking"] for entry in entries[1::2]] == ["First.", "Then."]


async def test_own_blocks_are_taken_with_the_others() -> None:
    client = build_test_client()
    session_id = (await client.call("session/new"))["sessionId"]
    blocks = [{"type": "image", "data": "AAAA"}, {"type": "resource", "uri": "file:///a.py", "text": "a = 1"}]
    await client.call("session/append", sessionId=session_id, messages=[{"role": "user", "content": blocks}])
    (entry,) = await client.entries(session_id)
    assert [block["type"] for block in entry["message"]["content"]] == ["image", "resource"]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"role": "user"}, r"messages\[0\] has no `content`"),
        ({"role": "user", "content": None}, r"messages\[0\] has no `content`"),
        ({"role": "user", "content": 5}, "Expected `str | array | null`, got `int`"),
        ({"role": "user", "content": [{"text": "x"}]}, r"content\[0\] is {'text': 'x'}; a content block is an object"),
        ({"role": "user", "content": [{"type": "text"}]}, r"content\[0\]: a text block needs `text`; it is None"),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b", "input": "c"}]},
            "a tool_use block needs `input`; it is 'c'",
        ),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": 5}]},
            "`content` is 5; it must be text or a list",
        ),
        ({"role": "narrator", "content": "x"}, "Invalid enum value 'narrator'"),
        ({"role": "tool", "content": [{"type": "resource", "uri": "x"}]}, "cannot hold Ullage's own blocks"),
    ],
)
async def test_what_is_no_message_is_refused_by_one_error(message: dict[str, Any], error: str) -> None:
    client = build_test_client()
    session_id = (await client.call("session/new"))["sessionId"]
    with pytest.raises(InvalidRequest, match=error):
        await client.call("session/append", sessionId=session_id, messages=[message])
    assert await client.entries(session_id) == []


async def test_commands_are_carried_out_where_prompts_are_typed() -> None:
    client = build_test_client()
    session_id = (await client.call("session/new", model="gpt-4"))["sessionId"]
    await client.say(session_id, *(f"{number}: " + "word " * 150 for number in range(12)))
    transcript = await client.entries(session_id, "transcript")

    async def prompt(text: str) -> Any:
        client.recorder.take()
        content = [{"type": "text", "text": text}]
        assert await client.call("session/prompt", sessionId=session_id, prompt=content) == {"stopReason": "end_turn"}
        return [update for update in client.recorder.take() if update["sessionUpdate"] == "notice"][-1]["title"]

    assert (await prompt("/context")).startswith("Context:")
    assert "Compacted" in (await prompt("/compact the login page"))
    assert len(await client.entries(session_id)) < 12
    await prompt("/undo")
    assert len(await client.entries(session_id)) == 12
    assert await client.entries(session_id, "transcript") == transcript, "a command is not part of the conversation"
