"""A recorded conversation, ready for a replay by a provider and a user: prompts, answers, and tool results."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from support.transcripts import recorded
from support.wire.replies import Call, Part, Reply, Say, Think
from support.workspace import NoTools
from ullage.model.events import MessageAppended
from ullage.model.message import (
    Block,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.service.ports.models import ToolOutcome

GO_ON = "Go on."


class Recording(Struct, frozen=True, kw_only=True):
    """`prompts[i]` is the user's text before answer `i`, or empty. `results` are by the call's id."""

    system: str
    prompts: tuple[str, ...]
    answers: tuple[Reply, ...]
    results: Mapping[str, ToolOutcome]

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that the recording calls."""
        calls = (part for answer in self.answers for part in answer.parts if isinstance(part, Call))
        names = dict.fromkeys(call.name for call in calls)
        return tuple(ToolDefinition(name=name, description=f"The recorded {name}.") for name in names)


def read_recording(path: Path, answers: int | None = None) -> Recording:
    """Reads the first `answers` answers of a recorded conversation, or all. Assistant messages in a row become one."""
    system: list[str] = []
    prompts: list[str] = []
    said: list[list[Part]] = []
    results: dict[str, ToolOutcome] = {}
    waiting: list[str] = []
    last = Role.USER
    for event in recorded(path).events:
        if not isinstance(event, MessageAppended) or event.message.compaction:
            continue
        message = event.message
        if message.role is Role.SYSTEM:
            system.append(message.text)
        elif message.role is Role.USER:
            waiting += [message.text] if message.text.strip() else []
            results |= _results(message)
        elif parts := [part for block in message.content for part in _parts(block)]:
            if last is Role.ASSISTANT and said:
                said[-1] += parts
            else:
                prompts.append("\n".join(waiting))
                said.append(parts)
                waiting.clear()
        last = message.role
    replies = tuple(Reply(parts=tuple(parts)) for parts in said)
    return Recording(
        system="\n\n".join(system), prompts=tuple(prompts[:answers]), answers=replies[:answers], results=results
    )


class RecordedTools(NoTools):
    """Tools that return the recorded results."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return self._recording.tools

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        return self._recording.results.get(use.id, ToolOutcome(text="", is_error=True))


def _parts(block: Block) -> list[Part]:
    match block:
        case TextBlock(text=text) if text.strip():
            return [Say(text)]
        case ThinkingBlock(thinking=text) if text.strip():
            return [Think(text)]
        case ToolUseBlock():
            return [Call(block.id, block.name, msgspec.json.encode(block.input).decode())]
        case _:
            return []


def _results(message: Message) -> dict[str, ToolOutcome]:
    blocks = (block for block in message.content if isinstance(block, ToolResultBlock))
    return {
        block.tool_use_id: ToolOutcome(
            text="\n".join(part.text for part in block.content if isinstance(part, TextBlock)),
            is_error=block.is_error,
        )
        for block in blocks
    }
