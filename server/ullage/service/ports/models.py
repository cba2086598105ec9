"""Ports to models, to the machine and to listeners: providers, limits and prices, summarizers, tools, linked files,
asking the user; time, ids, programs, files, updates; continuing a conversation as an agent's new session; and all
ports together (`Ports`)."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Protocol

from msgspec import Meta, Struct

from ullage.agents.agent import Agent
from ullage.agents.discovery import Discovery, Wanted
from ullage.agents.own_context import Given, Instructions
from ullage.model.answer import Fragment, ModelRequest, OfferedModel, OfferedModels, Purpose, SpokenMessage
from ullage.model.message import ArtifactLedger, ImageBlock, SealedCompaction, ToolDefinition, ToolUseBlock
from ullage.model.settings import ModelSettings, SearchSettings, Settings
from ullage.model.updates import PermissionAnswer, ToolCall, ToolKind, ToolLocation, Update
from ullage.model.usage import FollowedRow, Price
from ullage.service.ports.store import SessionStore, TakesNews, no_news
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.summary.reader import Reader


class ProviderCapabilities(Struct, frozen=True, kw_only=True):
    """What a provider can do for one model.

    `native_tools`: tools are sent in the API's own fields; without it they are described in text and read from text.
    `counts_tokens`: `count_tokens` gives a figure. `replays`: a recording answers, so the context is not managed.
    `manages_context`: the provider clears old tool results when the request asks for it. `compacts_from`: the provider
    can compact a prompt of at least this many tokens by itself, None if it cannot. `seals`: that compaction is
    encrypted, and only the provider can read it. `caches_tool_choice`: a changed `tool_choice` invalidates the
    provider's prompt cache. `documents`: the provider takes PDF documents; without it the model is sent a sentence in
    place of each.
    """

    native_tools: bool = True
    counts_tokens: bool = False
    replays: bool = False
    manages_context: bool = False
    compacts_from: int | None = None
    seals: bool = False
    caches_tool_choice: bool = False
    documents: bool = False


class Provider(Protocol):
    """A source of models' answers: an API reached by an SDK, a server, or a script.

    All methods raise only errors under `ProviderError`. They end their request at once when the task is cancelled or
    the stream is closed.
    """

    @property
    def name(self) -> str:
        """The provider's name in the settings: `anthropic`, `openai` or a name that the user chose."""
        ...

    def capabilities(self, model: str, /) -> ProviderCapabilities:
        """Returns what the provider can do for this model."""
        ...

    def stream(self, request: ModelRequest, /) -> AsyncGenerator[Fragment]:
        """Yields the answer's fragments up to `Finished`. Closing it (`contextlib.aclosing`) ends the request."""
        ...

    async def count_tokens(self, request: ModelRequest, /) -> int | None:
        """Returns the prompt's tokens by the provider's own count, or None if it offers none."""
        ...

    async def check(self, model: str, /) -> str:
        """Asks the provider for information on the model, or for its list of models if `model` is empty; no model is
        prompted. Returns one line for `ullage doctor` that says that the provider answers. Raises the errors of a real
        request."""
        ...

    async def close(self) -> None:
        """Closes the connections. The provider cannot be used afterwards."""
        ...


class Providers(Protocol):
    """Finds the provider of a model by the settings."""

    def __call__(self, model: str, settings: Settings, /) -> Provider:
        """Returns the provider that the settings name, or else the one that the model's name and the available keys
        imply. Raises `NoModelConfigured` if there is none, and `SdkMissing` if its package is not installed."""
        ...

    def name(self, model: str, settings: Settings, /) -> str:
        """Returns the name of the provider of a model by the settings, without importing or making the provider. Raises
        `NoModelConfigured` or `SdkMissing`. The first call may ask the system's keyring, which takes a moment, so call
        this method in a thread."""
        ...

    async def close(self) -> None:
        """Closes every provider that was returned so far."""
        ...


