"""Clients append messages as they have them: Anthropic's, OpenAI's or Ullage's own. A PDF in them is counted, kept and
named."""

import base64
import json
from typing import Any

import pytest

from support.pdf import small_pdf
from support.provider_rules import anthropic_violations
from support.workspace import TestClient, build_test_client
from ullage import ContextManager
from ullage.formats.provider import MESSAGES, Provider
from ullage.model.errors import InvalidRequest

pytest.importorskip("anthropic")
pytest.importorskip("openai")

from support.sdk_items import KINDS, TOOLS, group_of

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


async def test_thinking_without_a_signature_is_sent_to_no_provider_that_refuses_it(client: TestClient) -> None:
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


async def test_own_blocks_are_taken_with_the_others(client: TestClient) -> None:
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
        ({"role": "user", "content": 5}, r"messages\[0\]: `content` is 5; it must be text"),
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
        (
            {"role": "narrator", "content": "x"},
            r"messages\[0\] has no known role: 'narrator'; give a message \(system, developer, user",
        ),
        ({"role": "tool", "content": [{"type": "resource", "uri": "x"}]}, "cannot hold Ullage's own blocks"),
    ],
)
async def test_what_is_no_message_is_refused_by_one_error(message: dict[str, Any], error: str) -> None:
    client = build_test_client()
    session_id = (await client.call("session/new"))["sessionId"]
    with pytest.raises(InvalidRequest, match=error):
        await client.call("session/append", sessionId=session_id, messages=[message])
    assert await client.entries(session_id) == []


async def test_commands_are_carried_out_where_prompts_are_typed(client: TestClient) -> None:
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


async def door_gives_back(provider: str, messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    client = build_test_client()
    session_id = (await client.call("session/new", tools=tools))["sessionId"]
    await client.call("session/append", sessionId=session_id, messages=messages)
    return (await client.call("context/messages", sessionId=session_id, provider=provider))["request"]


@pytest.mark.parametrize(("name", "provider", "message"), KINDS)
async def test_every_type_of_each_sdk_leaves_the_door_as_it_came(name: str, provider: Provider, message: Any) -> None:
    said: list[Any] = [{"role": "user", "content": "How many?"}, *group_of(provider, message)]
    assert await door_gives_back(provider, said, []) == {MESSAGES[provider]: said}, name


@pytest.mark.parametrize(("provider", "tool"), TOOLS)
async def test_every_tool_of_each_sdk_leaves_the_door_as_it_came(provider: Provider, tool: Any) -> None:
    asked = {"role": "user", "content": "How many?"}
    assert (await door_gives_back(provider, [asked], [tool])) == {MESSAGES[provider]: [asked], "tools": [tool]}


async def test_a_system_prompt_of_blocks_keeps_its_place_for_the_cache() -> None:
    blocks: list[Any] = [{"type": "text", "text": "Be exact.", "cache_control": {"type": "ephemeral"}}]
    client = build_test_client()
    session_id = (await client.call("session/new", system=blocks))["sessionId"]
    answer = await client.call("context/messages", sessionId=session_id, provider="anthropic")
    assert answer["request"]["system"] == blocks
    answer = await client.call("context/messages", sessionId=session_id, provider="openai")
    assert "Be exact." in json.dumps(answer["request"])


async def test_a_whole_answer_is_taken_with_its_usage(client: TestClient) -> None:
    session_id = (await client.call("session/new", model="gpt-4o"))["sessionId"]
    said = {"role": "assistant", "content": "Twelve.", "refusal": None, "annotations": list[Any]()}
    answer = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 3},
    }
    messages = [{"role": "user", "content": "How many?"}, answer]
    appended = await client.call("session/append", sessionId=session_id, messages=messages)
    assert (appended["usage"]["used"], len(appended["messageIds"])) == (903, 2)


@pytest.mark.parametrize("usage", [{"tokens": 5}, {"prompt_tokens": "many"}, {"input_tokens": -7}, {}])
async def test_a_usage_without_a_known_field_is_refused_with_the_remedy(usage: dict[str, Any]) -> None:
    client = build_test_client()
    session_id = (await client.call("session/new", model="gpt-4o"))["sessionId"]
    messages = [{"role": "user", "content": "How many?"}, {"role": "assistant", "content": "Twelve."}]
    with pytest.raises(InvalidRequest, match="fields such as input_tokens"):
        await client.call("session/append", sessionId=session_id, messages=messages, usage=usage)


DATA = base64.b64encode(small_pdf(pages=4)).decode()
SOURCE = {"type": "base64", "media_type": "application/pdf", "data": DATA}
DOCUMENT: dict[str, Any] = {"type": "document", "source": SOURCE, "title": "spec.pdf", "citations": {"enabled": True}}
READ: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "What does it say?"}, DOCUMENT]}


def turns(count: int) -> list[dict[str, Any]]:
    roles = ("assistant", "user")
    return [{"role": roles[number % 2], "content": f"Step {number}. " * 120} for number in range(count)]


def test_a_document_is_kept_through_a_compaction_and_its_undo() -> None:
    with ContextManager("claude-sonnet-4-5", "anthropic", window=40_000) as manager:
        first = {"role": "user", "content": "Build a parser."}
        manager.add_message(first, *turns(1), READ)
        before = manager.token_usage
        # Four pages, not 1,000 characters of base64; with the text around them.
        assert 4 * 1_500 < before < 4 * 3_000
        manager.add_message(*turns(40))
        whole = manager.get_messages()
        assert READ in whole
        manager.compact_sync()
        context = manager.get_context_for_request()
        assert anthropic_violations(context) == []
        assert DATA not in str(context)
        assert "spec.pdf (application/pdf, 1 kB)" in str(context)
        manager.undo()
        assert manager.get_messages() == whole
