"""What is sent to clients in the shapes of the Agent Client Protocol v1 (schema 1.25.0): session updates, and the
request that asks the user for permission to make a tool call.

All of Ullage's own fields are in `_meta.ullage`; the root of an update has ACP's fields and no others.
"""

from enum import StrEnum
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType, field

from ullage.model.usage import (
    Breakdown,
    BudgetShares,
    CallsLeft,
    GoodMoment,
    Hidden,
    IdleCompaction,
    Keeper,
    KnownThreshold,
    KnownWindow,
    PromptCache,
    RateLimit,
    Remark,
    Usage,
    UsageSource,
)

T = TypeVar("T")


class Level(StrEnum):
    """How full the context is: `warning` from the warning threshold, `critical` from the compaction threshold, `normal`
    below both. `off` means that there is no budget, because management is off or no window is known."""

    OFF = "off"
    NORMAL = "normal"
    WARNING = "warning"
    CRITICAL = "critical"


class FollowedFrom(Struct, frozen=True, kw_only=True):
    """Says that an agent keeps the session's conversation, whether it is followed now or was imported from the agent's
    own file. `agent` is the agent's name and `path` that file; a text is "" if it is not known."""

    agent: str
    path: str


class UsageMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """All figures of a context beyond ACP's `used` and `size`, in tokens. Figures that need a window are null if none
    is known.

    `as_of` is the time of the last message or report that the figure covers, and `reported_at` that of the last report,
    in Unix milliseconds, null if there is none; `pending_messages` are those that no report covers. `oldest_timestamp`
    is the time of the first message in the context, 0 if there is none, and `totals` is the sum of all reports. Every
    `percent` is a percentage of the window. `usable`, `warn_at` and `compact_at` are tokens; the latter two are null if
    nothing happens there. `left` is the number of
    tokens until `compact_at`, or until the end of usable if nothing compacts the context. `calls_left` is null while
    too few calls are known. `remarks` say why no threshold is known, or what speaks against it. `agent` is the name of
    the agent that has the conversation, empty if Ullage's client has it. `followed` is null unless an agent on
    this machine keeps the conversation: then nothing can be changed in it. `idle` is a compaction that the agent makes
    because the conversation idles, null if it makes none. `cache` is the provider's cache of the last prompt, null
    if no report shows one or nothing of it is left. `moment` says that now is a good moment to go on in a new session,
    null if it is not. `rate_limits` is what the agent said last of the limits of the user's subscription.
    """

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
    as_of: int | None = None
    percent: int | None = None
    warn_percent: int | None = None
    window: KnownWindow | None = None
    threshold: KnownThreshold | None = None
    left: int | None = None
    calls_left: CallsLeft | None = None
    remarks: tuple[Remark, ...] = ()
    hidden: Hidden = Hidden(tokens=0, name="")
    managed_by: Keeper = Keeper.NOBODY
    agent: str = ""
    followed: FollowedFrom | None = None
    idle: IdleCompaction | None = None
    cache: PromptCache | None = None
    moment: GoodMoment | None = None
    rate_limits: tuple[RateLimit, ...] = ()


class Meta(Struct, Generic[T], frozen=True, kw_only=True):
    """The `_meta` object of an update; its field `ullage` holds all that is not ACP's."""

    ullage: T


