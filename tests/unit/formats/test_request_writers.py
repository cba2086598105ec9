"""How the writers convert particular messages. A property test checks that the result is always legal."""

from typing import Any

import pytest

from support.provider_rules import anthropic_violations, openai_violations
from ullage.formats.provider import write_anthropic, write_openai, write_responses
from ullage.formats.transcripts.chat import read_arguments
from ullage.formats.turns import NO_BEGINNING, NO_RESULT
from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    render_marker,
)

PICTURE = ImageBlock(data="AAAA")


def user(*content: Block) -> Message:
    return Message(id="u", role=Role.USER, content=content)


def assistant(*content: Block) -> Message:
    return Message(id="a", role=Role.ASSISTANT, content=content)


def system(text: str) -> Message:
    return Message(id="s", role=Role.SYSTEM, content=(TextBlock(text=text),))


def say(text: str) -> TextBlock:
    return TextBlock(text=text)


def call(call_id: str) -> ToolUseBlock:
    return ToolUseBlock(id=call_id, name="Read", input={"path": call_id})


def result(call_id: str, *content: TextBlock | ImageBlock) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=call_id, content=content or (say(f"result of {call_id}"),))


def outline(messages: list[dict[str, Any]]) -> list[str]:
    return [f"{message['role']}: {' '.join(block['type'] for block in message['content'])}" for message in messages]


def test_system_messages_anywhere_become_the_system_prompt() -> None:
    messages = [system("one"), user(say("a")), system("two")]
    assert write_anthropic(messages).system == "one\n\ntwo"
    assert write_openai(messages).messages[0] == {"role": "system", "content": "one\n\ntwo"}


def test_a_result_that_comes_late_moves_to_its_call() -> None:
    messages = [user(say("a")), assistant(call("t")), user(say("b")), assistant(say("c")), user(result("t"))]
    written = write_anthropic(messages).messages
    assert outline(written) == ["user: text", "assistant: tool_use", "user: tool_result text", "assistant: text"]


def test_a_call_without_result_is_answered_by_a_stated_placeholder() -> None:
    written = write_anthropic([user(say("a")), assistant(call("t"))]).messages
    (answer,) = written[-1]["content"]
    assert answer["is_error"] is True
    assert answer["content"] == [{"type": "text", "text": NO_RESULT}]
    assert write_openai([user(say("a")), assistant(call("t"))]).messages[-1]["content"] == NO_RESULT


def test_a_result_without_call_becomes_text_with_its_pictures() -> None:
    written = write_anthropic([user(result("gone", say("out"), PICTURE))]).messages
    assert outline(written) == ["user: text text image"]
    assert "gone" in written[0]["content"][0]["text"]


def test_of_two_results_for_one_call_the_second_becomes_text() -> None:
    written = write_anthropic([user(say("a")), assistant(call("t")), user(result("t"), result("t"))]).messages
    assert outline(written)[-1] == "user: tool_result text text"


def test_calls_that_share_an_id_get_their_own_and_keep_their_results() -> None:
    messages = [
        user(say("a")),
        assistant(call("t")),
        user(result("t", say("1"))),
        assistant(call("t")),
        user(result("t", say("2"))),
    ]
    written = write_openai(messages).messages
    assert [message["tool_calls"][0]["id"] for message in written if message["role"] == "assistant"] == ["t", "t_2"]
    results = [(message["tool_call_id"], message["content"]) for message in written if message["role"] == "tool"]
    assert results == [("t", "1"), ("t_2", "2")]


def test_a_conversation_that_begins_with_an_answer_is_given_a_beginning() -> None:
    written = write_anthropic([assistant(say("a"))]).messages
    assert written[0] == {"role": "user", "content": [{"type": "text", "text": NO_BEGINNING}]}


def test_a_marker_is_sent_as_the_users_text() -> None:
    marker = CompactionBlock(
        compaction_number=1, timestamp=0, summary="So far.", messages_archived=3, context_size_before=9
    )
    written = write_anthropic([user(marker), user(say("go on"))]).messages
    assert written[0]["content"] == [
        {"type": "text", "text": render_marker(marker)},
        {"type": "text", "text": "go on"},
    ]


def test_only_signed_thinking_is_sent_and_never_at_the_end() -> None:
    signed = ThinkingBlock(thinking="hm", signature="sig")
    unsigned = ThinkingBlock(thinking="hm")
    messages = [user(say("a")), assistant(signed, unsigned, say("b")), user(say("c")), assistant(say("d"), signed)]
    written = write_anthropic(messages).messages
    assert outline(written) == ["user: text", "assistant: thinking text", "user: text", "assistant: text"]
    assert [message["content"] for message in write_openai(messages).messages] == ["a", "b", "c", "d"]


def test_openai_gets_a_results_pictures_from_the_user() -> None:
    messages = [user(say("a")), assistant(call("t")), user(result("t", say("out"), PICTURE))]
    tool, picture = write_openai(messages).messages[-2:]
    assert (tool["role"], tool["content"]) == ("tool", "out")
    assert (picture["role"], [part["type"] for part in picture["content"]]) == ("user", ["text", "image_url"])
    assert picture["content"][1]["image_url"]["url"] == "data:image/png;base64,AAAA"


def test_white_space_at_the_very_end_is_stripped_and_blank_messages_go() -> None:
    written = write_anthropic([user(say("a")), user(say(" \n")), assistant(say("b \n"))]).messages
    assert [message["content"][0]["text"] for message in written] == ["a", "b"]


