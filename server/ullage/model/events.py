"""Events: a session is an append-only log of them. No event is ever rewritten or deleted.

Edits are every way of shrinking the context, as values that the projection applies. An edit never changes the
transcript: it is appended to the log, and one more event can revert it.

At the end are the events of a context, for programs that embed Ullage. They are in no log: handlers get them as values,
and users get the same as notices. The tag is the event's name.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ullage.model.message import CompactionBlock, Message, ToolDefinition
from ullage.model.settings import ContextSettings, overridden
from ullage.model.usage import HiddenPart, MessageCount, Pass, RateLimit, Usage


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


# `gc=False`, here and at what events hold: frozen values form no cycles. Looking for cycles in the values of a long
# log stops all threads for up to a second, so also the requests of others.


class _Event(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", omit_defaults=True):
    """The base of all events. The tag of each is the event's name in the store, so it never changes."""


class SessionCreated(_Event, frozen=True, kw_only=True, tag="session_created"):
    """The first event of a log. `cwd` is the project's folder, `model` the model's name if known."""

    cwd: str = ""
    title: str = ""
    model: str = ""


class SessionForked(_Event, frozen=True, kw_only=True, tag="session_forked"):
    """The first event of a fork's own log. The events of the session `parent_id` up to and including `position` count
    as the fork's beginning, and the fork's own positions continue from there."""

    parent_id: str
    position: int
    title: str = ""


class SessionRenamed(_Event, frozen=True, kw_only=True, tag="session_renamed"):
    """The session has a new title."""

    title: str


class ModelChanged(_Event, frozen=True, kw_only=True, tag="model_changed"):
    """The session uses the model with this name from here on."""

    model: str


class SessionConfigured(_Event, frozen=True, kw_only=True, tag="session_configured"):
    """The session has its own context settings from here on. `context` holds the fields of `ContextSettings` that
    differ from the workspace's, with the names and values of the JSON settings. Replaces the session's earlier
    settings. Raises `msgspec.ValidationError` if a field is invalid."""

    context: dict[str, Any]

    def __post_init__(self) -> None:
        overridden(ContextSettings(), self.context)


class ToolsDeclared(_Event, frozen=True, kw_only=True, tag="tools_declared"):
    """The tools offered to the model from here on. Replaces the tools declared before."""

    tools: tuple[ToolDefinition, ...]


class PromptListed(_Event, frozen=True, kw_only=True, tag="prompt_listed"):
    """What the agent adds to each request before the conversation, as far as its log contains it. `parts` replace
    earlier ones of their kinds. `texts` are those of the parts that are not counted yet, in their order; an event in a
    store has none."""

    parts: tuple[HiddenPart, ...]
    texts: tuple[str, ...] = ()


class MessageAppended(_Event, frozen=True, kw_only=True, tag="message_appended"):
    """A message was added at the end of the transcript. `count` is its token count at that time, stored so that opening
    the session need not count it again; None if it was not counted."""

    message: Message
    count: MessageCount | None = None


class UsageReported(_Event, frozen=True, kw_only=True, tag="usage_reported"):
    """The provider's token counts of the request that was answered by the message `message_id`. `timestamp` is Unix
    milliseconds; 0 means the record's own time. If the answer was made in several passes, `usage` is that of the pass
    that filled the window, and `passes` are all of them, which are paid for. What is paid for and fills nothing has no
    `usage`: an answer that was cut off, and a request that leaves no message. `is_copied` says that it is not charged:
    another conversation made the request and paid for it, and this one begins with its messages, or the agent does not
    say what was paid."""

    usage: Usage
    message_id: str
    timestamp: int = 0
    passes: tuple[Pass, ...] = ()
    is_copied: bool = False


class ContextEstimated(_Event, frozen=True, kw_only=True, tag="context_estimated"):
    """The agent that has the conversation wrote its own estimate of the whole context, in tokens, as some do after a
    compaction. It holds until the next usage report. `timestamp` is Unix milliseconds; 0 means the record's own
    time."""

    tokens: int
    timestamp: int = 0


class RecordUnread(_Event, frozen=True, kw_only=True, tag="record_unread"):
    """A record of the agent's file could not be read, because it is damaged. What it says may be the newest usage, so
    that until the next report the figure is stale."""


class SummaryReported(_Event, frozen=True, kw_only=True, tag="summary_reported"):
    """The provider's token counts of a request in which `model` wrote a summary, complete or cut off. No message of the
    transcript belongs to the request."""

    usage: Usage
    model: str


