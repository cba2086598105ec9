"""How an answer of the official SDKs is read, with servers that speak the providers' formats."""

import pytest
from msgspec.structs import replace

from support.wire.clients import DIALECTS, ask, collect, served
from support.wire.replies import Call, Redacted, Refuse, Reply, Say, Stop, Think, say
from ullage.model.answer import (
    Finished,
    Fragment,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseEnd,
    ToolUseStart,
    UsageDelta,
)
from ullage.model.message import Message, Role, TextBlock, ThinkingBlock, ToolDefinition, ToolResultBlock
from ullage.transcript.view import PartialAnswer

pytestmark = pytest.mark.parametrize("kind", DIALECTS)
TOOL = ToolDefinition(name="read_file", description="Reads a file.", input_schema={"type": "object"})


def text_of(fragments: list[Fragment]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta))


def account_of(fragments: list[Fragment]) -> UsageDelta:
    return [fragment for fragment in fragments if isinstance(fragment, UsageDelta)][-1]


def with_tools(request: ModelRequest) -> ModelRequest:
    return replace(request, tools=(TOOL,))


async def test_text_comes_in_pieces_and_whole(kind: str) -> None:
    text = "Grüße aus Köln 🍺, and a good morning to you."
    async with served(kind, say(text)) as (server, provider):
        fragments = await collect(provider)
    assert text_of(fragments) == text
    assert len([fragment for fragment in fragments if isinstance(fragment, TextDelta)]) > 3
    assert fragments[-1] == Finished(stop_reason=StopReason.END_TURN)
    assert [received.violations for received in server.asked] == [[]]


async def test_tool_calls_come_whole_with_their_ids_in_order(kind: str) -> None:
    calls = (Call("call_a", "read_file", '{"path": "src/a.py"}'), Call("call_b", "list_files", "{}"))
    async with served(kind, Reply(parts=(Say("Let me see."), *calls))) as (_, provider):
        fragments = await collect(provider, with_tools(ask()))
    assert [fragment for fragment in fragments if isinstance(fragment, ToolUseEnd)] == [
        ToolUseEnd(id="call_a", name="read_file", input={"path": "src/a.py"}),
        ToolUseEnd(id="call_b", name="list_files", input={}),
    ]
    written = [f.text for f in fragments if isinstance(f, ToolInputDelta) and f.id == "call_a"]
    assert "".join(written) == calls[0].arguments
    assert ToolUseStart(id="call_b", name="list_files") in fragments
    assert fragments[-1] == Finished(stop_reason=StopReason.TOOL_USE)


async def test_input_that_is_not_json_is_given_as_a_fault_of_the_call(kind: str) -> None:
    async with served(kind, Reply(parts=(Call("call_a", "read_file", '{"path": '),))) as (_, provider):
        fragments = await collect(provider, with_tools(ask()))
    ended = next(fragment for fragment in fragments if isinstance(fragment, ToolUseEnd))
    assert ended.input == {}
    assert "not JSON" in ended.error


async def test_reasoning_is_distinguished_from_the_answer(kind: str) -> None:
    async with served(kind, Reply(parts=(Think("First the file, then the test."), Say("Done.")))) as (_, provider):
        fragments = await collect(provider)
    thought = "".join(fragment.text for fragment in fragments if isinstance(fragment, ThinkingDelta))
    assert thought == "First the file, then the test."
    assert text_of(fragments) == "Done."


async def test_signed_and_hidden_reasoning_goes_back_unchanged(kind: str) -> None:
    parts = (Think("Hm.", "c2ln"), Redacted("aGlkZGVu"), Call("call_a", "read_file", "{}"))
    async with served(kind, Reply(parts=parts), say("Read.")) as (server, provider):
        answer = PartialAnswer()
        for fragment in await collect(provider, with_tools(ask())):
            answer.add(fragment)
        told = Message(id="m2", role=Role.ASSISTANT, content=answer.content)
        result = ToolResultBlock(tool_use_id="call_a", content=(TextBlock(text="text"),))
        back = Message(id="m3", role=Role.USER, content=(result,))
        first = with_tools(ask())
        await collect(provider, replace(first, messages=(*first.messages, told, back)))
    assert [received.violations for received in server.asked] == [[], []]
    signed = [block for block in answer.content if isinstance(block, ThinkingBlock) and block.signature]
    if kind == "anthropic":
        assert [block["type"] for block in server.asked[1].body["messages"][1]["content"]] == [
            "thinking",
            "redacted_thinking",
            "tool_use",
        ]
        assert server.asked[1].body["messages"][1]["content"][0]["signature"] == "c2ln"
    else:
        assert not signed


async def test_the_account_has_the_whole_prompt_whatever_the_cache_did(kind: str) -> None:
    request = ask("word " * 2_000)
    more = Message(id="m2", role=Role.USER, content=(TextBlock(text="And now?"),))
    answered = Message(id="m3", role=Role.ASSISTANT, content=(TextBlock(text="Yes."),))
    async with served(kind, say("Yes."), Reply(parts=(Say("No."),), reasoning_tokens=9)) as (server, provider):
        first = account_of(await collect(provider, request))
        following = replace(request, messages=(*request.messages, answered, more))
        second = account_of(await collect(provider, following))
    assert [first.usage.prompt, second.usage.prompt] == [received.tokens for received in server.asked]
    assert second.usage.cache_read_input_tokens > 2_000
    assert second.usage.input_tokens < 100
    assert second.reasoning_tokens == 9
    assert second.usage.output_tokens > 9


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (say("Whole."), StopReason.END_TURN),
        (Reply(parts=(Say("Cut"),), stop=Stop.MAX_TOKENS), StopReason.MAX_TOKENS),
        (Reply(parts=(Say("I"),), stop=Stop.REFUSAL), StopReason.REFUSAL),
    ],
)
async def test_the_reason_for_stopping_is_read(kind: str, reply: Reply, expected: StopReason) -> None:
    async with served(kind, reply) as (_, provider):
        assert (await collect(provider))[-1] == Finished(stop_reason=expected)


async def test_the_text_of_a_model_that_declines_is_read(kind: str) -> None:
    async with served(kind, Reply(parts=(Refuse("I cannot help with that."),))) as (_, provider):
        fragments = await collect(provider)
    assert text_of(fragments) == "I cannot help with that."


async def test_refused_tools_stay_in_the_request_and_are_forbidden(kind: str) -> None:
    async with served(kind, say("A summary.")) as (server, provider):
        await collect(provider, replace(ask(), tools=(TOOL,), tools_refused=True, instructions="Sum up."))
    body = server.asked[0].body
    assert "read_file" in str(body["tools"])
    assert body["tool_choice"] in ("none", {"type": "none"})
    assert "Sum up." in str(body["messages"][-1] if "messages" in body else body["input"][-1])


async def test_a_prompt_is_counted_where_the_provider_counts(kind: str) -> None:
    async with served(kind, say("Yes.")) as (server, provider):
        counted = await provider.count_tokens(with_tools(ask()))
        await collect(provider, with_tools(ask()))
    assert counted == (server.asked[0].tokens if provider.capabilities("any").counts_tokens else None)


async def test_a_check_names_the_address_and_the_model(kind: str) -> None:
    async with served(kind, say("Yes.")) as (server, provider):
        line = await provider.check("test-model")
    assert f"127.0.0.1:{server.port}" in line
    assert "test-model" in line
