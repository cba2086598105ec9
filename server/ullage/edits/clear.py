"""Clearing: empties old tool results (`clear_tool_uses`) and old thinking (`clear_thinking`). The most recent stay.

Names and meanings follow Anthropic's context editing. `clear_tool_uses_20250919`: above the `trigger`, a placeholder
replaces each of the oldest tool results. The last `keep` tool uses stay whole, and so do all uses of `exclude_tools`.
With `clear_tool_inputs` the inputs of cleared tool uses are cleared as well. If the edit would save fewer than
`clear_at_least` tokens, no edit is made.

`clear_thinking_20251015`: the last `keep` turns of the assistant that hold thinking keep it. A turn is everything that
the assistant says between two prompts, so a tool loop that is still running keeps all its thinking, as Anthropic
requires. Emptied thinking has no signature and is not sent to the provider.
"""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any

from msgspec import Struct

from ullage.agents.results import ToolResult, tool_results
from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import ThinkingBlock, ToolUseBlock, is_sealed
from ullage.model.edits import ClearThinkingEdit, ClearToolUsesEdit, Replacement
from ullage.model.message import Message
from ullage.transcript.cut_points import turn_starts

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


def clear_thinking(
    view: CountedView, keep: int, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearThinkingEdit | None:
    """Returns the edit for a view, or None if only the last `keep` turns (at least 1) hold thinking. Messages with an
    id in `untouched` stay as they are."""
    turns = [found for turn in _turns(view.messages) if (found := list(_thinking(turn)))]
    old = [
        [replacement for replacement in turn if replacement.message_id not in untouched]
        for turn in turns[: max(0, len(turns) - max(1, keep))]
    ]
    replacements = tuple(replacement for turn in old for replacement in turn)
    if not replacements:
        return None
    draft = ClearThinkingEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        replacements=replacements,
        cleared_thinking_turns=sum(map(bool, old)),
    )
    return view.saving(draft)


def _turns(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    starts = [0, *turn_starts(messages), len(messages)]
    return (messages[start:stop] for start, stop in pairwise(starts))


def _thinking(turn: Sequence[Message]) -> Iterator[Replacement]:
    for message in turn:
        for i, block in enumerate(message.content):
            if isinstance(block, ThinkingBlock) and (block.thinking or block.redacted) and not is_sealed(block):
                yield Replacement(message_id=message.id, block=i, text="")
