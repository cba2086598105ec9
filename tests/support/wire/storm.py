"""Prompt turns with a provider that fails at random. After each turn the session must be usable and complete."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from time import perf_counter

from msgspec import Struct, field
from msgspec.structs import replace

from support.wire.clients import DIALECTS, connected
from support.wire.replay import MODELS
from support.wire.replies import Call, Fault, Reply, Say, Stop, Think
from support.wire.server import Received, WireServer
from support.workspace import KnownConversations, NoProviders, NoTools, OneProvider
from ullage.app.compose import RandomIds, SystemChance, SystemClock, read_summary_prompts
from ullage.known_models import ContextLimits, price_of
from ullage.model.answer import TurnEnd
from ullage.model.errors import ProviderError
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import TextBlock, ToolDefinition, ToolUseBlock
from ullage.model.settings import ModelSettings, Settings
from ullage.model.updates import AgentMessageChunk, CompactionUpdate, Notice, Update, UserMessageChunk
from ullage.service import sessions, turns
from ullage.service.compact.automatic import managed_workspace
from ullage.service.conversation.work import Job
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import ToolOutcome
from ullage.service.ports.store import SessionStore
from ullage.service.ports.world import Ports
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.store.sqlite.sqlite_store import open_store
from ullage.system.processes import SubprocessRunner
from ullage.system.surroundings import LocalProjectFiles

# Tokens: small enough that a few hundred turns compact many times.
_WINDOW = 8_192
# Seconds without bytes from the server. A user would set minutes.
_TIMEOUT = 0.25
# Shares: of requests that fail, of turns without a server at the address, of turns that the user stops, of answers that
# call a tool or end early.
_FAULTY, _REFUSED, _CANCELLED, _CALLING, _EARLY = 0.35, 0.02, 0.05, 0.3, 0.05
# Seconds. Five tries wait 7.5 s, jitter adds a quarter, each may wait for the timeout, and tool calls may come between.
# A turn that takes longer hangs.
DEADLINE = 300.0
_WORDS = (
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "lazy",
    "dogs",
    "while",
    "seven",
    "wizards",
    "mix",
    "elixirs",
)


class Weathered(Struct, kw_only=True):
    """The outcome of all turns. `lost` and `unusable` describe each failure."""

    turns: int = 0
    compactions: int = 0
    ends: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = []
    unusable: list[str] = []
    violations: list[str] = []
    over_window: int = 0
    past_deadline: int = 0
    longest: float = 0.0


class _Echo(NoTools):
    """A toolbox with one tool, which fails now and then."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (ToolDefinition(name="echo", description="Returns some words."),)

    async def run(self, _session_id: str, _cwd: str, _use: ToolUseBlock, /) -> ToolOutcome:
        return ToolOutcome(text=_some_words(self._chance, 300), is_error=self._chance.random() < 0.2)


