"""Tools for models without tool calls: the instructions they get, and the calls read from their text."""

from msgspec.structs import replace

from support.wire.clients import ask, collect, served
from support.wire.replies import Reply, Say, say
from ullage.formats.tool_calls import CallsInText, XmlTags
from ullage.model.answer import Finished, ModelRequest, StopReason, TextDelta, ToolUseEnd
from ullage.model.message import Message, Role, TextBlock, ToolDefinition, ToolResultBlock, ToolUseBlock
from ullage.providers.tools_in_text import ToolsInText, as_text

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
TOOL = ToolDefinition(name="read_file", description="Reads a file.", input_schema=SCHEMA)


def with_tools(request: ModelRequest) -> ModelRequest:
    return replace(request, tools=(TOOL,))


async def test_a_call_in_the_text_is_a_call() -> None:
    text = "Let me look.\n<read_file><path>src/a.py</path><limit>20</limit></read_file>"
    async with served("openai_chat", say(text)) as (server, provider):
        fragments = await collect(ToolsInText(provider), with_tools(ask()))
    ended = [fragment for fragment in fragments if isinstance(fragment, ToolUseEnd)]
    assert [(call.name, call.input) for call in ended] == [("read_file", {"path": "src/a.py", "limit": 20})]
    assert fragments[-1] == Finished(stop_reason=StopReason.TOOL_USE)
    said = "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta))
    assert said.strip() == "Let me look."
    body = server.asked[0].body
    assert "tools" not in body
    assert body["messages"][0]["role"] == "system"
    assert "<read_file><path>" in body["messages"][0]["content"]


async def test_a_model_may_call_between_fences_of_carets() -> None:
    text = "Let me look.\n^^^read_file\npath: src/a.py\nlimit: 20\n^^^\n"
    earlier = Message(
        id="m2",
        role=Role.ASSISTANT,
        content=(ToolUseBlock(id="c1", name="read_file", input={"path": "b.py", "limit": 3}),),
    )
    request = with_tools(ask())
    request = replace(request, messages=(*request.messages, earlier, *request.messages))
    async with served("openai_chat", say(text)) as (server, provider):
        fragments = await collect(ToolsInText(provider, "caret"), request)
    ended = [fragment for fragment in fragments if isinstance(fragment, ToolUseEnd)]
    assert [(call.name, call.input) for call in ended] == [("read_file", {"path": "src/a.py", "limit": 20})]
    sent = server.asked[0].body["messages"]
    assert "^^^read_file\npath: …\nlimit: …\n^^^" in sent[0]["content"]
    assert {"role": "assistant", "content": "^^^read_file\npath: b.py\nlimit: 3\n^^^"} in sent


async def test_text_without_a_call_ends_as_the_model_ended_it() -> None:
    async with served("openai_chat", say("If a < b, then <b> is bold.")) as (_, provider):
        fragments = await collect(ToolsInText(provider), with_tools(ask()))
    assert fragments[-1] == Finished(stop_reason=StopReason.END_TURN)
    said = "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta))
    assert said == "If a < b, then <b> is bold."


async def test_calls_that_are_forbidden_stay_text() -> None:
    text = "<read_file><path>a</path></read_file>"
    async with served("openai_chat", Reply(parts=(Say(text),))) as (_, provider):
        fragments = await collect(ToolsInText(provider), replace(with_tools(ask()), tools_refused=True))
    assert not any(isinstance(fragment, ToolUseEnd) for fragment in fragments)


async def test_earlier_calls_and_results_are_sent_as_text() -> None:
    use = ToolUseBlock(id="call_1_1", name="read_file", input={"path": "a.py"})
    result = ToolResultBlock(tool_use_id="call_1_1", content=(TextBlock(text="x = 1"),))
    failed = ToolResultBlock(tool_use_id="call_1_1", content=(TextBlock(text="not there"),), is_error=True)
    request = with_tools(ask())
    messages = (
        *request.messages,
        Message(id="m2", role=Role.ASSISTANT, content=(use,)),
        Message(id="m3", role=Role.USER, content=(result, failed)),
    )
    async with served("openai_chat", say("It is one.")) as (server, provider):
        await collect(ToolsInText(provider), replace(request, messages=messages))
    received = server.asked[0]
    assert received.violations == []
    sent = received.body["messages"]
    assert sent[2] == {"role": "assistant", "content": "<read_file><path>a.py</path></read_file>"}
    assert "[Result of read_file]\nx = 1" in str(sent[3]["content"]).replace("\\n", "\n")
    assert "[Error of read_file]" in str(sent[3]["content"])


async def test_ids_of_calls_stay_apart_as_the_conversation_grows() -> None:
    text = "<read_file><path>a</path></read_file>"
    async with served("openai_chat", say(text)) as (_, provider):
        tools = ToolsInText(provider)
        request = with_tools(ask())
        first = await collect(tools, request)
        second = await collect(tools, replace(request, messages=request.messages * 3))
    ids = [fragment.id for fragment in (*first, *second) if isinstance(fragment, ToolUseEnd)]
    assert len(ids) == len(set(ids)) == 2


def test_the_request_without_tools_is_the_same_but_for_their_calls() -> None:
    assert as_text(ask(), XmlTags()) == ask()


def test_what_is_written_is_read_back() -> None:
    given = {"path": "a.py", "limit": 3, "text": "\nfirst\n\n  second\n", "list": [1, "two"], "none": None}
    types = {"limit": "integer", "list": "array", "none": "null"}
    schema = {"properties": {name: {"type": types.get(name, "string")} for name in given}}
    tool = ToolDefinition(name="write", description="", input_schema=schema)
    calls = CallsInText(XmlTags(), [tool], "c")
    written = XmlTags().write(ToolUseBlock(id="c1", name="write", input=given))
    fragments = [*calls.feed(written), *calls.end()]
    assert fragments[-1] == ToolUseEnd(id="c1", name="write", input=given)
