"""Events: the append-only log that a session is. Nothing in it is ever rewritten or deleted."""

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
    """The first event of a fork's own log: the parent's events up to and including `position` come before it,
    and positions go on from there."""

    parent_id: str
    position: int
    title: str = ""


class SessionRenamed(_Event, frozen=True, kw_only=True, tag="session_renamed"):
    """A new title."""

    title: str


class ModelChanged(_Event, frozen=True, kw_only=True, tag="model_changed"):
    """From here on the conversation is with another model."""

    model: str


class SessionConfigured(_Event, frozen=True, kw_only=True, tag="session_configured"):
    """The fields of `ContextSettings` that are this session's own from here on, as a client names them; the others are
    the workspace's. Replaces what was configured before. There is no such event with fields that are not valid."""

    context: dict[str, Any]

    def __post_init__(self) -> None:
        overridden(ContextSettings(), self.context)


class ToolsDeclared(_Event, frozen=True, kw_only=True, tag="tools_declared"):
    """The tools offered from here on; replaces what was declared before."""

    tools: tuple[ToolDefinition, ...]


class MessageAppended(_Event, frozen=True, kw_only=True, tag="message_appended"):
    """One more message at the end of the transcript, with its count when it was made, so that opening a session
    need not count again."""

    message: Message
    count: MessageCount | None = None


class UsageReported(_Event, frozen=True, kw_only=True, tag="usage_reported"):
    """The provider's account of the request whose answer is `message_id`."""

    usage: Usage
    message_id: str


class SummaryReported(_Event, frozen=True, kw_only=True, tag="summary_reported"):
    """The provider's account of a request for a summary, answered by `model` or broken off. It speaks of no message."""

    usage: Usage
    model: str


class MessagePinned(_Event, frozen=True, kw_only=True, tag="message_pinned"):
    """A message stays verbatim through every edit, or no longer does."""

    message_id: str
    pinned: bool = True


class ContextEdited(_Event, frozen=True, kw_only=True, tag="context_edited"):
    """The projection changed. A compaction's marker is thereby also a message of the transcript."""

    edit: Edit


class EditReverted(_Event, frozen=True, kw_only=True, tag="edit_reverted"):
    """An edit no longer counts, or counts again: the projection is what it would be without it, or with it in its old
    place. Of several about one edit the last holds. `timestamp` is Unix milliseconds, 0 for the record's own."""

    edit_id: str
    reverted: bool = True
    timestamp: int = 0


class ContextWarned(_Event, frozen=True, kw_only=True, tag="context_warned"):
    """The person was told that the context is `used` tokens full. Kept so that no second door and no reload tells it
    again before the context has been below `again_below` tokens."""

    used: int
    again_below: int


class AgentAttached(_Event, frozen=True, kw_only=True, tag="agent_attached"):
    """From here on the conversation is held with an agent behind the proxy, under an id of the agent's own. The agent
    keeps the context: `window` is what it says of it in tokens, None while it says nothing. Replaces what was told
    before."""

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
    """An event at its place in a log: `position` counts from 0 without gaps, `timestamp` is Unix milliseconds."""

    position: int
    timestamp: int
    event: Event
