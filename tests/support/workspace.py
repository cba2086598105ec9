"""A workspace without a clock, chance or files, and a client that calls its methods as a door does."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from support.memory_store import MemoryStore
from ullage.agents.discovery import Discovery, Wanted, is_in
from ullage.api.methods import METHODS
from ullage.api.protocol import SessionNotification
from ullage.model import words
from ullage.model.errors import InvalidRequest, NoModelConfigured, ProviderError
from ullage.model.message import ArtifactLedger, ToolDefinition, ToolUseBlock
from ullage.model.settings import ModelSettings, Settings
from ullage.model.updates import ToolKind, ToolLocation, Update
from ullage.model.usage import Price, PriceTier
from ullage.providers.played import ScriptedProvider, parse_script
from ullage.service.compact.automatic import manage
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import (
    CommandOutcome,
    CommandRunner,
    Ports,
    ProjectFile,
    ProjectFiles,
    Provider,
    Providers,
    Question,
    Summarizer,
    SummaryPrompts,
    SummaryStream,
    ToolAbout,
    Toolbox,
    ToolOutcome,
)
from ullage.service.ports.store import SessionStore
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

# 9:30 on 20 November 2026, UTC. The tests do not depend on the time.
START = 1_795_167_000_000
# An 8k window, as of a model run at home, so that a short conversation fills it: 6,144 tokens usable, a warning at
# 4,915, compaction at 5,529 down to 3,072 at most.
SMALL_MODEL = "gpt-4o-8k"
LARGE_MODEL = "gpt-4o"
_WINDOWS = {SMALL_MODEL: 8_192, LARGE_MODEL: 128_000}
_BY_NAME = {method.name: method for method in METHODS}
# Seconds. No test waits longer for anything; work that takes longer hangs. A busy machine must not reach this.
PATIENCE = 60.0


def as_json(value: Any) -> Any:
    """Returns a value as a client reads it."""
    return msgspec.json.decode(msgspec.json.encode(value))


class FixedClock:
    """A clock that moves only by `advance`."""

    def __init__(self) -> None:
        self._now = START
        self.waited: list[float] = []

    def now(self) -> int:
        return self._now

    def advance(self, seconds: int) -> None:
        """Moves the clock by so many seconds."""
        self._now += seconds * 1_000

    async def wait(self, seconds: float) -> None:
        """Moves the time on at once."""
        self.waited.append(seconds)
        self._now += round(seconds * 1_000)
        await asyncio.sleep(0)


class NoChance:
    """Always the same number."""

    def share(self) -> float:
        return 0.5


class CountingIds:
    """Ids `m_1`, `m_2`, …, numbered per prefix."""

    def __init__(self) -> None:
        self._given = Counter[str]()

    def new(self, prefix: str) -> str:
        self._given[prefix] += 1
        return f"{prefix}_{self._given[prefix]}"


class SomeLimits(Struct, frozen=True, kw_only=True):
    """A model's windows."""

    basis: str = ""
    input: int | None = None
    is_set: bool = False
    total: int | None = None
    max_output: int | None = None


def find_limits(model: str, overrides: Mapping[str, ModelSettings]) -> SomeLimits:
    """A catalog of two models. The window of any other model is unknown unless the settings give it."""
    own = overrides.get(model, ModelSettings())
    window = own.window or _WINDOWS.get(model)
    return SomeLimits(input=window, is_set=own.window is not None, max_output=own.max_output)


def find_price(model: str, /) -> Price | None:
    """The price of the large model: 2 dollars a million tokens in, half a dollar from the cache, 10 out. No other
    price is known."""
    return Price((PriceTier(0, 2.0, 0.5, 2.0, 10.0),)) if model == LARGE_MODEL else None


class Recorder:
    """Keeps every update, as the notification that a client would get."""

    def __init__(self) -> None:
        self.notifications: list[SessionNotification] = []

    def session_updated(self, session_id: str, update: Update) -> None:
        self.notifications.append(SessionNotification(session_id=session_id, update=update))

    def take(self) -> list[Any]:
        """Returns the updates since the last call, as plain JSON."""
        taken = [as_json(notification.update) for notification in self.notifications]
        self.notifications.clear()
        return taken


