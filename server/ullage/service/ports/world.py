"""Ports to the machine and to listeners: time, ids, programs, files, updates; and all ports together (`Ports`)."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from ullage.agents.agent import Agent
from ullage.agents.discovery import Discovery, Wanted
from ullage.agents.own_settings import Given
from ullage.model.figure import FollowedRow
from ullage.model.settings import SearchSettings
from ullage.model.updates import Update
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


class TranscriptFinder(Protocol):
    """Finds the conversations that coding agents keep on this machine."""

    def find(self, wanted: Wanted) -> Discovery:
        """Returns the wanted conversations, without those of sub-agents, and the files that could not be read. Blocks
        while it reads the disk. Never raises."""
        ...


class AgentSettings(Protocol):
    """The user's settings of coding agents on this machine."""

    def read(self, agent: Agent, cwd: str, model: str) -> Given:
        """Returns what the agent's settings say about compaction in the folder `cwd` ("" if unknown), for a model.
        Blocks on the disk for about a millisecond; never raises."""
        ...


class NoAgentSettings:
    """Knows no settings of any agent."""

    def read(self, agent: Agent, cwd: str, model: str) -> Given:  # noqa: ARG002 - the port's parameters
        return _NOTHING_GIVEN


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


class Embeds(Protocol):
    """Asks the embeddings server that the settings name: vectors are near each other for texts of like meaning."""

    async def __call__(self, settings: SearchSettings, texts: Sequence[str], /) -> list[Sequence[float]]:
        """Returns a vector for each text, all of one length. Raises `ProviderError` if the server can't be asked,
        refuses, or answers with anything else."""
        ...


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
    transcripts: TranscriptFinder
    embed: Embeds | None = None
    agent_settings: AgentSettings = NoAgentSettings()
    store_news: TakesNews = no_news


class FollowingListener(Protocol):
    """Gets the rows of followed conversations that have changed."""

    def following_changed(self, rows: Sequence[FollowedRow], gone: Sequence[str]) -> None:
        """Called on the event loop with the rows that are new or have changed, and with the sessions that are no longer
        followed because another one took their place."""
        ...


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

    async def start(self, folders: Sequence[str]) -> None:
        """Starts following, if it is off, and reads the newest conversation of each folder, however old it is. Returns
        once these were read. Raises `StoreError`."""
        ...

    async def stop(self) -> None:
        """Stops following. The sessions stay in the store as they are."""
        ...