def test_tools_are_declared_in_each_providers_shape() -> None:
    tool = ToolDefinition(name="read file", description="d", input_schema={"properties": {}})
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    assert write_anthropic([], [tool]).tools == [{"name": "read_file", "description": "d", "input_schema": schema}]
    function: dict[str, Any] = {"name": "read_file", "description": "d", "parameters": schema}
    assert write_openai([], [tool]).tools == [{"type": "function", "function": function}]


def test_no_messages_make_no_turns() -> None:
    assert write_anthropic([]).messages == []
    assert write_openai([]).messages == []


def test_arguments_that_a_model_has_broken_off_are_sent_as_it_wrote_them_and_others_as_json() -> None:
    for said, sent in (
        ('{"path": "a.p', '{"path": "a.p'),
        ("{broken", "{broken"),
        ('{"path": "a.py"}', '{"path": "a.py"}'),
        # A tool may have a parameter of that name.
        ('{"arguments": "ls -l"}', '{"arguments": "ls -l"}'),
        ('{"arguments": "{}"}', '{"arguments": "{}"}'),
        ("*** Begin Patch", '{"arguments": "*** Begin Patch"}'),
        ("", "{}"),
    ):
        call = ToolUseBlock(id="c1", name="Read", input=read_arguments(said))
        view = [user(say("Read it.")), assistant(call), user(result("c1"))]
        (function,) = [item for item in write_responses(view).input if item["type"] == "function_call"]
        (message,) = [message for message in write_openai(view).messages if "tool_calls" in message]
        assert function["arguments"] == message["tool_calls"][0]["function"]["arguments"] == sent


# The checker of the providers' rules finds each kind of fault


Json = dict[str, Any]


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def use(call_id: str) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {}}


def answer(call_id: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id}


def user_turn(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


ILLEGAL_FOR_ANTHROPIC: list[tuple[str, list[Json]]] = [
    ("role", [model(text("a"))]),
    ("empty", [user_turn()]),
    ("empty text", [user_turn(text(" \n"))]),
    ("not answered", [user_turn(text("a")), model(use("t"))]),
    ("do not answer", [user_turn(text("a")), model(use("t")), user_turn(text("b"))]),
    ("do not answer", [user_turn(answer("t"))]),
    ("come first", [user_turn(text("a")), model(use("t")), user_turn(text("b"), answer("t"))]),
    (
        "used twice",
        [user_turn(text("a")), model(use("t"), use("t")), user_turn(answer("t"), answer("t"))],
    ),
    ("illegal id", [user_turn(text("a")), model(use("t t")), user_turn(answer("t t"))]),
    ("without signature", [user_turn(text("a")), model({"type": "thinking", "thinking": "b"}, text("c"))]),
    ("ends in thinking", [user_turn(text("a")), model({"type": "redacted_thinking", "data": "b"})]),
    ("white space", [user_turn(text("a")), model(text("b "))]),
    ("tool_use block in a user", [user_turn(use("t"))]),
    (
        "media type",
        [user_turn({"type": "image", "source": {"type": "base64", "media_type": "a/b", "data": "c"}})],
    ),
    ("JSON", [user_turn(text("\ud800"))]),
]


@pytest.mark.parametrize(("what", "messages"), ILLEGAL_FOR_ANTHROPIC)
def test_what_anthropic_refuses_is_found(what: str, messages: list[Json]) -> None:
    assert any(what in violation for violation in anthropic_violations(messages))


def test_neighbours_of_one_role_are_read_as_one_message() -> None:
    assert (
        anthropic_violations(
            [
                user_turn(text("a")),
                model(use("t")),
                user_turn(answer("t")),
                user_turn(text("b")),
            ]
        )
        == []
    )


def test_a_legal_anthropic_conversation_has_no_violation() -> None:
    thinking = {"type": "thinking", "thinking": "b", "signature": "c"}
    messages = [
        user_turn(text("a")),
        model(thinking, use("t")),
        user_turn(answer("t"), text("b")),
        model(text("c")),
    ]
    assert anthropic_violations(messages) == []


def call_turn(call_id: str, arguments: Any = "{}") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "read", "arguments": arguments}}


USER: Json = {"role": "user", "content": "a"}
CALLING: Json = {"role": "assistant", "content": None, "tool_calls": [call_turn("t")]}
RESULT: Json = {"role": "tool", "tool_call_id": "t", "content": "b"}
ILLEGAL_FOR_OPENAI: list[tuple[str, list[Json]]] = [
    ("not answered", [USER, CALLING]),
    ("not answered", [USER, CALLING, USER]),
    ("does not follow", [USER, RESULT]),
    ("does not follow", [USER, CALLING, RESULT, RESULT]),
    ("not first", [USER, {"role": "system", "content": "a"}]),
    ("unknown role", [{"role": "ghost", "content": "a"}]),
    ("arguments", [USER, {**CALLING, "tool_calls": [call_turn("t", {})]}, RESULT]),
    ("says nothing", [USER, {"role": "assistant", "content": None}]),
    (
        "too long",
        [USER, {**CALLING, "tool_calls": [call_turn("t" * 41)]}, {**RESULT, "tool_call_id": "t" * 41}],
    ),
]


@pytest.mark.parametrize(("what", "messages"), ILLEGAL_FOR_OPENAI)
def test_what_openai_refuses_is_found(what: str, messages: list[Json]) -> None:
    assert any(what in violation for violation in openai_violations(messages))


def test_a_legal_openai_conversation_has_no_violation() -> None:
    assert openai_violations([USER, CALLING, RESULT, {"role": "assistant", "content": "c"}]) == []
