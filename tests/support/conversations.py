"""Conversations written in a line or two each, the calls in them, and the block of a compaction that is made of
them."""

from collections.abc import Sequence
from typing import Any

from support.counting import LengthCounter
from ullage.agents.calls import ToolCall, fenced_call, joined_call
from ullage.agents.results import fenced_command
from ullage.model.message import Block, CompactionBlock, Message, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.summary.composition import compose
from ullage.summary.summary_request import SummaryRequest


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


class Talk:
    """A conversation that grows by what the user types, what the agent says, and what its calls do."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def user(self, text: str) -> "Talk":
        return self._add(Role.USER, TextBlock(text=text))

    def agent(self, text: str) -> "Talk":
        return self._add(Role.ASSISTANT, TextBlock(text=text))

    def call(self, name: str, given: dict[str, Any], result: str = "ok", *, failed: bool = False) -> "Talk":
        """Adds a call and, as the next message, its result."""
        call = f"call{len(self.messages)}"
        self._add(Role.ASSISTANT, ToolUseBlock(id=call, name=name, input=given))
        return self._add(
            Role.USER, ToolResultBlock(tool_use_id=call, content=(TextBlock(text=result),), is_error=failed)
        )

    def shell(self, command: str, result: str = "", *, failed: bool = False) -> "Talk":
        return self.call("Bash", {"command": command}, result, failed=failed)

    def edit(self, path: str, old: str, new: str) -> "Talk":
        return self.call(
            "Edit", {"file_path": path, "old_string": old, "new_string": new}, f"The file {path} was updated."
        )

    def write(self, path: str, text: str) -> "Talk":
        return self.call("Write", {"file_path": path, "content": text}, f"File created successfully at: {path}")

    def read(self, path: str, text: str = "x = 1") -> "Talk":
        return self.call("Read", {"file_path": path}, text)

    def _add(self, role: Role, block: Block) -> "Talk":
        self.messages.append(Message(id=f"m{len(self.messages)}", role=role, content=(block,)))
        return self


def tool_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Returns the calls, with the indices of their messages."""
    blocks = [(index, block) for index, message in enumerate(messages) for block in message.content]
    results = {block.tool_use_id: (block, index) for index, block in blocks if isinstance(block, ToolResultBlock)}
    native = [
        joined_call(block, index, *results.get(block.id, (None, -1)))
        for index, block in blocks
        if isinstance(block, ToolUseBlock)
    ]
    commands = [(index, fenced_command(messages, index)) for index in range(len(messages))]
    return native + [fenced_call(one, index, messages[index + 1].text) for index, one in commands if one]


def compacted(
    messages: tuple[Message, ...], max_tokens: int = 4000, previous: CompactionBlock | None = None, focus: str = ""
) -> CompactionBlock:
    """Returns the block that replaces all of `messages`."""
    request = SummaryRequest(
        messages=messages, indices=places(messages), max_tokens=max_tokens, previous=previous, focus=focus
    )
    composition = compose(request, LengthCounter())
    return CompactionBlock(
        compaction_number=previous.compaction_number + 1 if previous else 1,
        timestamp=0,
        summary=composition.summary,
        messages_archived=len(messages),
        context_size_before=0,
        ledger=composition.ledger,
    )
