"""The methods about the coding agents of this machine: params, results, handlers, and the notification of a change.

`following/*` follows their conversations, and `transcripts/*` lists them. `agents/*` adds Ullage to their settings and
takes it out again. `continuing/*` makes new sessions that they resume.

The methods `team/*`: params, results and handlers.
"""

import asyncio
import difflib
import hashlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from ullage.agents.discovery import UnreadFile, Wanted, is_in
from ullage.api.session_methods import SessionParams
from ullage.model.errors import Conflict, InvalidRequest, PreviewExpired
from ullage.model.usage import (
    FollowedRow,
    GoodMoment,
    IdleCompaction,
    Nearness,
    PromptCache,
    RateLimit,
    ThresholdSource,
    UsageSource,
    WindowSource,
)
from ullage.service.archive.naming import Listed, list_found
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import (
    ContinuesSessions,
    ContinuingChoicesResult,
    ContinuingPreviewParams,
    ContinuingResult,
    FollowsAgents,
    KeepingQuestion,
)
from ullage.service.ports.store import ReadsTeam, TeamHit, TeamOpenResult
from ullage.system.desktop import shows
from ullage.wire.plan import AgentChange, FileChange, WiresAgents

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
    the conversation idles; null if it makes none. `cache` is the provider's cache of the last prompt, with what the
    next one costs; null if that is not known. `moment` says that now is a good moment to go on in a new session; null
    if it is not. `rateLimits` is what the agent said last of the limits of the user's subscription. `nearness` is how
    near `compactsAt` is, or the end of the window if nothing compacts the context; it is null if the conversation is
    not live. `compactCommand` is what a user types in the agent to compact the conversation, "" if it is not known;
    some agents take what the summary must keep after it (`takesFocus`). `warnings` are sentences for the user. `forks`
    are the agent's own ids of conversations with the same beginning that are not listed.
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
    cache: PromptCache | None
    moment: GoodMoment | None
    rate_limits: tuple[RateLimit, ...]
    nearness: Nearness | None
    messages: int | None
    warnings: tuple[str, ...]
    forks: tuple[str, ...]
    updated_at: int
    compact_command: str
    takes_focus: bool


class StartFollowingParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Starts following the conversations of agents on this machine, to which the user has agreed. `folders` are
    absolute paths: the newest conversation of each is listed, too, however old it is. If `all` is false, only
    conversations of these folders and the folders in them are listed; without `folders` all are."""

    folders: tuple[str, ...] = ()
    all: bool = True


class FollowingParams(Struct, frozen=True, kw_only=True):
    """Empty params, of methods that take none."""


class FollowingResult(Struct, frozen=True, kw_only=True):
    """Whether the server follows, and the followed conversations, the last changed first. `keeping` is what the user
    is to be asked, once: it is in the answer of `following/start` until `following/keep` has brought an answer.
    `desktop` says that the server tells the user what is due by notifications of the operating system: an editor says
    only that a compaction is near."""

    following: bool
    rows: tuple[FollowedConversation, ...]
    keeping: KeepingQuestion | None = None
    desktop: bool = False


class KeepParams(Struct, frozen=True, kw_only=True):
    """The user's answer to whether agents' files are kept. It holds for all editors, and `ullage keep` changes it."""

    keep: bool


class FollowingChange(Struct, frozen=True, kw_only=True):
    """The params of `following/changed`: the followed conversations that are new or have changed. `gone` are the
    sessions of those that were deleted, or that another session has replaced, because their agent wrote the file again.
    `desktop` is as in `FollowingResult`."""

    rows: tuple[FollowedConversation, ...]
    gone: tuple[str, ...] = ()
    desktop: bool = False


async def start_following(workspace: Workspace, params: StartFollowingParams) -> FollowingResult:
    following = _following(workspace)
    await following.start(params.folders, only=not params.all)
    return FollowingResult(
        following=True,
        rows=wire_rows(following.rows),
        keeping=await following.asks_to_keep(),
        desktop=shows(workspace.settings.notices),
    )


async def keep_agents_files(workspace: Workspace, params: KeepParams) -> FollowingResult:
    following = _following(workspace)
    await following.keep(wanted=params.keep)
    return FollowingResult(following=following.is_on, rows=wire_rows(following.rows))


async def stop_following(workspace: Workspace, _: FollowingParams) -> FollowingResult:
    following = _following(workspace)
    await following.stop()
    return FollowingResult(following=False, rows=())


async def list_followed(workspace: Workspace, _: FollowingParams) -> FollowingResult:
    following = workspace.following
    if following is None:
        return FollowingResult(following=False, rows=())
    return FollowingResult(following=following.is_on, rows=wire_rows(following.rows))


def wire_rows(rows: Iterable[FollowedRow]) -> tuple[FollowedConversation, ...]:
    return tuple(FollowedConversation(**asdict(row)) for row in rows)


def _following(workspace: Workspace) -> FollowsAgents:
    if workspace.following is None:
        raise Conflict("agents' conversations can't be followed through this connection; `ullage lsp` follows them")
    return workspace.following


# Users do not read longer lists.
_LIMIT, _MOST = 30, 500


class ListTranscriptsParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Lists the conversations that coding agents keep on this machine, the newest first.

    `cwd` is an absolute path: the conversations of this folder and the folders in it are listed before the others. If
    `all` is false, the others are left out. Without `cwd`, all are listed. `limit` is the largest number of
    conversations.
    """

    cwd: str = ""
    all: bool = True
    limit: Annotated[int, Meta(ge=1, le=_MOST)] = _LIMIT


