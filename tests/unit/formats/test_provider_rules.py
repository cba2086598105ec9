"""The checker of the providers' rules finds each kind of fault."""

from typing import Any

import pytest

from support.provider_rules import anthropic_violations, openai_violations

Json = dict[str, Any]


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def use(call_id: str) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {}}


def answer(call_id: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


ILLEGAL_FOR_ANTHROPIC: list[tuple[str, list[Json]]] = [
    ("role", [model(text("a"))]),
    ("empty", [user()]),
    ("empty text", [user(text(" \n"))]),
    ("not answered", [user(text("a")), model(use("t"))]),
    ("do not answer", [user(text("a")), model(use("t")), user(text("b"))]),
    ("do not answer", [user(answer("t"))]),
    ("come first", [user(text("a")), model(use("t")), user(text("b"), answer("t"))]),
    ("used twice", [user(text("a")), model(use("t"), use("t")), user(answer("t"), answer("t"))]),
    ("illegal id", [user(text("a")), model(use("t t")), user(answer("t t"))]),
    ("without signature", [user(text("a")), model({"type": "thinking", "thinking": "b"}, text("c"))]),
    ("ends in thinking", [user(text("a")), model({"type": "redacted_thinking", "data": "b"})]),
    ("white space", [user(text("a")), model(text("b "))]),
    ("tool_use block in a user", [user(use("t"))]),
    ("media type", [user({"type": "image", "source": {"type": "base64", "media_type": "a/b", "data": "c"}})]),
    ("JSON", [user(text("\ud800"))]),
]


@pytest.mark.parametrize(("what", "messages"), ILLEGAL_FOR_ANTHROPIC)
def test_what_anthropic_refuses_is_found(what: str, messages: list[Json]) -> None:
    assert any(what in violation for violation in anthropic_violations(messages))


def test_neighbours_of_one_role_are_read_as_one_message() -> None:
    assert anthropic_violations([user(text("a")), model(use("t")), user(answer("t")), user(text("b"))]) == []


def test_a_legal_anthropic_conversation_has_no_violation() -> None:
    thinking = {"type": "thinking", "thinking": "b", "signature": "c"}
    messages = [user(text("a")), model(thinking, use("t")), user(answer("t"), text("b")), model(text("c"))]
    assert anthropic_violations(messages) == []


def call(call_id: str, arguments: Any = "{}") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "read", "arguments": arguments}}


USER: Json = {"role": "user", "content": "a"}
CALLING: Json = {"role": "assistant", "content": None, "tool_calls": [call("t")]}
RESULT: Json = {"role": "tool", "tool_call_id": "t", "content": "b"}
ILLEGAL_FOR_OPENAI: list[tuple[str, list[Json]]] = [
    ("not answered", [USER, CALLING]),
    ("not answered", [USER, CALLING, USER]),
    ("does not follow", [USER, RESULT]),
    ("does not follow", [USER, CALLING, RESULT, RESULT]),
    ("not first", [USER, {"role": "system", "content": "a"}]),
    ("unknown role", [{"role": "ghost", "content": "a"}]),
    ("arguments", [USER, {**CALLING, "tool_calls": [call("t", {})]}, RESULT]),
    ("says nothing", [USER, {"role": "assistant", "content": None}]),
    ("too long", [USER, {**CALLING, "tool_calls": [call("t" * 41)]}, {**RESULT, "tool_call_id": "t" * 41}]),
]


@pytest.mark.parametrize(("what", "messages"), ILLEGAL_FOR_OPENAI)
def test_what_openai_refuses_is_found(what: str, messages: list[Json]) -> None:
    assert any(what in violation for violation in openai_violations(messages))


def test_a_legal_openai_conversation_has_no_violation() -> None:
    assert openai_violations([USER, CALLING, RESULT, {"role": "assistant", "content": "c"}]) == []
