"""Sessions of Hermes Agent."""

from support.foreign import messages_of, read_value, texts_of
from ullage.model.blocks import ThinkingBlock, ToolResultBlock
from ullage.model.events import ToolsDeclared

CALL = {"id": "c", "type": "function", "function": {"name": "shell", "arguments": '{"command": "pwd"}'}}
SESSION = {
    "session_id": "s",
    "platform": "cli",
    "session_start": "2026-04-29T20:05:00",
    "model": "some-model",
    "cwd": "/home/dev/shop",
    "system_prompt": "Be brief.",
    "tools": [
        {"name": "shell", "description": "Runs", "function": {"name": "shell"}, "input_schema": {"type": "object"}}
    ],
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [CALL]},
        {"role": "tool", "content": "out", "tool_call_id": "c", "tool_name": "shell"},
        {"role": "session_meta"},
        {"role": "oracle", "content": "?"},
    ],
}


def test_a_session_is_read_with_its_prompt_and_its_tools() -> None:
    transcript = read_value(SESSION)
    assert texts_of(messages_of(transcript)) == ["system: Be brief.", "user: go", "assistant: I look.", "user: "]
    assert messages_of(transcript)[2].content[0] == ThinkingBlock(thinking="hm")
    assert isinstance(messages_of(transcript)[3].content[0], ToolResultBlock)
    (declared,) = [event for event in transcript.events if isinstance(event, ToolsDeclared)]
    assert [(tool.name, tool.description, tool.input_schema) for tool in declared.tools] == [
        ("shell", "Runs", {"type": "object"})
    ]
    facts = (transcript.format, transcript.agent, transcript.model, transcript.cwd, transcript.session_id)
    assert facts == ("hermes", "Hermes", "some-model", "/home/dev/shop", "s")
    assert [part.reason for part in transcript.skipped if not part.expected] == ["message of role 'oracle'"]
