"""`clear_tool_uses`: empties old tool results and leaves the most recent ones alone.

Names and meaning follow Anthropic's context editing (`clear_tool_uses_20250919`). Above the `trigger`, a placeholder
replaces each of the oldest tool results. The last `keep` tool uses stay whole, and so do all uses of `exclude_tools`.
With `clear_tool_inputs` the inputs of cleared tool uses are cleared as well. If the edit would save fewer than
`clear_at_least` tokens, no edit is made.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.agents.results import ToolResult, tool_results
from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import ToolUseBlock, is_sealed
from ullage.model.edits import ClearToolUsesEdit, Replacement
from ullage.model.message import Message

# A model keeps these results on purpose; clearing them would defeat the purpose.
MEMORY_TOOLS = frozenset({"memory", "recall"})
# A shorter result costs hardly more than the placeholder that would replace it.
_MIN_CHARS = 400
_MIN_INPUT_CHARS = 2_000
_CLEARED = "[cleared]"


class Measure(StrEnum):
    """What a trigger for clearing counts: the tokens of the context, or its tool uses."""

    INPUT_TOKENS = "input_tokens"
    TOOL_USES = "tool_uses"


class Trigger(Struct, frozen=True, kw_only=True):
    """Clearing begins when the context holds more than `value` tokens, or more than `value` tool uses."""

    type: Measure = Measure.INPUT_TOKENS
    value: int = 100_000


class ClearOptions(Struct, frozen=True, kw_only=True):
    """Which tool uses may be cleared, and when. Without a `trigger` clearing begins at once. The last `keep` tool uses
    and all uses of `exclude_tools` stay. An edit that would save fewer than `clear_at_least` tokens is not made.
    `clear_tool_inputs` says whether inputs are cleared, too; a set names the tools whose inputs are."""

    trigger: Trigger | None = None
    keep: int = 3
    clear_at_least: int = 0
    exclude_tools: frozenset[str] = frozenset()
    clear_tool_inputs: bool | frozenset[str] = False


def clear_tool_uses(
    view: CountedView, options: ClearOptions, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearToolUsesEdit | None:
    """Returns the edit for a view. Returns None if the trigger is not reached, if no tool result is both old and long
    enough, or if the edit would save fewer than `clear_at_least` tokens. Messages with an id in `untouched` stay as
    they are."""
    if options.trigger is not None and not _exceeds(view, options.trigger):
        return None
    results = list(tool_results(view.messages))
    edit = _clear_old(view, results[: max(0, len(results) - options.keep)], options, stamp, untouched)
    return edit if edit and edit.tokens_saved >= options.clear_at_least else None


def cleared_elsewhere(
    view: CountedView, count: int, options: ClearOptions, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearToolUsesEdit | None:
    """Returns the edit that repeats in the view the clearing that a provider reports: its oldest `count` tool uses.
    Returns None if the edit would save nothing, for example because they are cleared already. Messages with an id in
    `untouched` stay as they are, although the provider cleared them, too."""
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
        if _size(result) >= _MIN_CHARS
        and result.message_id not in untouched
        and result.tool not in skipped
        and not is_sealed(view.messages[result.position].content[result.block])
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
    """Returns the characters of text in a result; pictures count as 400 characters."""
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
        and not is_sealed(block)
        and (wanted is True or block.name in wanted)
        and any(isinstance(value, str) and len(value) >= _MIN_INPUT_CHARS for value in block.input.values())
    ]


def _short_input(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _CLEARED if isinstance(value, str) and len(value) >= _MIN_INPUT_CHARS else value
        for key, value in given.items()
    }