class TextContent(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A text, in the shape of ACP's text content block."""

    text: str


class _Update(Struct, frozen=True, kw_only=True, tag_field="sessionUpdate", rename="camel"):
    """The base of all session updates. The tag of each is ACP's `sessionUpdate`."""


class Cost(Struct, frozen=True, kw_only=True):
    """The cost of the session's requests so far, by the providers' list prices. `currency` is an ISO 4217 code."""

    amount: float
    currency: str


class UsageUpdate(_Update, frozen=True, kw_only=True, tag="usage_update"):
    """The tokens in the context (`used`), the window (`size`), and the session's cost if the price of every request is
    known. If no window is known, this update is not sent."""

    used: int
    size: int
    cost: Cost | UnsetType = UNSET
    meta: Meta[UsageMeta] | UnsetType = field(default=UNSET, name="_meta")


class CompactionStatus(StrEnum):
    """The states of a compaction: first `in_progress`, then exactly one of the others."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CompactionMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """Details of a compaction. `edit_id` is the id by which the compaction can be undone, `message_id` that of its
    marker; both are null until the compaction is complete. `messages_archived` counts messages; the context sizes are
    tokens."""

    trigger: str
    compaction_number: int
    edit_id: str | None = None
    message_id: str | None = None
    messages_archived: int = 0
    context_size_before: int = 0
    context_size_after: int = 0


class CompactionUpdate(_Update, frozen=True, kw_only=True, tag="compaction_update"):
    """A compaction begins or ends. A field that is left out keeps the value of the earlier update with this
    `compactionId`."""

    compaction_id: str
    status: CompactionStatus
    summary: tuple[TextContent, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET
    meta: Meta[CompactionMeta] | UnsetType = field(default=UNSET, name="_meta")


class CompactionSummaryChunk(_Update, frozen=True, kw_only=True, tag="compaction_summary_chunk"):
    """A chunk of a compaction's summary while the summary is written. Chunks come in order."""

    compaction_id: str
    content: TextContent


class Severity(StrEnum):
    """How important a notice is for the user."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class NoticeMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """A notice's kind (a word that never changes, for programs) and the id of the edit that the notice is about, null
    if there is none."""

    kind: str
    edit_id: str | None = None


class Notice(_Update, frozen=True, kw_only=True, tag="notice"):
    """A line of text for the user. It is sent once to the clients that are connected, and is not part of the
    transcript."""

    severity: Severity
    title: str
    description: str | UnsetType = UNSET
    meta: Meta[NoticeMeta] | UnsetType = field(default=UNSET, name="_meta")


class SessionInfoUpdate(_Update, frozen=True, kw_only=True, tag="session_info_update"):
    """The session's title or the time of its last change (ISO 8601) changed. If no window is known, `_meta` has the
    figures of the context, because no `UsageUpdate` is sent."""

    title: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    meta: Meta[UsageMeta] | UnsetType = field(default=UNSET, name="_meta")


class UserMessageChunk(_Update, frozen=True, kw_only=True, tag="user_message_chunk"):
    """A user's prompt that was added to the transcript, sent so that every client of the session shows it."""

    content: TextContent
    message_id: str


class AgentMessageChunk(_Update, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """A chunk of the model's answer. `message_id` is the id that the message will have in the transcript."""

    content: TextContent
    message_id: str


class AgentThoughtChunk(_Update, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    """A chunk of the model's reasoning. `message_id` is the id that the answer will have in the transcript."""

    content: TextContent
    message_id: str


class ToolKind(StrEnum):
    """The kinds of the tools in Ullage's toolbox, a subset of ACP's kinds of tool calls."""

    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    THINK = "think"
    SWITCH_MODE = "switch_mode"
    OTHER = "other"


class ToolStatus(StrEnum):
    """The states of a tool call, as in ACP."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class ToolLocation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that a tool call touches; `line` counts from 1."""

    path: str
    line: int | None = None


class ToolContent(Struct, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """A tool's result as text, in the shape of ACP's tool call content."""

    content: TextContent


class ToolCall(_Update, frozen=True, kw_only=True, tag="tool_call"):
    """The model calls a tool. `ToolCallUpdate` with the same `toolCallId` reports its progress."""

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


class PermissionAnswer(StrEnum):
    """The user's answer to the question whether a tool call may be made. `allow_always` allows all calls of the tool
    while the session is open. `cancelled` ends the prompt turn."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    CANCELLED = "cancelled"


class PermissionKind(StrEnum):
    """The kinds of options that Ullage offers when it asks for permission, a subset of ACP's."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"


class PermissionOption(Struct, frozen=True, kw_only=True, rename="camel"):
    """One option of a permission request; `name` is its label."""

    option_id: str
    name: str
    kind: PermissionKind


class PermissionToolCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tool call for which permission is asked, with the fields of its `tool_call` update."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    locations: tuple[ToolLocation, ...] = ()
    raw_input: dict[str, Any] | UnsetType = UNSET


class RequestPermissionParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Params of the request by which the server asks the client's user whether a tool call may be made."""

    session_id: str
    tool_call: PermissionToolCall
    options: tuple[PermissionOption, ...]


class PermissionOutcomeKind(StrEnum):
    """Whether the user chose an option, or the prompt turn was cancelled before."""

    SELECTED = "selected"
    CANCELLED = "cancelled"


class PermissionOutcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """The user's choice. `optionId` is present if an option was selected."""

    outcome: PermissionOutcomeKind
    option_id: str | UnsetType = UNSET


class RequestPermissionResult(Struct, frozen=True, kw_only=True):
    """The client's result of a permission request."""

    outcome: PermissionOutcome


_OPTIONS = (
    PermissionOption(option_id="allow_once", name="Allow", kind=PermissionKind.ALLOW_ONCE),
    PermissionOption(option_id="allow_always", name="Always allow in this session", kind=PermissionKind.ALLOW_ALWAYS),
    PermissionOption(option_id="reject_once", name="Reject", kind=PermissionKind.REJECT_ONCE),
)


def ask_for(session_id: str, call: ToolCall) -> RequestPermissionParams:
    """Returns the params of the request that asks the user for permission to make a tool call. The options are allow
    once, allow always in this session, and reject."""
    asked = PermissionToolCall(
        tool_call_id=call.tool_call_id,
        title=call.title,
        kind=call.kind,
        status=call.status,
        locations=call.locations,
        raw_input=call.raw_input,
    )
    return RequestPermissionParams(session_id=session_id, tool_call=asked, options=_OPTIONS)


def read_answer(result: RequestPermissionResult) -> PermissionAnswer:
    """Returns the user's answer from the client's result. An option that was not offered counts as `reject_once`."""
    outcome = result.outcome
    if outcome.outcome is PermissionOutcomeKind.CANCELLED:
        return PermissionAnswer.CANCELLED
    known = {option.option_id: PermissionAnswer(option.kind) for option in _OPTIONS}
    return known.get(outcome.option_id or "", PermissionAnswer.REJECT_ONCE)
