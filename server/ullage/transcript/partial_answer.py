"""An answer while it is being streamed: the fragments so far, as content blocks of the message to come."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from ullage.model.answer import (
    CompactionSealed,
    Finished,
    Fragment,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseEnd,
    ToolUseResult,
    ToolUsesCleared,
    ToolUseStart,
    UsageDelta,
)
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.usage import Usage


class PartialAnswer:
    """Collects the fragments of one answer while it is streamed. At any time `content` has the blocks that can be
    stored.

    A tool call is part of `content` once it is complete. `faults` maps the id of a call whose input could not be parsed
    to the reason. `results` maps the id of a call that need not be run to its recorded result. `cleared_tool_uses`
    counts the old tool uses that the provider itself cleared before the model read the request. `usage` and
    `stop_reason` are None until they come.
    """

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._faults: dict[str, str] = {}
        self.results: dict[str, ToolResultBlock] = {}
        self.usage: Usage | None = None
        self.cleared_tool_uses = 0
        self.stop_reason: StopReason | None = None

    @property
    def content(self) -> tuple[Block, ...]:
        """The content blocks so far, with the text that is still being written. Unfinished thinking and tool calls are
        left out."""
        text = "".join(self._text)
        return (*self._done, TextBlock(text=text)) if text.strip() else tuple(self._done)

    @property
    def tool_uses(self) -> Iterator[ToolUseBlock]:
        """The complete tool calls, in order."""
        return (block for block in self._done if isinstance(block, ToolUseBlock))

    @property
    def faults(self) -> Mapping[str, str]:
        """The tool calls whose input could not be parsed: maps the call's id to the reason."""
        return MappingProxyType(self._faults)

    def add(self, fragment: Fragment) -> None:
        """Adds the next fragment. Fragments must come in the order in which the provider streamed them."""
        match fragment:
            case TextDelta(text=text):
                self._end_thinking()
                self._text.append(text)
            case ThinkingDelta():
                self._think(fragment)
            case ToolUseStart():
                self._end_thinking()
                self._end_text()
            case ToolInputDelta() | CompactionSealed():
                pass
            case ToolUseEnd():
                self._call(fragment)
            case ToolUseResult(result=result):
                self.results[result.tool_use_id] = result
            case UsageDelta(usage=usage, reasoning_tokens=reasoning):
                self.usage = replace(usage, reasoning_tokens=reasoning) if reasoning else usage
            case ToolUsesCleared(cleared_tool_uses=count):
                self.cleared_tool_uses = count
            case Finished(stop_reason=reason):
                self._end_thinking()
                self._end_text()
                self.stop_reason = reason

    def _think(self, fragment: ThinkingDelta) -> None:
        self._end_text()
        self._thinking.append(fragment.text)
        if fragment.signature is not None or fragment.redacted is not None:
            self._end_thinking(fragment.signature, fragment.redacted)

    def _end_thinking(self, signature: str | None = None, redacted: str | None = None) -> None:
        thinking = "".join(self._thinking)
        if thinking or signature or redacted:
            self._done.append(ThinkingBlock(thinking=thinking, signature=signature, redacted=redacted))
        self._thinking.clear()

    def _call(self, fragment: ToolUseEnd) -> None:
        self._end_thinking()
        self._end_text()
        self._done.append(ToolUseBlock(id=fragment.id, name=fragment.name, input=fragment.input))
        if fragment.error:
            self._faults[fragment.id] = fragment.error

    def _end_text(self) -> None:
        text = "".join(self._text)
        if text.strip():
            self._done.append(TextBlock(text=text))
        self._text.clear()
