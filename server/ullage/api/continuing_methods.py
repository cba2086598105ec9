"""The methods `continuing/*`: new sessions that agents resume. Params, results and handlers."""

from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from ullage.api.session_methods import SessionParams
from ullage.model.errors import Conflict, InvalidRequest
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.continuing import ContinuesSessions, PlannedSession, WantedSession


class AgentChoice(Struct, frozen=True, kw_only=True):
    """An agent in which a conversation can be continued. `word` is its name in commands. `own` says whether it is the
    conversation's own agent."""

    agent: str
    word: str
    own: bool


class ContinuingChoicesResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a conversation can be continued: in which agents of this machine, its own first, and whether it can go
    back to the context before its agent's own last compaction."""

    agents: tuple[AgentChoice, ...]
    before_compaction: bool


class ContinuingPreviewParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Previews a new session that the agent named `agent` in commands resumes; without it the conversation's own agent.

    Its context is the conversation's as it was before the agent's own last compaction (`beforeCompaction`), as it was
    after the message `messageId`, or the present one. `compacted` says whether Ullage compacts it; without it that is
    done for the conversation's own agent, if neither of the first two is asked for. `budget` is the most tokens of a
    compacted context, without what the agent adds, and `focus` says what its summary must keep.
    """

    session_id: str
    agent: str | None = None
    before_compaction: bool = False
    message_id: str | None = None
    compacted: bool | None = None
    budget: Annotated[int, Meta(ge=1)] | None = None
    focus: str = ""


class WriteContinuingParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Writes the new session of a preview."""

    preview_id: str


class ContinuingResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A new session of an agent. `written` is false for a preview, which `previewId` names until it is written or the
    server ends.

    `agentSessionId` is the session's id in the agent, `path` its file. `command` are the words that resume it in the
    folder `cwd`; `shell` is the same as a line for a shell, for any folder. `messages` are those of its context, and
    `leftOut` those of the conversation that are not among them. `used` is the size of its context in tokens, with the
    `hidden` ones that the agent adds to every request; `before` is the size before Ullage compacted it, null if it did
    not. `size` is the window and `compactsAt` where the agent compacts by itself, null if unknown. `fits` is
    false if the agent may compact the session before it asks the first prompt. `notes` are sentences for the user.
    """

    written: bool
    preview_id: str
    agent: str
    agent_session_id: str
    path: str
    cwd: str
    command: tuple[str, ...]
    shell: str
    messages: int
    left_out: int
    used: int
    hidden: int
    before: int | None
    size: int | None
    compacts_at: int | None
    fits: bool
    notes: tuple[str, ...]


async def choices(workspace: Workspace, params: SessionParams) -> ContinuingChoicesResult:
    found = await _continuing(workspace).choices(params.session_id)
    agents = tuple(AgentChoice(agent=one.agent, word=one.word, own=one.is_own) for one in found.agents)
    return ContinuingChoicesResult(agents=agents, before_compaction=found.before_compaction)


async def preview(workspace: Workspace, params: ContinuingPreviewParams) -> ContinuingResult:
    if params.before_compaction and params.message_id is not None:
        raise InvalidRequest("continuing/preview: give beforeCompaction or messageId, not both")
    given = {name: value for name, value in asdict(params).items() if value is not None}
    return _result(await _continuing(workspace).plan(WantedSession(**given)), written=False)


async def write(workspace: Workspace, params: WriteContinuingParams) -> ContinuingResult:
    return _result(await _continuing(workspace).write(params.preview_id), written=True)


def _result(planned: PlannedSession, *, written: bool) -> ContinuingResult:
    known = asdict(planned)
    return ContinuingResult(preview_id=known.pop("id"), written=written, **known)


def _continuing(workspace: Workspace) -> ContinuesSessions:
    if workspace.continuing is None:
        raise Conflict("no session can be continued through this connection; use `ullage continue`")
    return workspace.continuing
