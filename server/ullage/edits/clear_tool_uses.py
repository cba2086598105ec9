"""`clear_tool_uses`: old tool results emptied, the most recent ones left alone.

Names and meaning follow Anthropic's context editing (`clear_tool_uses_20250919`): above the `trigger` the oldest tool
results give way to a placeholder, the last `keep` tool uses stay whole, those of `exclude_tools` always; with
`clear_tool_inputs` what the tools were asked goes too; an edit that clears less than `clear_at_least` tokens is none.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.agents.results import ToolResult, tool_results
from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import ToolUseBlock
from ullage.model.edits import ClearToolUsesEdit, Replacement
from ullage.model.message import Message

# What a model keeps on purpose; clearing it would undo the purpose.
MEMORY_TOOLS = frozenset({"memory", "recall"})
# Shorter results cost hardly more than the placeholder that would replace them.
_MIN_CHARS = 400
_MIN_INPUT_CHARS = 2_000
_CLEARED = "[cleared]"


class Measure(StrEnum):
    """What a trigger counts."""

    INPUT_TOKENS = "input_tokens"
    TOOL_USES = "tool_uses"


class Trigger(Struct, frozen=True, kw_only=True):
    """Clearing begins above `value` tokens of context, or tool uses in it."""

    type: Measure = Measure.INPUT_TOKENS
    value: int = 100_000


class ClearOptions(Struct, frozen=True, kw_only=True):
    """Which tool uses may be cleared, and when; without a `trigger` now. `clear_tool_inputs` may name tools."""

    trigger: Trigger | None = None
    keep: int = 3
    clear_at_least: int = 0
    exclude_tools: frozenset[str] = frozenset()
    clear_tool_inputs: bool | frozenset[str] = False


def clear_tool_uses(
    view: CountedView, options: ClearOptions, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearToolUsesEdit | None:
    """The edit for a view, or None when it is not due or nothing is old and long enough. The messages `untouched`
    stay as they are."""
    if options.trigger is not None and not _exceeds(view, options.trigger):
        return None
    results = list(tool_results(view.messages))
    edit = _clear_old(view, results[: max(0, len(results) - options.keep)], options, stamp, untouched)
    return edit if edit and edit.tokens_saved >= options.clear_at_least else None


def cleared_elsewhere(
    view: CountedView, count: int, options: ClearOptions, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearToolUsesEdit | None:
    """The edit that does here what a provider says it did: the oldest `count` tool uses that may be cleared are. None
    where they are already. The provider does not know of `untouched` messages; here they stay."""
    skipped = MEMORY_TOOLS | options.exclude_tools
    old = [result for result in tool_results(view.messages) if result.tool not in skipped][:count]
    return _clear_old(view, old, options, stamp, untouched)


def _clear_old(
    view: CountedView, old: Sequence[ToolResult], options: ClearOptions, stamp: Stamp, untouched: Collection[str]
) -> ClearToolUsesEdit | None:
    skipped = MEMORY_TOOLS | options.exclude_tools
    cleared = [
        result
        for result in old
        if _size(result) >= _MIN_CHARS and result.message_id not in untouched and result.tool not in skipped
    ]
    messages = [message for message in view.messages if message.id not in untouched]
    replacements = [_clear(result) for result in cleared]
    replacements += _clear_inputs(messages, {result.tool_use_id for result in old}, skipped, options.clear_tool_inputs)
    if not replacements:
        return None
    draft = ClearToolUsesEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        replacements=tuple(replacements),
        cleared_tool_uses=len(cleared),
    )
    return view.saving(draft)


def _exceeds(view: CountedView, trigger: Trigger) -> bool:
    if trigger.type is Measure.TOOL_USES:
        return sum(1 for _ in tool_results(view.messages)) > trigger.value
    return view.used > trigger.value


def _size(result: ToolResult) -> int:
    """Characters of text; a picture counts as long."""
    return len(result.text) + (_MIN_CHARS if result.pictures else 0)


def _clear(result: ToolResult) -> Replacement:
    what = "characters and pictures" if result.pictures else "characters"
    return Replacement(
        message_id=result.message_id,
        block=result.block,
        text=f"[Old {result.tool or 'tool'} result cleared to make room: {len(result.text):,} {what}]",
    )


def _clear_inputs(
    messages: Sequence[Message], old: Collection[str], skipped: Collection[str], wanted: bool | frozenset[str]
) -> list[Replacement]:
    if not wanted:
        return []
    return [
        Replacement(message_id=message.id, block=i, input=_short_input(block.input))
        for message in messages
        for i, block in enumerate(message.content)
        if isinstance(block, ToolUseBlock)
        and block.id in old
        and block.name not in skipped
        and (wanted is True or block.name in wanted)
        and any(isinstance(value, str) and len(value) >= _MIN_INPUT_CHARS for value in block.input.values())
    ]


def _short_input(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _CLEARED if isinstance(value, str) and len(value) >= _MIN_INPUT_CHARS else value
        for key, value in given.items()
    }
