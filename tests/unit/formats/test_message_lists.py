from typing import Any

import pytest
from msgspec.structs import replace

from support.foreign import messages_of, read_value, reports_of, texts_of
from ullage.formats.parsing import convert_usage
from ullage.model.events import ToolsDeclared
from ullage.model.message import (
    ImageBlock,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.usage import Usage


def test_an_anthropic_request_brings_system_tools_and_model() -> None:
    schema = {"type": "object"}
    transcript = read_value(
        {
            "model": "claude-sonnet-4-5",
            "system": [{"type": "text", "text": "Be brief."}],
            "tools": [{"name": "Read", "description": "d", "input_schema": schema}],
            "messages": [
                {"role": "user", "content": "question"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True}]},
            ],
        }
    )
    assert (transcript.format, transcript.model) == ("anthropic-messages", "claude-sonnet-4-5")
    declared = [event for event in transcript.events if isinstance(event, ToolsDeclared)]
    assert declared == [ToolsDeclared(tools=(ToolDefinition(name="Read", description="d", input_schema=schema),))]
    messages = messages_of(transcript)
    assert [message.id for message in messages] == ["m0001", "m0002", "m0003", "m0004"]
    assert messages[0].role is Role.SYSTEM
    assert messages[3].content == (ToolResultBlock(tool_use_id="t", is_error=True),)


def test_every_kind_of_anthropic_block_is_kept() -> None:
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "enc"},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "document", "title": "notes", "source": {"type": "text", "media_type": "text/plain", "data": "n"}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}, {"type": "new"}]},
    ]
    (message,) = messages_of(read_value([{"role": "user", "content": content}]))
    thinking, redacted, image, document, result = message.content
    assert thinking == ThinkingBlock(thinking="hm", signature="sig")
    assert redacted == ThinkingBlock(thinking="", redacted="enc")
    assert image == ImageBlock(url="https://x/y.png")
    assert replace(document, provided=None) == ResourceBlock(uri="notes", text="n", mime_type="text/plain")
    assert isinstance(result, ToolResultBlock)
    assert [replace(part, provided=None) for part in result.content] == [
        TextBlock(text="r"),
        TextBlock(text='{"type": "new"}'),
    ]


def test_openai_roles_calls_and_parts_are_converted() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}
    arguments = '{"path": "a"}'
    transcript = read_value(
        {
            "model": "gpt-4o",
            "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "read", "arguments": arguments}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c", "content": "out"},
                {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "not json"}},
                {"role": "function", "name": "old", "content": "out"},
            ],
        }
    )
    system, user, answer, result, legacy, legacy_result = messages_of(transcript)
    assert system.role is Role.SYSTEM
    assert user.content[1] == ImageBlock(media_type="image/jpeg", data="AAAA")
    assert answer.content == (ToolUseBlock(id="c", name="read", input={"path": "a"}),)
    assert result.content == (ToolResultBlock(tool_use_id="c", content=(TextBlock(text="out"),)),)
    (call,) = legacy.content
    assert replace(call, provided=None) == ToolUseBlock(id="function_old", name="old", input={"arguments": "not json"})
    (result,) = legacy_result.content
    assert replace(result, provided=None) == ToolResultBlock(
        tool_use_id="function_old", content=(TextBlock(text="out"),)
    )


def test_items_of_the_responses_api_are_grouped_into_messages() -> None:
    transcript = read_value(
        {
            "model": "gpt-5",
            "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "read", "parameters": {}}],
            "input": [
                {"role": "user", "content": "question"},
                {"type": "reasoning", "summary": []},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
                {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
                {"type": "function_call", "call_id": "c2", "name": "read", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "1"},
                {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "2"}]},
            ],
        }
    )
    messages = messages_of(transcript)
    assert texts_of(messages) == ["system: Be brief.", "user: question", "assistant: I look.", "user: "]
    assert [block.id for block in messages[2].content if isinstance(block, ToolUseBlock)] == ["c1", "c2"]
    assert len(messages[3].content) == 2


def test_a_message_of_unknown_role_is_named_not_dropped() -> None:
    transcript = read_value([{"role": "user", "content": "a"}, {"role": "ghost", "content": "b"}], "openai-messages")
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(2, False)]


def test_a_litellm_log_adds_the_answer_and_its_account() -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 80}}
    answer = {"message": {"role": "assistant", "content": "answer"}}
    transcript = read_value(
        {
            "messages": [{"role": "user", "content": "question"}],
            "timestamp": 1757015068.5,
            "response": {"model": "m", "choices": [answer], "usage": usage},
        }
    )
    assert transcript.format == "litellm-log"
    assert texts_of(messages_of(transcript)) == ["user: question", "assistant: answer"]
    assert messages_of(transcript)[1].timestamp == 1757015068500
    (report,) = reports_of(transcript)
    assert (report.usage.input_tokens, report.usage.cache_read_input_tokens) == (10, 80)


# Provider usage


ACCOUNTS: list[tuple[dict[str, Any], Usage]] = [
    (
        {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20},
        Usage(input_tokens=5, output_tokens=2, cache_read_input_tokens=70, cache_creation_input_tokens=20),
    ),
    (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 80}},
        Usage(input_tokens=20, output_tokens=9, cache_read_input_tokens=80),
    ),
    (
        {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": None, "cache_read_input_tokens": 30},
        Usage(input_tokens=70, output_tokens=9, cache_read_input_tokens=30),
    ),
    (
        {"input_tokens": 100, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 64}},
        Usage(input_tokens=36, output_tokens=9, cache_read_input_tokens=64),
    ),
    (
        {"input_tokens": 100, "output_tokens": 9, "cached_input_tokens": 64},
        Usage(input_tokens=36, output_tokens=9, cache_read_input_tokens=64),
    ),
    (
        {"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}},
        Usage(input_tokens=5, output_tokens=9, reasoning_tokens=7),
    ),
    (
        {
            "input_tokens": 5,
            "output_tokens": 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 7},
        },
        Usage(input_tokens=5, output_tokens=9, reasoning_tokens=7),
    ),
    (
        {"input_tokens": 5, "output_tokens": 9, "cached_input_tokens": 0, "reasoning_output_tokens": 11},
        Usage(input_tokens=5, output_tokens=9, reasoning_tokens=9),
    ),
    ({}, Usage()),
    ({"prompt_tokens": "many", "completion_tokens": -1, "prompt_tokens_details": 3}, Usage()),
    ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}}, Usage(cache_read_input_tokens=10)),
]


@pytest.mark.parametrize(("raw", "usage"), ACCOUNTS)
def test_a_usage_is_recognised_by_its_fields(raw: dict[str, Any], usage: Usage) -> None:
    assert convert_usage(raw) == usage
