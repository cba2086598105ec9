"""Ports to the machine and to listeners: time, ids, programs, files, updates; and all ports together (`Ports`).

How a conversation is continued as a new session of an agent: the values, as they are sent, and the port.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from ullage.agents.agent import Agent
from ullage.agents.discovery import Discovery, Wanted
from ullage.agents.own_context import Given
from ullage.agents.own_prompt import Instructions
from ullage.model.settings import SearchSettings
from ullage.model.updates import Update
from ullage.model.usage import FollowedRow
from ullage.service.ports.models import Catalog, Prices, Providers, Summarizer, SummaryPrompts, Toolbox
from ullage.service.ports.store import SessionStore, TakesNews, no_news

_NOTHING_GIVEN = Given()


class Clock(Protocol):
    """The present time, and waiting."""

    def now(self) -> int:
        """Returns the present time in Unix milliseconds."""
        ...

    async def wait(self, seconds: float) -> None:
        """Waits for this number of seconds."""
        ...


class Chance(Protocol):
    """The source of random numbers."""

    def share(self) -> float:
        """Returns a random number from 0 to 1, 1 excluded."""
        ...


class Ids(Protocol):
    """The source of new ids for sessions, messages, edits and the like."""

    def new(self, prefix: str) -> str:
        """Returns an id that was never given before. It begins with `prefix`."""
        ...


class Indexing(Struct, frozen=True, kw_only=True):
    """The progress of indexing during a search: `left` of `total` records are not indexed yet, 0 at the end.
    `cancel` cancels the search."""

    id: str
    left: int
    total: int
    cancel: Callable[[], object]


class SearchWait(Struct, frozen=True, kw_only=True):
    """How a search waits for the index, in seconds: its progress is published after `silent`, since most searches are
    done by then and a progress bar would only flicker; after about `most` what is indexed is searched, as few users
    wait longer in an editor and agents give a tool call up. None: when all is indexed. `embeddings` is how long the
    embeddings server is waited for."""

    silent: float = 0.5
    most: float | None = 10.0
    embeddings: float = 5.0


class CommandOutcome(Struct, frozen=True, kw_only=True):
    """The result of running a program: its exit status and the beginning of its output and error output. `fault` says
    why there is no exit status (not started, or stopped after the timeout); it is empty if the program ended by itself.
    """

    status: int = 0
    out: str = ""
    err: str = ""
    fault: str = ""


class CommandRunner(Protocol):
    """Runs the user's own programs."""

    async def run(self, command: Sequence[str], given: bytes, timeout: float) -> CommandOutcome:
        """Runs a program with `given` on its standard input, for at most `timeout` seconds, and returns its outcome.
        Nothing that the program does raises an error. When this method returns or is cancelled, the program has ended.
        """
        ...