class EditorModels(Protocol):
    """The models that the user's editor offers. `editor` is what users call it."""

    @property
    def editor(self) -> str: ...

    def offered(self, model: str, /) -> OfferedModel | None:
        """Returns a model by its name in a session, None if the editor does not offer it now."""
        ...

    def offer(self, models: OfferedModels, /) -> None:
        """Takes the models that the editor offers from now on."""
        ...

    def take_piece(self, request_id: str, text: str, /) -> None:
        """Takes the next piece of an answer. A piece of an answer that was stopped is dropped."""
        ...

    def stream(self, model: str, purpose: Purpose, messages: tuple[SpokenMessage, ...], /) -> AsyncGenerator[str]:
        """Yields the pieces of a model's answer. Closing it ends the request. Raises `ProviderError`."""
        ...

    async def count(self, model: str, messages: tuple[SpokenMessage, ...], /) -> int | None:
        """Returns the tokens of a prompt by the model's own count, None if there is no such count."""
        ...


class ToolAbout(Struct, frozen=True, kw_only=True):
    """A description of a tool call for the user. `locations` are the files that the call concerns."""

    title: str
    kind: ToolKind
    locations: tuple[ToolLocation, ...] = ()


class Question(Struct, frozen=True, kw_only=True):
    """What the user is asked before a tool call. `title` replaces the call's if it is not empty. An answer
    `allow_always` covers later calls with the same `key`."""

    key: str
    title: str = ""


class ToolOutcome(Struct, frozen=True, kw_only=True):
    """A tool call's result for the model: a text, and pictures. `is_error` is set if the call failed."""

    text: str
    is_error: bool = False
    images: tuple[ImageBlock, ...] = ()


class Toolbox(Protocol):
    """Ullage's own tools, which a model may call in a prompt turn."""

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The definitions of the tools, as they are offered to the model."""
        ...

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        """Returns a description of a tool call for the user. Never raises, whatever the tool and its input."""
        ...

    async def question(self, session_id: str, cwd: str, use: ToolUseBlock, /) -> Question | None:
        """Returns what the user must be asked before a tool call in the session with the folder `cwd`. Returns None if
        the call may be made without asking. Never raises."""
        ...

    async def run(self, session_id: str, cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        """Runs a tool call in the session with the folder `cwd` and returns its result. A failure is a result that the
        model reads. Cancelling the task cancels the call."""
        ...


# Returns the text of the file at an absolute path, for a session, as the user's editor holds it, unsaved changes
# included. Returns None if the editor cannot give it.
ReadInEditor = Callable[[str, str], Awaitable[str | None]]


class Permissions(Protocol):
    """Asks the user whether a tool call may be made."""

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        """Asks the user about the tool call. If the task is cancelled, the question is withdrawn."""
        ...


class ModelLimits(Protocol):
    """A model's limits in tokens. None means unknown."""

    @property
    def input(self) -> int | None:
        """The most tokens of a prompt."""
        ...

    @property
    def basis(self) -> str:
        """Where `input` comes from if it is not set, in words for the user."""
        ...

    @property
    def is_set(self) -> bool:
        """Whether `input` comes from the user's settings."""
        ...

    @property
    def total(self) -> int | None:
        """The most tokens of prompt and answer together, the window that they share."""
        ...

    @property
    def max_output(self) -> int | None:
        """The most tokens of one answer."""
        ...


# Returns the limits of a model, which may be given by any of its names. The `models` of the user's settings win.
Catalog = Callable[[str, Mapping[str, ModelSettings]], ModelLimits]
# Returns the list price of a model, which may be given by any of its names, or None if it is unknown.
Prices = Callable[[str], Price | None]


class SummaryStream(Struct, frozen=True, kw_only=True):
    """A summary while it is written. `ledger` is complete and made by code. `pieces` yields the summary's text in
    chunks. `sealed` is the provider's own encrypted compaction, None if it made none."""

    ledger: ArtifactLedger
    pieces: AsyncIterator[str]
    sealed: SealedCompaction | None = None


