"""Edits: every way of shrinking the context, as values that the projection applies.

An edit never changes the transcript. It is appended to the log, and one more event can revert it.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.model.message import CompactionBlock, Message


class EditTrigger(StrEnum):
    """Who started an edit: the user (`manual`) or automatic context management (`automatic`)."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"


class CompactionCause(StrEnum):
    """Why an agent compacted its context, as the reader of its files found it. A compaction that failed is not
    recorded.

    `by_hand`: the user asked. `threshold`: the context had reached a size, and a request was due. `idle`: nothing was
    due, and the provider's cache was about to be lost. `plugin`: a plugin asked. `post_turn`: a turn had ended.
    `new_window`: the agent began an empty context without a summary. `overflow`: the provider had refused a request as
    too long. `unknown`: none of these is certain. Only `threshold` shows where the agent compacts.
    """

    BY_HAND = "by_hand"
    THRESHOLD = "threshold"
    IDLE = "idle"
    PLUGIN = "plugin"
    POST_TURN = "post_turn"
    NEW_WINDOW = "new_window"
    OVERFLOW = "overflow"
    UNKNOWN = "unknown"


class Replacement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """New content for one block of the view, addressed by the message's id and the block's index in the message, from
    0.

    `text` replaces the text of a text, thinking or resource block, or the whole content of a tool result; `input`
    replaces the input of a tool use. The other one is None.
    """

    message_id: str
    block: int
    text: str | None = None
    input: dict[str, Any] | None = None


class _Edit(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """The fields of every edit: `id`, `timestamp` (Unix milliseconds), `trigger`, `tokens_saved`, and the tokens of the
    context before the edit (`context_size_before`, 0 if unknown).

    One action may make several edits. All but the last of them have the id of the last in `part_of`, so that they are
    undone together.
    """

    id: str
    timestamp: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC
    tokens_saved: int = 0
    part_of: str | None = None
    context_size_before: int = 0


class RepeatedFile(Struct, frozen=True, kw_only=True):
    """What repeated reads of one file cost. `occurrences` is the number of reads in which a notice replaced lines of
    the file. `tokens_saved` is the file's share of the tokens that the edit saved, apportioned by characters."""

    path: str
    occurrences: int
    tokens_saved: int


class DuplicateReadsEdit(_Edit, frozen=True, kw_only=True, tag="duplicate_reads"):
    """Replaces lines of a file in tool results by a notice, because a later message shows the same lines. `shown_in`
    holds the ids of those later messages; other edits do not change them, so that the notices stay true."""

    replacements: tuple[Replacement, ...]
    shown_in: tuple[str, ...] = ()
    files: tuple[RepeatedFile, ...] = ()


class ClearToolUsesEdit(_Edit, frozen=True, kw_only=True, tag="clear_tool_uses"):
    """Replaces old tool results by a placeholder, and also the inputs of their tool uses if the settings ask for it."""

    replacements: tuple[Replacement, ...]
    cleared_tool_uses: int = 0


class ClearThinkingEdit(_Edit, frozen=True, kw_only=True, tag="clear_thinking"):
    """Empties the thinking blocks of older prompt turns."""

    replacements: tuple[Replacement, ...]
    cleared_thinking_turns: int = 0


class ShortenEdit(_Edit, frozen=True, kw_only=True, tag="shorten"):
    """Replaces the middle of large blocks by a notice, so that the context fits."""

    replacements: tuple[Replacement, ...]


class RewriteEdit(_Edit, frozen=True, kw_only=True, tag="rewrite"):
    """Gives blocks the new content that a user or client chose, for example a new system prompt."""

    replacements: tuple[Replacement, ...]


class DropEdit(_Edit, frozen=True, kw_only=True, tag="drop"):
    """Leaves whole messages out of the view. `notice` is a message that takes the place of the first of them."""

    message_ids: tuple[str, ...]
    notice: Message


class RewindEdit(_Edit, frozen=True, kw_only=True, tag="rewind"):
    """Leaves messages out of the view without a notice, because the user went back to a message before them in the
    agent that has the conversation."""

    message_ids: tuple[str, ...]


class CompactionEdit(_Edit, frozen=True, kw_only=True, tag="compaction"):
    """Replaces the messages with an index in `[start, end)` of the transcript by one marker message.

    Messages with their id in `leading` (system prompt, first user message) stay before the marker, those with their id
    in `kept` stay after it. `by_agent` says that the agent whose conversation was imported made the compaction, and
    `cause` why it did so.
    """

    start: int
    end: int
    marker: Message
    leading: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    by_agent: bool = False
    cause: CompactionCause = CompactionCause.UNKNOWN


ReplacingEdit = DuplicateReadsEdit | ClearToolUsesEdit | ClearThinkingEdit | ShortenEdit | RewriteEdit
Edit = ReplacingEdit | DropEdit | RewindEdit | CompactionEdit


def compaction_block(edit: CompactionEdit) -> CompactionBlock:
    """Returns the content block of the edit's marker, which has the compaction's summary and sizes. Raises `ValueError`
    if the marker message has no such block."""
    block = edit.marker.compaction
    if block is None:
        raise ValueError(f"compaction {edit.id} has no marker")
    return block