class ProjectFile(Struct, frozen=True, kw_only=True):
    """A file of a project. `path` is relative to the project's folder. `text` is its beginning, empty if the file was
    not read."""

    path: str
    text: str = ""


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a system prompt says of the machine and of a session's folder.

    `date` is ISO 8601. `branch` is the branch of the folder's Git repository, empty if there is none. `folders` are the
    folder and those around it, up to the repository's root, nearest first; without a repository the folder alone.
    """

    platform: str
    date: str
    branch: str = ""
    folders: tuple[str, ...] = ()


class ProjectFiles(Protocol):
    """The files of projects on disk."""

    def find(self, folder: str, names: Sequence[str], trusted: Sequence[str], most: int) -> tuple[ProjectFile, ...]:
        """Returns the files of `folder` that `names` names, if they are plain files, in the given order. If the folder
        lies in one of the `trusted` folders, up to `most` characters of each file are read. Blocks on the disk; never
        raises."""
        ...


# Finds the conversations that coding agents keep on this machine. Returns the wanted ones, without those of sub-agents,
# and the files that could not be read. Blocks while it reads the disk. Never raises.
FindTranscripts = Callable[[Wanted], Discovery]


# Returns what the user's settings of an agent on this machine say about compaction in a folder ("" if unknown), for a
# model. Blocks on the disk for about a millisecond; never raises.
ReadAgentSettings = Callable[[Agent, str, str, str], Given]


def _no_agent_settings(_: Agent, __: str, ___: str, ____: str) -> Given:
    return _NOTHING_GIVEN


# Returns the user's files on this machine that an agent adds to each request in a folder ("" if unknown), as they are
# now. Blocks on the disk for about a millisecond; never raises.
ReadInstructions = Callable[[Agent, str], tuple[Instructions, ...]]


class Listener(Protocol):
    """Gets the updates of sessions. A door is one, for example, which sends them to its client."""

    def session_updated(self, session_id: str, update: Update) -> None:
        """Called with each update of a session, on the event loop, in order. Must not block."""
        ...


class IndexingListener(Protocol):
    """Shows the progress of indexing during a search."""

    def indexing(self, progress: Indexing) -> None:
        """Called with the progress of an indexing that takes long, on the event loop. Must not block."""
        ...


# Asks the embeddings server that the settings name. Returns a vector for each text, all of one length: vectors are near
# each other for texts of like meaning. Raises `ProviderError` if the server can't be asked, refuses, or answers with
# anything else.
Embeds = Callable[[SearchSettings, Sequence[str]], Awaitable[list[Sequence[float]]]]


class Ports(Struct, frozen=True, kw_only=True):
    """The ports of one workspace, filled by the composition root (`app`). Without `embed`, searches go by words alone,
    whatever the settings say."""

    store: SessionStore
    catalog: Catalog
    clock: Clock
    chance: Chance
    ids: Ids
    summarizer: Summarizer
    providers: Providers
    toolbox: Toolbox
    prices: Prices
    prompts: SummaryPrompts
    commands: CommandRunner
    project_files: ProjectFiles
    transcripts: FindTranscripts
    embed: Embeds | None = None
    agent_settings: ReadAgentSettings = _no_agent_settings
    instructions: ReadInstructions = lambda _agent, _cwd: ()
    store_news: TakesNews = no_news


class FollowingListener(Protocol):
    """Gets the rows of followed conversations that have changed."""

    def following_changed(self, rows: Sequence[FollowedRow], gone: Sequence[str]) -> None:
        """Called on the event loop with the rows that are new or have changed, and with the sessions that are no longer
        followed because another one took their place."""
        ...


class KeepingQuestion(Struct, frozen=True, kw_only=True):
    """What the user is asked once: whether agents' files are kept, which agents delete after a while. Now they would be
    `conversations` files of `size` bytes, kept compressed in the archive at `path`, in at most `limit` bytes, null for
    no limit."""

    conversations: int
    size: int
    path: str
    limit: int | None


class FollowsAgents(Protocol):
    """Following in one process: off until `start` is called."""

    @property
    def is_on(self) -> bool:
        """Whether conversations are followed now."""
        ...

    @property
    def rows(self) -> tuple[FollowedRow, ...]:
        """The followed conversations, the last changed first; none while following is off."""
        ...

    async def start(self, folders: Sequence[str], *, only: bool = False) -> None:
        """Starts following, if it is off, and reads the newest conversation of each folder, however old it is. Returns
        once these were read. With `only`, the conversations of these folders and the folders in them alone are listed.
        Raises `StoreError`."""
        ...

    async def stop(self) -> None:
        """Stops following. The sessions stay in the store as they are."""
        ...

    async def asks_to_keep(self) -> KeepingQuestion | None:
        """Returns what the user is to be asked; None once that was answered, or if the settings turn keeping off."""
        ...

    async def keep(self, *, wanted: bool) -> None:
        """Notes whether the user wants agents' files kept. Raises `StoreError`."""
        ...


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


class ContinuesSessions(Protocol):
    """Makes new sessions of agents from conversations."""

    async def choices(self, session_id: str) -> ContinuingChoicesResult:
        """Returns how a conversation can be continued. Raises `SessionNotFound`."""
        ...

    async def plan(self, wanted: ContinuingPreviewParams) -> ContinuingResult:
        """Returns a new session; nothing is written. If it is cancelled, so is the work on it. Raises `InvalidRequest`
        if there can't be one, for example because the agent is not on this machine, and `SessionNotFound` or
        `MessageNotFound`."""
        ...

    async def write(self, preview_id: str) -> ContinuingResult:
        """Writes a planned session, and forgets it. Raises `PreviewExpired` if no such session is planned any more, and
        `InvalidRequest` if it can't be written."""
        ...
