"""Session updates: the events that are sent to clients, in the shapes of the Agent Client Protocol v1 (schema 1.25.0).

All of Ullage's own fields are in `_meta.ullage`; the root of an update has ACP's fields and no others.
"""

from enum import StrEnum
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType, field

from ullage.model.usage import Breakdown, BudgetShares, Usage, UsageSource

T = TypeVar("T")


class Level(StrEnum):
    """Which threshold `used` has reached."""

    OFF = "off"
    NORMAL = "normal"
    WARNING = "warning"
    CRITICAL = "critical"


class UsageMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """What Ullage knows beyond ACP's two numbers. Tokens; null where the window is unknown."""

    source: UsageSource
    level: Level
    usable: int | None
    warn_at: int | None
    compact_at: int | None
    breakdown: Breakdown
    totals: Usage
    model: str
    messages_active: int
    messages_archived: int
    compactions: int
    oldest_timestamp: int
    reported_at: int | None = None
    pending_messages: int = 0
    error_share: float | None = None
    shares: BudgetShares | None = None


class Meta(Struct, Generic[T], frozen=True, kw_only=True):
    """The `_meta` object of an update."""

    ullage: T


class TextContent(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """ACP's text content block."""

    text: str


class _Update(Struct, frozen=True, kw_only=True, tag_field="sessionUpdate", rename="camel"):
    """The tag is ACP's `sessionUpdate`."""


class Cost(Struct, frozen=True, kw_only=True):
    """The cost of the session's requests so far, by the providers' list prices. `currency` is an ISO 4217 code."""

    amount: float
    currency: str


class UsageUpdate(_Update, frozen=True, kw_only=True, tag="usage_update"):
    """Tokens in context, the window in effect, and the session's cost if every request's price is known. It is never
    sent with a guessed `size`."""

    used: int
    size: int
    cost: Cost | UnsetType = UNSET
    meta: Meta[UsageMeta] | UnsetType = field(default=UNSET, name="_meta")


class CompactionStatus(StrEnum):
    """The states of a compaction: in progress, then exactly one of the others."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CompactionMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """Details of a compaction: the edit to undo it by, and its figures in tokens and messages."""

    trigger: str
    compaction_number: int
    edit_id: str | None = None
    message_id: str | None = None
    messages_archived: int = 0
    context_size_before: int = 0
    context_size_after: int = 0


class CompactionUpdate(_Update, frozen=True, kw_only=True, tag="compaction_update"):
    """A compaction begins or ends. A field that is left out keeps its earlier value."""

    compaction_id: str
    status: CompactionStatus
    summary: tuple[TextContent, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET
    meta: Meta[CompactionMeta] | UnsetType = field(default=UNSET, name="_meta")


class CompactionSummaryChunk(_Update, frozen=True, kw_only=True, tag="compaction_summary_chunk"):
    """A piece of the summary while it is written, in order."""

    compaction_id: str
    content: TextContent


class Severity(StrEnum):
    """How important a notice is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class NoticeMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """A notice's kind (a stable word for programs) and the edit that it is about."""

    kind: str
    edit_id: str | None = None


class Notice(_Update, frozen=True, kw_only=True, tag="notice"):
    """A line of text for the user. It is sent live only and is not part of the transcript."""

    severity: Severity
    title: str
    description: str | UnsetType = UNSET
    meta: Meta[NoticeMeta] | UnsetType = field(default=UNSET, name="_meta")


class SessionInfoUpdate(_Update, frozen=True, kw_only=True, tag="session_info_update"):
    """The session's title or the time of its last change (ISO 8601). If no window is known, `_meta` has the figures
    (see `UsageUpdate`)."""

    title: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    meta: Meta[UsageMeta] | UnsetType = field(default=UNSET, name="_meta")


class UserMessageChunk(_Update, frozen=True, kw_only=True, tag="user_message_chunk"):
    """The user's prompt as it enters the transcript, so that every client of the session shows it."""

    content: TextContent
    message_id: str


class AgentMessageChunk(_Update, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """A piece of the model's answer. `message_id` is the id that the message will have in the transcript."""

    content: TextContent
    message_id: str


class AgentThoughtChunk(_Update, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    """A piece of the model's reasoning."""

    content: TextContent
    message_id: str


class ToolKind(StrEnum):
    """The kinds of tool calls that Ullage's own tools have, a subset of ACP's."""

    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    THINK = "think"
    OTHER = "other"


class ToolStatus(StrEnum):
    """The states of a tool call."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class ToolLocation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that a tool call touches; `line` counts from 1."""

    path: str
    line: int | None = None


class ToolContent(Struct, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """ACP's tool call content: the tool's result, as text."""

    content: TextContent


class ToolCall(_Update, frozen=True, kw_only=True, tag="tool_call"):
    """The model calls a tool."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    locations: tuple[ToolLocation, ...] = ()
    raw_input: dict[str, Any] | UnsetType = UNSET


class ToolCallUpdate(_Update, frozen=True, kw_only=True, tag="tool_call_update"):
    """A tool call's state or content changed. A field that is left out keeps its earlier value."""

    tool_call_id: str
    status: ToolStatus
    title: str | UnsetType = UNSET
    content: tuple[ToolContent, ...] | UnsetType = UNSET
    raw_input: dict[str, Any] | UnsetType = UNSET


Update = (
    UsageUpdate
    | CompactionUpdate
    | CompactionSummaryChunk
    | Notice
    | SessionInfoUpdate
    | UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
)
