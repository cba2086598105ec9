"""Edits: every way of shrinking the context, as values that the projection applies.

An edit never touches the transcript. It is appended to the log and can be reverted by one more event.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.model.blocks import CompactionBlock
from ullage.model.message import Message


class EditTrigger(StrEnum):
    """Who asked for an edit."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"


class Replacement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """New contents for one block, found by message id and the block's index in it.

    `text` replaces a text, thinking or resource block's text, or a tool result's whole content; `input`
    replaces a tool use's input.
    """

    message_id: str
    block: int
    text: str | None = None
    input: dict[str, Any] | None = None


class _Edit(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """What every edit carries: its id, when (Unix milliseconds), who asked, and the tokens it saved of a context of
    `context_size_before` (0 if unknown).

    An action may take several edits; all but its last name the last in `part_of`, so that they are undone together.
    """

    id: str
    timestamp: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC
    tokens_saved: int = 0
    part_of: str | None = None
    context_size_before: int = 0


class RepeatedFile(Struct, frozen=True, kw_only=True):
    """What the repetition of one file cost: how many places lost lines to a notice, and their share of the tokens that
    the edit saved, apportioned by characters."""

    path: str
    occurrences: int
    tokens_saved: int


class DuplicateReadsEdit(_Edit, frozen=True, kw_only=True, tag="duplicate_reads"):
    """Lines of a file that a later message shows again, replaced by notices. `shown_in` names the messages that show
    them; other edits leave those alone, so that the notices stay true."""

    replacements: tuple[Replacement, ...]
    shown_in: tuple[str, ...] = ()
    files: tuple[RepeatedFile, ...] = ()


class ClearToolUsesEdit(_Edit, frozen=True, kw_only=True, tag="clear_tool_uses"):
    """Old tool results (and, if asked, their inputs) replaced by a placeholder."""

    replacements: tuple[Replacement, ...]
    cleared_tool_uses: int = 0


class ClearThinkingEdit(_Edit, frozen=True, kw_only=True, tag="clear_thinking"):
    """The thinking of older turns, emptied."""

    replacements: tuple[Replacement, ...]
    cleared_thinking_turns: int = 0


class ShortenEdit(_Edit, frozen=True, kw_only=True, tag="shorten"):
    """Single blocks too large for what is left, their middle replaced by a notice."""

    replacements: tuple[Replacement, ...]


class RewriteEdit(_Edit, frozen=True, kw_only=True, tag="rewrite"):
    """Blocks whose contents someone changed on purpose: a system prompt that is now another."""

    replacements: tuple[Replacement, ...]


class DropEdit(_Edit, frozen=True, kw_only=True, tag="drop"):
    """Whole messages left out; `notice` stands where the first of them stood."""

    message_ids: tuple[str, ...]
    notice: Message


class CompactionEdit(_Edit, frozen=True, kw_only=True, tag="compaction"):
    """A head of the transcript replaced by a marker message.

    Messages with an index in `[start, end)` leave the view, except `kept` ones, which follow the marker, and
    `leading` ones, which stay before it (system prompt, first user message).
    """

    start: int
    end: int
    marker: Message
    leading: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


ReplacingEdit = DuplicateReadsEdit | ClearToolUsesEdit | ClearThinkingEdit | ShortenEdit | RewriteEdit
Edit = ReplacingEdit | DropEdit | CompactionEdit


def compaction_block(edit: CompactionEdit) -> CompactionBlock:
    """The marker's block."""
    block = edit.marker.compaction
    if block is None:
        raise ValueError(f"compaction {edit.id} has no marker")
    return block