class PacedSummarizer:
    """Writes given pieces one by one as the test allows: `release` allows one more, and `started` is set when a
    summary is requested. `fault` is raised after the last piece."""

    def __init__(self, pieces: Sequence[str], fault: Exception | None = None) -> None:
        self.started = asyncio.Event()
        self._pieces = pieces
        self._fault = fault
        self._allowed = asyncio.Semaphore(0)

    @property
    def name(self) -> str:
        return "paced"

    def release(self, count: int | None = None) -> None:
        """Allows `count` more pieces, or all."""
        for _ in range(len(self._pieces) if count is None else count):
            self._allowed.release()

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        self.started.set()
        return SummaryStream(ledger=ArtifactLedger(), pieces=self._write())

    async def _write(self) -> AsyncIterator[str]:
        for piece in self._pieces:
            await self._allowed.acquire()
            yield piece
        if self._fault is not None:
            raise self._fault


class NoTools:
    """A toolbox without tools."""

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return ()

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        return ToolAbout(title=use.name, kind=ToolKind.OTHER)

    async def question(self, _session_id: str, _cwd: str, _use: ToolUseBlock, /) -> Question | None:
        return None

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        return ToolOutcome(text=f"There is no tool {use.name!r}.", is_error=True)


class EndlessTool(NoTools):
    """A toolbox with the tool `slow`, which runs until it is cancelled. `called` is set when it begins."""

    def __init__(self) -> None:
        self.called = asyncio.Event()

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (ToolDefinition(name="slow"),)

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        self.called.set()
        return await asyncio.get_running_loop().create_future()


class OneFile(NoTools):
    """A toolbox with `read_file`, and one file to read."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        return (ToolDefinition(name="read_file", description="Reads a file.", input_schema=schema),)

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        locations = (ToolLocation(path=self._path),)
        return ToolAbout(title=f"Read {self._path}", kind=ToolKind.READ, locations=locations)

    async def question(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> Question | None:
        return Question(key=use.name)

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        return ToolOutcome(text=self._text)


class KnownConversations:
    """A machine with these conversations of agents."""

    def __init__(self, found: Discovery | None = None) -> None:
        self.found = found or Discovery()

    def __call__(self, wanted: Wanted) -> Discovery:
        chosen = [one for one in self.found.conversations if not wanted.alone or is_in(one.cwd, wanted.folder)]
        return Discovery(conversations=tuple(chosen[: wanted.limit]), unread=self.found.unread)


class NoProviders:
    """A registry without providers. Asking raises `failure`, by default that no model is configured."""

    def __init__(self, failure: ProviderError | None = None) -> None:
        self._failure = failure or NoModelConfigured(words.no_model())

    def __call__(self, _model: str, _settings: Settings, /) -> Provider:
        raise self._failure

    def name(self, _model: str, _settings: Settings, /) -> str:
        raise self._failure

    async def close(self) -> None:
        """Does nothing, because no connection is open."""


class OneProvider:
    """A registry that returns the same provider for every model."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def __call__(self, _model: str, _settings: Settings, /) -> Provider:
        return self._provider

    def name(self, _model: str, _settings: Settings, /) -> str:
        return self._provider.name

    async def close(self) -> None:
        await self._provider.close()


def no_prompts(_cwd: str, _prompt_file: str, /) -> tuple[str, ...]:
    """Returns no instructions of a user or project."""
    return ()


class Live(Struct, frozen=True, kw_only=True):
    """The ports by which a workspace uses a model."""

    providers: Providers = NoProviders()
    toolbox: Toolbox = NoTools()
    prompts: SummaryPrompts = no_prompts


def play(script: str, toolbox: Toolbox | None = None) -> Live:
    """Returns the ports for a model that plays a script."""
    provider = ScriptedProvider("scripted", parse_script(script))
    return Live(providers=OneProvider(provider), toolbox=toolbox or NoTools())


