"""The methods `following/*`: params, results, handlers, and the notification of a change."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import asdict

from ullage.model.errors import Conflict
from ullage.model.figure import FollowedRow, IdleCompaction, Nearness, ThresholdSource, WindowSource
from ullage.model.usage import UsageSource
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.following import FollowsAgents

FOLLOWING_CHANGED = "following/changed"


class FollowedConversation(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation that an agent has and Ullage follows, and how full its context is. Sizes are tokens, times are
    Unix milliseconds; a value that is not known is null, and a text that is not known is "".

    `sessionId` is its session, which can be read as any other. `agentShort` is `agent` in a few characters, for a
    status bar. `agentSessionId` is the agent's own id of the conversation, and `path` the agent's file. A sub-agent's
    conversation is only listed if the one that started it is not known; `parent` is the agent's own id of that one, and
    "" for any other conversation. `live` says whether the conversation continues, and `processId` which process has it
    open, if the agent says so. `percent` is the used share of the window. `callsLeft` holds two numbers, the fewest and
    the most model calls until `compactsAt` in four of five cases. `idle` is a compaction that the agent makes because
    the conversation idles; null if it makes none. `nearness` is how near `compactsAt` is, or the end of
    the window if nothing compacts the context; it is null if the conversation is not live. `compactCommand` is what a
    user types in the agent to compact the conversation, "" if it is not known; some agents take what the summary must
    keep after it (`takesFocus`). `warnings` are sentences for the user.
    """

    session_id: str
    agent: str
    agent_short: str
    agent_session_id: str
    title: str
    cwd: str
    path: str
    parent: str
    model: str
    live: bool
    process_id: int | None
    used: int | None
    used_source: UsageSource | None
    percent: int | None
    window: int | None
    window_source: WindowSource | None
    compacts_at: int | None
    compacts_at_source: ThresholdSource | None
    calls_left: tuple[int, ...] | None
    idle: IdleCompaction | None
    nearness: Nearness | None
    messages: int | None
    warnings: tuple[str, ...]
    updated_at: int
    compact_command: str
    takes_focus: bool


class StartFollowingParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Starts following the conversations of agents on this machine, to which the user has agreed. `folders` are
    absolute paths: the newest conversation of each is listed, too, however old it is."""

    folders: tuple[str, ...] = ()


class FollowingParams(Struct, frozen=True, kw_only=True):
    """Empty params, of methods that take none."""


class FollowingResult(Struct, frozen=True, kw_only=True):
    """Whether the server follows, and the followed conversations, the last changed first."""

    following: bool
    rows: tuple[FollowedConversation, ...]


class FollowingChange(Struct, frozen=True, kw_only=True):
    """The params of `following/changed`: the followed conversations that are new or have changed. `gone` are the
    sessions of those that another session has replaced, because their agent wrote the file again."""

    rows: tuple[FollowedConversation, ...]
    gone: tuple[str, ...] = ()


async def start(workspace: Workspace, params: StartFollowingParams) -> FollowingResult:
    following = _following(workspace)
    await following.start(params.folders)
    return FollowingResult(following=True, rows=wire_rows(following.rows))


async def stop(workspace: Workspace, _: FollowingParams) -> FollowingResult:
    following = _following(workspace)
    await following.stop()
    return FollowingResult(following=False, rows=())


async def list_followed(workspace: Workspace, _: FollowingParams) -> FollowingResult:
    following = workspace.following
    if following is None:
        return FollowingResult(following=False, rows=())
    return FollowingResult(following=following.is_on, rows=wire_rows(following.rows))


def wire_rows(rows: Iterable[FollowedRow]) -> tuple[FollowedConversation, ...]:
    """Returns rows as they are sent."""
    return tuple(FollowedConversation(**asdict(row)) for row in rows)


def _following(workspace: Workspace) -> FollowsAgents:
    if workspace.following is None:
        raise Conflict("agents' conversations can't be followed through this connection; use `ullage watch`")
    return workspace.following