class Summarizer(Protocol):
    """Writes the summary of a compaction."""

    @property
    def name(self) -> str:
        """The summarizer's name as users see it: `offline`, or the name of the model."""
        ...

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: "Reader") -> SummaryStream:
        """Begins a summary. `counter` counts tokens, and `reader` remembers the texts that it read for earlier
        summaries. Raises `ProviderError`, also while `pieces` is read. Cancelling the task cancels the summary."""
        ...


# Finds the user's own instructions for summaries that a model writes. Takes the project's folder and the file that the
# settings name. Returns the text of that file, and the instructions of the project; empty if there are none. Raises
# `InvalidRequest` if the file cannot be read.
SummaryPrompts = Callable[[str, str], tuple[str, ...]]


class LookUpResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tool's text: at most 4 KB, in which everything that was said is quoted. `isError` says that it says what was
    wrong with the call."""

    text: str
    is_error: bool


# Has a tool of the MCP server answer about a session: takes the session's id, the tool's name and its arguments. Raises
# `SessionNotFound`, and `InvalidRequest` if there is no such tool.
LooksUp = Callable[[str, str, Mapping[str, Any]], Awaitable[LookUpResult]]


class SessionTools(Protocol):
    """The tools that a door has for each of its sessions, besides those of the toolbox."""

    async def prepare(self, session_id: str) -> None:
        """Called when a prompt turn begins. Starts what the session's tools need; a failure is a notice."""
        ...

    async def refresh(self, session_id: str) -> None:
        """Finds out, before each request and `offered`, which tools there are now. Never raises."""
        ...

    def offered(self, session_id: str, declared: Sequence[ToolDefinition]) -> tuple[ToolDefinition, ...]:
        """Returns the tools that the model is offered now: the `declared` ones that are not the door's, and the
        door's own as they are now. Called before each request."""
        ...

    def reminder(self, session_id: str) -> str:
        """Returns a text sent with each request while the session's mode asks for it, or "". Not in the transcript."""
        ...

    def describe(self, session_id: str, use: ToolUseBlock) -> ToolAbout | None:
        """Returns a description of a tool call for the user, or None if the tool is not the door's. Never raises."""
        ...

    def question(self, session_id: str, use: ToolUseBlock) -> Question | None:
        """Returns what the user must be asked before a call of one of the door's tools, or None if nothing."""
        ...

    async def run(self, session_id: str, use: ToolUseBlock) -> ToolOutcome:
        """Runs a call of a door's tool and returns its result, also if it fails. Cancelled with its task."""
        ...


class LinkedFile(Struct, frozen=True, kw_only=True):
    """A file or folder that a prompt links to. `path` is absolute, with links followed; a reading does not leave
    `folder`. `question` is what the user must be asked before it is read, None where it may be read without asking."""

    path: str
    folder: str
    is_folder: bool = False
    question: Question | None = None


class FileContent(Struct, frozen=True, kw_only=True):
    """What was read of a file: its text, or the `data` and media type of a picture or a PDF. `fault` ends a sentence
    that says why nothing was read."""

    text: str = ""
    data: bytes = b""
    media_type: str = ""
    fault: str = ""


class LinkedFiles(Protocol):
    """Finds and reads the files that a prompt links to."""

    async def find(self, session_id: str, cwd: str, path: str) -> LinkedFile | None:
        """Returns the file or folder at a path, absolute or relative to the session's `cwd`, or None."""
        ...

    async def read(self, session_id: str, file: LinkedFile) -> FileContent:
        """Returns the content of a found file, as the user's editor holds it if it can say. Never raises."""
        ...


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
    agent_settings: ReadAgentSettings = lambda _, __, ___, ____: _NOTHING_GIVEN
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
        """Writes a planned session and forgets it. Raises `PreviewExpired`, or `InvalidRequest` if that fails."""
        ...
