"""Conversations written in a line or two each."""

from collections.abc import Sequence
from typing import Any

from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock


def user(text: str) -> Message:
    return Message(id=f"user-{text[:20]}", role=Role.USER, content=(TextBlock(text=text),))


def agent(text: str) -> Message:
    return Message(id=f"agent-{text[:20]}", role=Role.ASSISTANT, content=(TextBlock(text=text),))


def call(
    name: str, arguments: dict[str, Any], result: str = "", *, is_error: bool = False, call_id: str = "call-1"
) -> tuple[Message, Message]:
    """Returns a tool call and the message with its result."""
    return (
        Message(
            id=f"use-{call_id}",
            role=Role.ASSISTANT,
            content=(ToolUseBlock(id=call_id, name=name, input=arguments),),
        ),
        Message(
            id=f"result-{call_id}",
            role=Role.USER,
            content=(ToolResultBlock(tool_use_id=call_id, content=(TextBlock(text=result),), is_error=is_error),),
        ),
    )


def bash(command: str, result: str = "", *, is_error: bool = False, call_id: str = "") -> tuple[Message, Message]:
    return call("Bash", {"command": command}, result, is_error=is_error, call_id=call_id or f"bash-{command}")


def places(messages: Sequence[Message], start: int = 0) -> tuple[int, ...]:
    """Returns the positions of messages that follow each other from `start` on."""
    return tuple(range(start, start + len(messages)))