class ScriptedCommands:
    """Runs no programs: gives the test's output for each program, and records what the program was given."""

    def __init__(self) -> None:
        self.outcomes: dict[str, CommandOutcome] = {}
        self.given: list[Any] = []

    async def run(self, command: Sequence[str], given: bytes, timeout: float) -> CommandOutcome:
        self.given.append(msgspec.json.decode(given))
        return self.outcomes.get(command[0], CommandOutcome())


class KnownFiles:
    """A disk with one folder: its files by name."""

    def __init__(self, folder: str = "", files: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.files = dict(files or {})

    def find(self, folder: str, names: Sequence[str], trusted: Sequence[str], most: int) -> tuple[ProjectFile, ...]:
        if folder != self.folder:
            return ()
        reads = folder in trusted
        found = (name for name in names if name in self.files)
        return tuple(ProjectFile(path=name, text=self.files[name][:most] if reads else "") for name in found)


class TestClient:
    """Calls methods by name with JSON values and gets JSON values back. Raises the handler's `UllageError`s."""

    __test__ = False

    def __init__(self, workspace: Workspace, clock: FixedClock, ids: CountingIds) -> None:
        self.workspace = workspace
        self.clock = clock
        self.ids = ids
        self.recorder = Recorder()
        workspace.bus.listen(self.recorder)

    async def call(self, name: str, **params: Any) -> Any:
        """Makes one request, the whole way through the method table."""
        method = _BY_NAME[name]
        try:
            converted = msgspec.convert(params, method.params)
        except msgspec.ValidationError as error:
            raise InvalidRequest(f"{name}: {error}") from None
        # A task of its own, as a door gives each request, so that a context is managed while the client waits.
        handling = asyncio.ensure_future(method.handler(self.workspace, converted))
        result = await asyncio.wait_for(handling, PATIENCE)
        assert isinstance(result, method.result)
        return as_json(result)

    async def say(self, session_id: str, *texts: str, **params: Any) -> Any:
        """Appends texts of the user and the assistant in turn."""
        messages = [{"role": "assistant" if index % 2 else "user", "content": text} for index, text in enumerate(texts)]
        return await self.call("session/append", sessionId=session_id, messages=messages, **params)

    async def entries(self, session_id: str, scope: str = "context") -> list[Any]:
        """Returns the listed messages."""
        return (await self.call("context/messages", sessionId=session_id, scope=scope))["entries"]


def build_test_client(
    store: SessionStore | None = None,
    settings: Settings | None = None,
    summarizer: Summarizer | None = None,
    ids: CountingIds | None = None,
    *,
    live: Live | None = None,
    commands: CommandRunner | None = None,
    project_files: ProjectFiles | None = None,
) -> TestClient:
    """Returns a client of a new workspace. Two clients with one store and one `ids` play two processes on the same
    store."""
    clock, ids = FixedClock(), ids or CountingIds()
    workspace = build_test_workspace(clock, ids, store=store, settings=settings, summarizer=summarizer, live=live)
    workspace.ports = replace(
        workspace.ports,
        commands=commands or ScriptedCommands(),
        project_files=project_files or KnownFiles(),
    )
    return TestClient(workspace, clock, ids)


def build_test_workspace(
    clock: FixedClock,
    ids: CountingIds,
    *,
    store: SessionStore | None = None,
    settings: Settings | None = None,
    summarizer: Summarizer | None = None,
    live: Live | None = None,
) -> Workspace:
    """Returns a workspace in memory. The same calls always give the same bytes."""
    live = live or Live()
    ports = Ports(
        store=store if store is not None else MemoryStore(),
        catalog=find_limits,
        clock=clock,
        chance=NoChance(),
        ids=ids,
        summarizer=summarizer or OfflineSummarizer(),
        providers=live.providers,
        toolbox=live.toolbox,
        prices=find_price,
        prompts=live.prompts,
        commands=ScriptedCommands(),
        project_files=KnownFiles(),
        transcripts=KnownConversations(),
    )
    return Workspace(ports, settings, manage)