class _Witness:
    """Records what a client was shown: each prompt, and the text of each answer, by message."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        self.everything: dict[str, str] = {}
        self.compactions: set[str] = set()
        self.waiting = asyncio.Event()

    def session_updated(self, session_id: str, update: Update) -> None:
        match update:
            case AgentMessageChunk() | UserMessageChunk():
                self.shown[update.message_id] = self.shown.get(update.message_id, "") + update.content.text
            case Notice():
                self.waiting.set()
            case CompactionUpdate():
                self.compactions.add(update.compaction_id)
            case _:
                pass


async def weather(kind: str, folder: Path, count: int, seed: int) -> Weathered:
    """Runs `count` turns of one session. The seed decides which faults happen."""
    chance = random.Random(seed)
    storm = _Storm(kind, chance)
    with open_store(folder / f"{kind}-{seed}.db") as store:
        ports = Ports(
            store=store,
            catalog=ContextLimits.for_model,
            clock=SystemClock(),
            chance=SystemChance(),
            ids=RandomIds(),
            summarizer=OfflineSummarizer(),
            providers=NoProviders(),
            prices=price_of,
            prompts=read_summary_prompts,
            commands=SubprocessRunner(),
            project_files=LocalProjectFiles(),
            transcripts=KnownConversations(),
            toolbox=_Echo(chance),
        )
        await storm.run(ports, count)
    with open_store(folder / f"{kind}-{seed}.db") as store:
        for message_id, shown in storm.witness.everything.items():
            if _kept_text(store, storm.session_id, message_id) != shown.strip():
                storm.seen.lost.append(f"message {message_id} was gone when the store was opened again")
    return storm.seen


class _Storm:
    """One session with a provider that fails at random."""

    def __init__(self, kind: str, chance: random.Random) -> None:
        self.seen = Weathered()
        self.witness = _Witness()
        self.session_id = ""
        self._kind = kind
        self._chance = chance
        self._server = WireServer(DIALECTS[kind](), self._reply, window=_WINDOW)
        self._calls = 0
        # Whether a fault happened in the turn that runs.
        self._disturbed = False

    async def run(self, ports: Ports, count: int) -> None:
        """Runs the turns. The server is away for a moment in some of them."""
        model = MODELS[self._kind]
        # The settings need the port, which stays the same whenever the server comes back.
        async with self._server.serving():
            pass
        settings = Settings(models={model: ModelSettings(window=_WINDOW, max_output=1_024)})
        async with connected(self._server, _TIMEOUT) as provider:
            workspace = managed_workspace(replace(ports, providers=OneProvider(provider)), settings)
            workspace.bus.listen(self.witness)
            self.session_id = sessions.new_session(workspace, SessionCreated(model=model)).id
            for number in range(count):
                await self._turn(workspace, number)
        self.seen.compactions = len(self.witness.compactions)
        asked = self._server.asked
        self.seen.violations = [wrong for received in asked for wrong in received.violations]
        self.seen.over_window = sum(received.over_window for received in asked)

    async def _turn(self, workspace: Workspace, number: int) -> None:
        self._disturbed = False
        self.witness.waiting.clear()
        prompt = [TextBlock(text=f"{number}: {_some_words(self._chance, 200)}")]
        asking = asyncio.ensure_future(turns.prompt(workspace.open(self.session_id), prompt))
        began = perf_counter()
        weather = asyncio.ensure_future(self._weather(workspace))
        try:
            end = (await asyncio.wait_for(asking, DEADLINE)).value
        except TimeoutError:
            end, self._disturbed = "past its deadline", True
            self.seen.past_deadline += 1
        except ProviderError as error:
            end = type(error).__name__
        finally:
            weather.cancel()
            await asyncio.gather(weather, return_exceptions=True)
        self.seen.turns += 1
        self.seen.ends[end] += 1
        self.seen.longest = max(self.seen.longest, perf_counter() - began)
        self._look(workspace, number, end)

    async def _weather(self, workspace: Workspace) -> None:
        """Serves while a turn runs. Sometimes the server is away until the user gets a notice, and sometimes the
        user cancels."""
        if self._chance.random() < _REFUSED:
            self._disturbed = True
            self.seen.faults["connection refused"] += 1
            await self.witness.waiting.wait()
        async with self._server.serving():
            if self._chance.random() < _CANCELLED:
                await asyncio.sleep(self._chance.random() * 0.05)
                self._disturbed = True
                self.seen.faults["cancelled"] += 1
                workspace.cancel(self.session_id)
            await asyncio.Event().wait()

    def _reply(self, _received: Received) -> Reply:
        chance = self._chance
        parts: list[Call | Say | Think] = [Think(_some_words(chance, 8))] if chance.random() < 0.3 else []
        parts.append(Say(_some_words(chance, chance.randrange(1, 60))))
        if chance.random() < _CALLING:
            self._calls += 1
            parts.append(Call(f"call_{self._calls}", "echo", '{"text": "one"}'))
        stop = Stop.MAX_TOKENS if chance.random() < _EARLY else Stop.NATURAL
        if chance.random() >= _FAULTY:
            return Reply(parts=tuple(parts), stop=stop)
        fault = chance.choice(tuple(Fault))
        self.seen.faults[fault.value] += 1
        # Slow bytes do no harm. Every other fault may end the turn.
        self._disturbed = self._disturbed or fault is not Fault.SLOW
        return Reply(parts=tuple(parts), stop=stop, fault=fault, after=chance.randrange(10))

    def _look(self, workspace: Workspace, number: int, end: str) -> None:
        """Checks what must hold after every turn."""
        if not self._disturbed and end not in {TurnEnd.END_TURN.value, TurnEnd.MAX_TOKENS.value}:
            self.seen.unusable.append(f"turn {number} ended {end} though nothing went wrong")
        work = workspace.open(self.session_id).work
        if work.is_running(Job.TURN) or work.is_running(Job.ANSWERING):
            self.seen.unusable.append(f"turn {number} is over and still holds the session")
        for message_id, shown in self.witness.shown.items():
            if _kept_text(workspace.ports.store, self.session_id, message_id) != shown.strip():
                self.seen.lost.append(f"turn {number}: message {message_id} was shown and not kept as it was")
        self.witness.everything |= self.witness.shown
        self.witness.shown = {}


def _kept_text(store: SessionStore, session_id: str, message_id: str) -> str | None:
    record = store.find_message(session_id, message_id)
    if record is None or not isinstance(record.event, MessageAppended):
        return None
    blocks = record.event.message.content
    return "".join(block.text for block in blocks if isinstance(block, TextBlock)).strip()


def _some_words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_WORDS, k=count))
