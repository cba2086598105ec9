"""For all messages, a request keeps its provider's rules, and is the same after reading and writing it again."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.histories import conversations, histories
from support.provider_rules import anthropic_violations, openai_violations, responses_violations
from ullage.agents.transcripts import read
from ullage.formats.provider import (
    Provider,
    read_messages,
    write_anthropic,
    write_openai,
    write_request,
    write_responses,
)
from ullage.model.events import MessageAppended
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock


def read_back(request: dict[str, Any], format_name: str) -> tuple[Message, ...]:
    transcript = read(json.dumps(request).encode(), "request", format_name)
    return tuple(event.message for event in transcript.events if isinstance(event, MessageAppended))


@given(histories())
def test_any_history_becomes_a_request_that_each_provider_accepts(messages: tuple[Message, ...]) -> None:
    assert anthropic_violations(write_anthropic(messages).messages) == []
    assert openai_violations(write_openai(messages).messages) == []
    assert responses_violations(write_responses(messages).input) == []


@given(histories(), st.sampled_from(Provider))
def test_a_programs_own_messages_come_back_as_they_were_handed_in(
    messages: tuple[Message, ...], provider: Provider
) -> None:
    key = "input" if provider is Provider.OPENAI_RESPONSES else "messages"
    written = write_request(provider, [message for message in messages if message.role is not Role.SYSTEM])[key]
    assert write_request(provider, read_messages(provider, written))[key] == written


@given(histories())
def test_a_request_read_and_written_again_is_the_same(messages: tuple[Message, ...]) -> None:
    written = write_anthropic(messages)
    if written.messages:
        request = {"system": written.system, "messages": written.messages}
        again = write_anthropic(read_back(request, "anthropic-messages"))
        assert (again.system, again.messages) == (written.system, written.messages)
    plain = write_openai(messages).messages
    if plain:
        assert write_openai(read_back({"messages": plain}, "openai-messages")).messages == plain


@given(histories())
def test_no_text_that_is_more_than_white_space_is_lost(messages: tuple[Message, ...]) -> None:
    request = write_anthropic(messages)
    sent = json.dumps([request.system, request.messages], ensure_ascii=False)
    for message in messages:
        for block in message.content:
            if isinstance(block, TextBlock) and block.text.strip():
                text = block.text.rstrip().replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
                assert json.dumps(text, ensure_ascii=False)[1:-1] in sent


@given(conversations())
def test_a_legal_conversation_keeps_its_calls_and_results_as_they_were(messages: tuple[Message, ...]) -> None:
    written = write_anthropic(messages)
    sent = [block for message in written.messages for block in message["content"]]
    blocks = [block for message in messages for block in message.content]
    assert [block["id"] for block in sent if block["type"] == "tool_use"] == [
        block.id for block in blocks if isinstance(block, ToolUseBlock)
    ]
    answered = [block["tool_use_id"] for block in sent if block["type"] == "tool_result"]
    made = [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]
    assert answered[: len(made)] == made


@given(conversations())
def test_a_legal_conversation_keeps_its_number_of_turns(messages: tuple[Message, ...]) -> None:
    spoken = [message for message in messages if message.role is not Role.SYSTEM]
    open_calls = any(isinstance(block, ToolUseBlock) for block in spoken[-1].content) if spoken else False
    assert len(write_anthropic(messages).messages) == len(spoken) + open_calls
