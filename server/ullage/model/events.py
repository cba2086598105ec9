"""Events: a session is an append-only log of them. No event is ever rewritten or deleted."""

from typing import Any

from msgspec import Struct

from ullage.model.edits import Edit
from ullage.model.message import Message, ToolDefinition
from ullage.model.settings import ContextSettings, overridden
from ullage.model.usage import MessageCount, Usage


class _Event(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """The tag is the event's name in the store."""


class SessionCreated(_Event, frozen=True, kw_only=True, tag="session_created"):
    """The first event of a log. `cwd` is the project's folder, `model` the model's name if known."""

    cwd: str = ""
    title: str = ""
    model: str = ""


class SessionForked(_Event, frozen=True, kw_only=True, tag="session_forked"):
    """The first event of a fork's own log. The parent's events up to and including `position` precede it, and
    positions continue from there."""

    parent_id: str
    position: int
    title: str = ""


class SessionRenamed(_Event, frozen=True, kw_only=True, tag="session_renamed"):
    """The session has a new title."""

    title: str


class ModelChanged(_Event, frozen=True, kw_only=True, tag="model_changed"):
    """The conversation continues with another model."""

    model: str


class SessionConfigured(_Event, frozen=True, kw_only=True, tag="session_configured"):
    """The session has context settings of its own from here on: the fields of `ContextSettings` that differ from the
    workspace's, as a client names them. Replaces the session's earlier settings. Invalid fields are refused, so no
    such event holds any."""

    context: dict[str, Any]

    def __post_init__(self) -> None:
        overridden(ContextSettings(), self.context)


class ToolsDeclared(_Event, frozen=True, kw_only=True, tag="tools_declared"):
    """The tools offered to the model from here on. Replaces the tools declared before."""

    tools: tuple[ToolDefinition, ...]


class MessageAppended(_Event, frozen=True, kw_only=True, tag="message_appended"):
    """A message was added at the end of the transcript. `count` holds its tokens as counted then, so that opening a
    session need not count again."""

    message: Message
    count: MessageCount | None = None


class UsageReported(_Event, frozen=True, kw_only=True, tag="usage_reported"):
    """The provider's token counts of the request whose answer is `message_id`."""

    usage: Usage
    message_id: str


class SummaryReported(_Event, frozen=True, kw_only=True, tag="summary_reported"):
    """The provider's token counts of a request for a summary, complete or cut off, that `model` answered. It belongs
    to no message."""

    usage: Usage
    model: str


class MessagePinned(_Event, frozen=True, kw_only=True, tag="message_pinned"):
    """A message is pinned, so that it stays verbatim through every edit, or unpinned."""

    message_id: str
    pinned: bool = True


class ContextEdited(_Event, frozen=True, kw_only=True, tag="context_edited"):
    """The projection changed. If the edit is a compaction, its marker becomes a message of the transcript."""

    edit: Edit


class EditReverted(_Event, frozen=True, kw_only=True, tag="edit_reverted"):
    """An edit is reverted, or is in force again: the projection is as if the edit had never been made, or as if it
    had never been reverted. Of several such events about one edit, the last counts. `timestamp` is Unix
    milliseconds; 0 means the record's own time."""

    edit_id: str
    reverted: bool = True
    timestamp: int = 0


class ContextWarned(_Event, frozen=True, kw_only=True, tag="context_warned"):
    """The user was warned at `used` tokens. The event is in the log so that no other process and no reload warns
    again until the context has been below `again_below` tokens."""

    used: int
    again_below: int


class AgentAttached(_Event, frozen=True, kw_only=True, tag="agent_attached"):
    """An agent behind the proxy holds the conversation from here on, under an id of its own. The agent manages its
    context itself; `window` is the size that it reports, in tokens, None while it reports none. Replaces an earlier
    event of this kind."""

    agent: str
    session_id: str
    window: int | None = None


Event = (
    SessionCreated
    | SessionForked
    | SessionRenamed
    | ModelChanged
    | SessionConfigured
    | ToolsDeclared
    | MessageAppended
    | UsageReported
    | SummaryReported
    | MessagePinned
    | ContextEdited
    | EditReverted
    | ContextWarned
    | AgentAttached
)


class Record(Struct, frozen=True, kw_only=True):
    """An event at its position in a log. `position` counts from 0 without gaps; `timestamp` is Unix milliseconds."""

    position: int
    timestamp: int
    event: Event