class MessagePinned(_Event, frozen=True, kw_only=True, tag="message_pinned"):
    """A message is pinned, so that it stays verbatim through every edit, or unpinned."""

    message_id: str
    pinned: bool = True


class ContextEdited(_Event, frozen=True, kw_only=True, tag="context_edited"):
    """An edit changed the view. The marker of a compaction is in the view only; the transcript stays as it is."""

    edit: Edit


class EditReverted(_Event, frozen=True, kw_only=True, tag="edit_reverted"):
    """An edit is undone (`reverted`) or put in force again (not `reverted`): the projection is as if the edit had never
    been made, or never been undone. Of several such events about one edit, the last counts. `timestamp` is Unix
    milliseconds; 0 means the record's own time."""

    edit_id: str
    reverted: bool = True
    timestamp: int = 0


class ContextWarned(_Event, frozen=True, kw_only=True, tag="context_warned"):
    """The user was warned at `used` tokens. It is an event of the log so that no other process, and no later opening of
    the session, warns again until the context has been below `again_below` tokens."""

    used: int
    again_below: int


class AgentAttached(_Event, frozen=True, kw_only=True, tag="agent_attached"):
    """An agent behind the proxy has the conversation from here on; `session_id` is the agent's own id of it. The agent
    manages its context itself. `window` is the window that the agent reports, in tokens, None if it reports none.
    `reports` is true once the agent has sent the size of its context by itself, which it then does in every turn.
    Replaces an earlier event of this kind."""

    agent: str
    session_id: str
    window: int | None = None
    reports: bool = False


class ConversationImported(_Event, frozen=True, kw_only=True, tag="conversation_imported"):
    """The events after this one were imported from another program's conversation. Replaces an earlier event of this
    kind, because a program may be updated in the middle of a conversation.

    `format` is the name of the file's format. `agent` is the program and `version` its version. `origin_id` is the
    program's own id of the conversation, and `parent_id` its id of the conversation that this one was forked or split
    from, or, if `is_sub_agent` is true, of the one that started this one as a sub-agent's. `definition` is the name
    under which the user's files define that sub-agent. `started_by` is how the program was started, in its own words,
    such as `cli` for a terminal. `path` is the file. Each text but `format` is empty if it is not known.
    """

    format: str
    agent: str = ""
    version: str = ""
    origin_id: str = ""
    parent_id: str = ""
    is_sub_agent: bool = False
    definition: str = ""
    started_by: str = ""
    path: str = ""


class ConversationContinued(_Event, frozen=True, kw_only=True, tag="conversation_continued"):
    """From here on Ullage or its client continues a conversation that was imported from another program. The other
    program no longer manages its context, so Ullage keeps the context within the window."""


class WindowReported(_Event, frozen=True, kw_only=True, tag="window_reported"):
    """The agent that has the conversation reported its window (`size`) or the threshold at which it compacts
    (`compacts_at`), both in tokens, or the limits of the user's subscription (`rate_limits`). None, and no limits,
    leave what was reported before. `timestamp` is Unix milliseconds; 0 means the record's own time."""

    size: int | None = None
    compacts_at: int | None = None
    rate_limits: tuple[RateLimit, ...] = ()
    timestamp: int = 0


Event = (
    SessionCreated
    | SessionForked
    | SessionRenamed
    | ModelChanged
    | SessionConfigured
    | ToolsDeclared
    | PromptListed
    | MessageAppended
    | UsageReported
    | ContextEstimated
    | RecordUnread
    | SummaryReported
    | MessagePinned
    | ContextEdited
    | EditReverted
    | ContextWarned
    | AgentAttached
    | ConversationImported
    | ConversationContinued
    | WindowReported
)


class Record(Struct, frozen=True, kw_only=True, gc=False):
    """An event at its position in a log. `position` counts from 0 without gaps; `timestamp` is Unix milliseconds."""

    position: int
    timestamp: int
    event: Event


def first_messages(events: Sequence[Event], count: int) -> Iterator[Event]:
    """Yields the events up to the `count`th message and the usage of that message, so that they are the conversation as
    it was then."""
    for event in events:
        if isinstance(event, MessageAppended):
            count -= 1
        if count < 0 or (count == 0 and isinstance(event, ContextEdited)):
            return
        yield event
