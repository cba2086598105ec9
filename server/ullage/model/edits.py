"""Edits: every way of shrinking the context, as values that the projection applies.

An edit never changes the transcript. It is appended to the log, and one more event can revert it.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.model.blocks import CompactionBlock
from ullage.model.message import Message


class EditTrigger(StrEnum):
    """What caused an edit: the user or automatic context management."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"


class Replacement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """New contents for one block, addressed by message id and block index.

    `text` replaces the text of a text, thinking or resource block, or the whole content of a tool result; `input`
    replaces the input of a tool use.
    """

    message_id: str
    block: int
    text: str | None = None
    input: dict[str, Any] | None = None


class _Edit(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """The fields of every edit: its id, its time (Unix milliseconds), its trigger, the tokens it saved, and the size of
    the context that it was made on (`context_size_before`, 0 if unknown).

    One action may make several edits. All but the last of them name the last in `part_of`, so that they are undone
    together.
    """

    id: str
    timestamp: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC
    tokens_saved: int = 0
    part_of: str | None = None
    context_size_before: int = 0


class RepeatedFile(Struct, frozen=True, kw_only=True):
    """The cost of reading one file repeatedly: the number of places that lost lines to a notice, and their share of
    the tokens that the edit saved, apportioned by characters."""

    path: str
    occurrences: int
    tokens_saved: int


class DuplicateReadsEdit(_Edit, frozen=True, kw_only=True, tag="duplicate_reads"):
    """Notices replace lines of a file that a later message shows again. `shown_in` names the messages that show
    them; other edits leave those messages alone, so that the notices stay true."""

    replacements: tuple[Replacement, ...]
    shown_in: tuple[str, ...] = ()
    files: tuple[RepeatedFile, ...] = ()


class ClearToolUsesEdit(_Edit, frozen=True, kw_only=True, tag="clear_tool_uses"):
    """A placeholder replaces old tool results and, if asked for, their inputs."""

    replacements: tuple[Replacement, ...]
    cleared_tool_uses: int = 0


class ClearThinkingEdit(_Edit, frozen=True, kw_only=True, tag="clear_thinking"):
    """The thinking of older turns is emptied."""

    replacements: tuple[Replacement, ...]
    cleared_thinking_turns: int = 0


class ShortenEdit(_Edit, frozen=True, kw_only=True, tag="shorten"):
    """A notice replaces the middle of single blocks that are too large for the room left."""

    replacements: tuple[Replacement, ...]


class RewriteEdit(_Edit, frozen=True, kw_only=True, tag="rewrite"):
    """The contents of blocks were changed on purpose, such as a new system prompt."""

    replacements: tuple[Replacement, ...]


class DropEdit(_Edit, frozen=True, kw_only=True, tag="drop"):
    """Whole messages are left out. `notice` takes the place of the first of them."""

    message_ids: tuple[str, ...]
    notice: Message


class CompactionEdit(_Edit, frozen=True, kw_only=True, tag="compaction"):
    """A marker message replaces a range of the transcript.

    Messages with an index in `[start, end)` leave the view, except those in `kept`, which follow the marker, and those
    in `leading`, which stay before it (system prompt, first user message).
    """

    start: int
    end: int
    marker: Message
    leading: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


ReplacingEdit = DuplicateReadsEdit | ClearToolUsesEdit | ClearThinkingEdit | ShortenEdit | RewriteEdit
Edit = ReplacingEdit | DropEdit | CompactionEdit


def compaction_block(edit: CompactionEdit) -> CompactionBlock:
    """Returns the content block of the edit's marker."""
    block = edit.marker.compaction
    if block is None:
        raise ValueError(f"compaction {edit.id} has no marker")
    return block