class FoundTranscript(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation in an agent's own file. A text is "" if it is not known.

    `path` and `run` are those of `session/import`; `run` is null if the file contains one conversation. `agent` is the
    product's name, `format` the name of the file's format, and `originId` the agent's own id of the conversation.
    `here` says whether it began in `cwd` or in a folder in it. `updatedAt` is Unix milliseconds, `bytes` the size of
    the file. `sessionId` is the id of the stored session that was imported from it last, or null. `used` and `window`
    (tokens) and `percent` say how full the context is, null as far as that is not known.
    """

    path: str
    run: int | None
    agent: str
    format: str
    origin_id: str
    title: str
    cwd: str
    here: bool
    model: str
    updated_at: int
    bytes: int
    session_id: str | None
    used: int | None
    window: int | None
    percent: int | None


class ListTranscriptsResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The conversations, without those of sub-agents, and the files that could not be read."""

    transcripts: tuple[FoundTranscript, ...]
    unread: tuple[UnreadFile, ...]


async def list_transcripts(workspace: Workspace, params: ListTranscriptsParams) -> ListTranscriptsResult:
    wanted = Wanted(folder=params.cwd, limit=params.limit, alone=bool(params.cwd) and not params.all)
    listing = await list_found(workspace, wanted)
    return ListTranscriptsResult(
        transcripts=tuple(_found_row(listed, params.cwd) for listed in listing.conversations), unread=listing.unread
    )


def _found_row(listed: Listed, cwd: str) -> FoundTranscript:
    found = listed.found
    return FoundTranscript(
        path=found.path,
        run=found.run,
        agent=found.agent,
        format=found.format,
        origin_id=found.origin_id,
        title=found.title,
        cwd=found.cwd,
        here=is_in(found.cwd, cwd),
        model=found.model,
        updated_at=found.updated_at,
        bytes=found.size,
        session_id=listed.session_id,
        used=found.used,
        window=found.window,
        percent=found.percent,
    )


class UnwireParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Takes Ullage out of the agent `agent`, or without it out of all agents. `agent` is a name as in commands, such as
    `claude-code`. `dryRun` previews the change. With `previewId`, the change of that preview is made to what the
    settings say now, or nothing."""

    agent: str | None = None
    dry_run: bool = False
    preview_id: str | None = None


class WireParams(UnwireParams, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Adds Ullage to the agent `agent`, or without it to all agents on this machine. `agent` is a name as in commands,
    such as `claude-code`. With `statusLine` it also becomes the agent's status line, and with `fillNotes` the agent's
    model gets notes of how full the context is. Without them both stay as they are; false takes them out. `dryRun`
    previews the change. With `previewId`, exactly the change of that preview is made, or nothing."""

    status_line: bool | None = None
    fill_notes: bool | None = None


class WiringOption(Struct, frozen=True, kw_only=True):
    """A param of `agents/wire` that an agent knows, and whether the agent has it after the change (`on`)."""

    name: Literal["statusLine", "fillNotes"]
    on: bool


class FileDifference(Struct, frozen=True, kw_only=True):
    """A change of a file. `before` and `after` are its texts, null where there is no file. `difference` has the changed
    lines with two lines around them, as `diff -u` writes them, without the files' names."""

    path: str
    before: str | None
    after: str | None
    difference: str


class WiredAgent(Struct, frozen=True, kw_only=True):
    """An agent whose settings change. `word` is its name in commands and `path` the file with its settings. `wired`
    says whether Ullage was added to it before this change. `files` are the changes; there are none if everything is as
    wanted already. `notes` are sentences about what the user has to know or do. `failed` says that settings of this
    agent, which was not named in the params, can't be changed; its note says why. `options` are what else the agent can
    get; taking out has none."""

    agent: str
    word: str
    path: str
    wired: bool
    files: tuple[FileDifference, ...]
    notes: tuple[str, ...]
    failed: bool
    options: tuple[WiringOption, ...]


class WiringResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of agents' settings. `done` is false for a preview, which has a `previewId`. Without an agent in the
    params, `agents` is empty if none is on this machine."""

    agents: tuple[WiredAgent, ...]
    done: bool
    preview_id: str | None = None


async def wire(workspace: Workspace, params: WireParams) -> WiringResult:
    wiring = _wiring(workspace)
    changes = await asyncio.to_thread(
        wiring.add, _words(params), status_line=params.status_line, fill_notes=params.fill_notes
    )
    return await _settle(wiring, changes, params)


async def unwire(workspace: Workspace, params: UnwireParams) -> WiringResult:
    wiring = _wiring(workspace)
    changes = await asyncio.to_thread(wiring.take_out, _words(params))
    return await _settle(wiring, changes, params)


def _words(params: UnwireParams) -> Sequence[str]:
    return (params.agent,) if params.agent else ()


async def _settle(wiring: WiresAgents, changes: Sequence[AgentChange], params: UnwireParams) -> WiringResult:
    shown = await asyncio.to_thread(_id_of, changes)
    if params.dry_run:
        return WiringResult(agents=tuple(map(_agent, changes)), done=False, preview_id=shown)
    if params.preview_id not in (None, shown):
        raise PreviewExpired(
            "the settings have changed since the preview, so that another change would be made; look at that one"
        )
    await asyncio.to_thread(_make, wiring, changes)
    return WiringResult(agents=tuple(map(_agent, changes)), done=True)


def _make(wiring: WiresAgents, changes: Iterable[AgentChange]) -> None:
    for change in changes:
        if not change.failed and (change.files or change.is_wired):
            wiring.make(change)


def _id_of(changes: Sequence[AgentChange]) -> str:
    return hashlib.sha256(msgspec.json.encode([change.meaning for change in changes])).hexdigest()[:32]


def _agent(change: AgentChange) -> WiredAgent:
    return WiredAgent(
        agent=change.agent,
        word=change.word,
        path=change.path,
        wired=change.is_wired,
        files=tuple(map(_file, change.files)),
        notes=change.notes,
        failed=change.failed,
        options=tuple(WiringOption(name=option.name, on=option.is_on) for option in change.options),
    )


def _file(change: FileChange) -> FileDifference:
    before, after = _file_text(change.before), _file_text(change.after)
    lines = difflib.unified_diff((before or "").splitlines(), (after or "").splitlines(), lineterm="", n=2)
    # The first two lines name the files.
    return FileDifference(path=change.path, before=before, after=after, difference="\n".join([*lines][2:]))


def _file_text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _wiring(workspace: Workspace) -> WiresAgents:
    if workspace.wiring is None:
        raise Conflict("agents' settings can't be changed through this connection; `ullage lsp` changes them")
    return workspace.wiring


class WriteContinuingParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Writes the new session of a preview."""

    preview_id: str


async def continuing_choices(workspace: Workspace, params: SessionParams) -> ContinuingChoicesResult:
    return await _continuing(workspace).choices(params.session_id)


async def preview_continuing(workspace: Workspace, params: ContinuingPreviewParams) -> ContinuingResult:
    if params.before_compaction and params.message_id is not None:
        raise InvalidRequest("continuing/preview: give beforeCompaction or messageId, not both")
    return await _continuing(workspace).plan(params)


async def write_continuing(workspace: Workspace, params: WriteContinuingParams) -> ContinuingResult:
    return await _continuing(workspace).write(params.preview_id)


def _continuing(workspace: Workspace) -> ContinuesSessions:
    if workspace.continuing is None:
        raise Conflict("no session can be continued through this connection; `ullage lsp` continues them")
    return workspace.continuing


class TeamSearchParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Searches the team's archive: the redacted copies that its members share with the user, and the user's own. The
    query is that of `context/search`."""

    query: str
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class TeamHitRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message in the team's archive that matches. `owner` is the role of the database whose it is; `folder` and
    `title` are those of its session. `index`, `role`, `score`, `snippet` and `fits` are as in `SearchHit`, `text` is
    the part of the message that matches. `sessionId` names the copy, which `team/open` alone takes."""

    owner: str
    folder: str
    title: str
    session_id: str
    index: int
    role: str
    score: float
    snippet: str
    fits: bool
    text: str


class TeamSearchResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The messages that match, best first."""

    hits: tuple[TeamHitRow, ...]


class TeamOpenParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Reads a whole message in the team's archive: one that `team/search` has found, or one before or after it."""

    session_id: str
    index: Annotated[int, Meta(ge=0)]


async def search_team(workspace: Workspace, params: TeamSearchParams) -> TeamSearchResult:
    found = await _team(workspace, "team/search").search(params.query, params.limit)
    return TeamSearchResult(hits=tuple(map(_row, found)))


async def open_team_message(workspace: Workspace, params: TeamOpenParams) -> TeamOpenResult:
    (message,) = await _team(workspace, "team/open").open(params.session_id, params.index, params.index + 1)
    return message


def _team(workspace: Workspace, method: str) -> ReadsTeam:
    if workspace.team is None:
        raise InvalidRequest(f"{method}: this server has no team's archive; run `ullage lsp`")
    return workspace.team


def _row(hit: TeamHit) -> TeamHitRow:
    found = hit.passage.hit
    return TeamHitRow(
        owner=hit.owner,
        folder=hit.folder,
        title=hit.title,
        session_id=found.session_id,
        index=found.index,
        role=found.role,
        score=found.score,
        snippet=found.snippet,
        fits=found.fits,
        text=hit.passage.text,
    )
