"""Session updates: what a client is told, in the shapes of the Agent Client Protocol v1 (schema 1.25.0).

Everything of Ullage's own rides in `_meta.ullage`; the root of an update has ACP's fields and no others.
"""

from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType, field

from ullage.model.usage import Breakdown, BudgetShares, Usage, UsageSource

T = TypeVar("T")


class Level(StrEnum):
    """Where `used` stands between the thresholds."""

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


class UsageUpdate(_Update, frozen=True, kw_only=True, tag="usage_update"):
    """Tokens in context and the window in effect. Never sent with a guessed `size`."""

    used: int
    size: int
    meta: Meta[UsageMeta] | UnsetType = field(default=UNSET, name="_meta")


class CompactionStatus(StrEnum):
    """A compaction's life: in progress, then exactly one of the others."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CompactionMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a compaction did: the edit to undo it by, and its figures in tokens and messages."""

    trigger: str
    compaction_number: int
    edit_id: str | None = None
    message_id: str | None = None
    messages_archived: int = 0
    context_size_before: int = 0
    context_size_after: int = 0


class CompactionUpdate(_Update, frozen=True, kw_only=True, tag="compaction_update"):
    """A compaction begins or ends; fields left out keep what they were."""

    compaction_id: str
    status: CompactionStatus
    summary: tuple[TextContent, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET
    meta: Meta[CompactionMeta] | UnsetType = field(default=UNSET, name="_meta")


class CompactionSummaryChunk(_Update, frozen=True, kw_only=True, tag="compaction_summary_chunk"):
    """A piece of the summary, in order, while it is written."""

    compaction_id: str
    content: TextContent


class Severity(StrEnum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class NoticeMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """A notice's kind, a stable word for programs, and the edit it speaks of."""

    kind: str
    edit_id: str | None = None


class Notice(_Update, frozen=True, kw_only=True, tag="notice"):
    """A line for the person; live only."""

    severity: Severity
    title: str
    description: str | UnsetType = UNSET
    meta: Meta[NoticeMeta] | UnsetType = field(default=UNSET, name="_meta")


class SessionInfoUpdate(_Update, frozen=True, kw_only=True, tag="session_info_update"):
    """The session's title or time of last change (ISO 8601); `_meta` where no window is known (see `UsageUpdate`)."""

    title: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    meta: Meta[UsageMeta] | UnsetType = field(default=UNSET, name="_meta")


Update = UsageUpdate | CompactionUpdate | CompactionSummaryChunk | Notice | SessionInfoUpdate
