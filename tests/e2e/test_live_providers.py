"""Whole conversations with real SDKs against servers that speak the providers' wire formats."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from support.summaries import GOOD
from support.transcripts import conversation, recorded
from support.wire.clients import DIALECTS, connected
from support.wire.replies import Call, Fault, Part, Reply, Say, Stop, Think, say
from support.wire.server import Received, WireServer
from support.workspace import (
    CountingIds,
    FixedClock,
    KnownConversations,
    NoChance,
    NoTools,
    OneProvider,
    TestClient,
)
from ullage.app.compose import RandomIds, SystemChance, SystemClock, read_summary_prompts
from ullage.known_models import ContextLimits, price_of
from ullage.model.answer import TurnEnd
from ullage.model.errors import ProviderError
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import (
    Block,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.settings import ModelSettings, Settings
from ullage.model.updates import AgentMessageChunk, CompactionUpdate, Notice, Update, UserMessageChunk
from ullage.model.usage import UsageSource
from ullage.service import sessions, turns
from ullage.service.compact.automatic import manage
from ullage.service.conversation.work import Job
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Ports, Provider, Toolbox, ToolOutcome
from ullage.service.ports.store import SessionStore
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.store.sqlite.sqlite_store import open_store
from ullage.system.processes import SubprocessRunner
from ullage.system.surroundings import LocalProjectFiles

GO_ON = "Go on."


class Recording(Struct, frozen=True, kw_only=True):
    """`prompts[i]` is the user's text before answer `i`, or empty. `results` are by the call's id."""

    system: str
    prompts: tuple[str, ...]
    answers: tuple[Reply, ...]
    results: Mapping[str, ToolOutcome]

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that the recording calls."""
        calls = (part for answer in self.answers for part in answer.parts if isinstance(part, Call))
        names = dict.fromkeys(call.name for call in calls)
        return tuple(ToolDefinition(name=name, description=f"The recorded {name}.") for name in names)


def read_recording(path: Path, answers: int | None = None) -> Recording:
    """Reads the first `answers` answers of a recorded conversation, or all. Assistant messages in a row become one."""
    system: list[str] = []
    prompts: list[str] = []
    said: list[list[Part]] = []
    results: dict[str, ToolOutcome] = {}
    waiting: list[str] = []
    last = Role.USER
    for event in recorded(path).events:
        if not isinstance(event, MessageAppended) or event.message.compaction:
            continue
        message = event.message
        if message.role is Role.SYSTEM:
            system.append(message.text)
        elif message.role is Role.USER:
            waiting += [message.text] if message.text.strip() else []
            results |= _results(message)
        elif parts := [part for block in message.content for part in _parts(block)]:
            if last is Role.ASSISTANT and said:
                said[-1] += parts
            else:
                prompts.append("\n".join(waiting))
                said.append(parts)
                waiting.clear()
        last = message.role
    replies = tuple(Reply(parts=tuple(parts)) for parts in said)
    return Recording(
        system="\n\n".join(system), prompts=tuple(prompts[:answers]), answers=replies[:answers], results=results
    )


class RecordedTools(NoTools):
    """Tools that return the recorded results."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return self._recording.tools

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        return self._recording.results.get(use.id, ToolOutcome(text="", is_error=True))


def _parts(block: Block) -> list[Part]:
    match block:
        case TextBlock(text=text) if text.strip():
            return [Say(text)]
        case ThinkingBlock(thinking=text) if text.strip():
            return [Think(text)]
        case ToolUseBlock():
            return [Call(block.id, block.name, msgspec.json.encode(block.input).decode())]
        case _:
            return []


def _results(message: Message) -> dict[str, ToolOutcome]:
    blocks = (block for block in message.content if isinstance(block, ToolResultBlock))
    return {
        block.tool_use_id: ToolOutcome(
            text="\n".join(part.text for part in block.content if isinstance(part, TextBlock)),
            is_error=block.is_error,
        )
        for block in blocks
    }


MODELS = {"anthropic": "claude-sonnet-5", "openai": "gpt-5", "openai_chat": "gpt-4o"}
# Tokens: the longest answer that the models can give. The reserve is smaller, so a request asks for the remaining room,
# and the provider refuses a request that leaves too little.
MAX_OUTPUT = 8_192


# A sentence that is only in requests for a summary. The recordings are of other agents, so they do not have it.
INSTRUCTIONS = "Stop working on the task now and summarise the conversation above."


class Guess(Struct, frozen=True, kw_only=True):
    """The predicted tokens of a prompt, the source of the prediction, and the provider's count."""

    predicted: int
    source: UsageSource
    counted: int

    @property
    def error(self) -> float:
        """The error as a share of the provider's count."""
        return abs(self.predicted - self.counted) / self.counted


class Replayed(Struct, frozen=True, kw_only=True):
    """The results of a replay."""

    answers: int
    over_window: int
    violations: Sequence[str]
    compactions: int
    guesses: Sequence[Guess]


class _Player:
    """Gives the answers in order, and records what was predicted for each request."""

    def __init__(self, recording: Recording) -> None:
        self.played = 0
        self.guesses: list[Guess] = []
        self.session_id = ""
        self.workspace: Workspace | None = None
        self._recording = recording

    @property
    def waiting(self) -> bool:
        return self.played < len(self._recording.answers)

    def prompt(self) -> str:
        """Returns the user's next prompt."""
        return self._recording.prompts[self.played] or GO_ON

    def reply(self, received: Received) -> Reply:
        assert self.workspace is not None
        if INSTRUCTIONS in str(received.body):
            return say(GOOD)
        reading = self.workspace.open(self.session_id).projection.tracker.reading
        self.guesses.append(Guess(predicted=reading.used, source=reading.source, counted=received.tokens))
        if not self.waiting:
            return say("That is all.")
        self.played += 1
        return self._recording.answers[self.played - 1]


async def replay(recording: Recording, kind: str, folder: Path, window: int) -> Replayed:
    """Replays the whole recording with one kind of provider. Raises what a prompt turn raises."""
    player = _Player(recording)
    server = WireServer(DIALECTS[kind](), player.reply, window=window)
    model = MODELS[kind]
    async with server.serving(), connected(server) as provider:
        settings = Settings(models={model: ModelSettings(window=window, max_output=MAX_OUTPUT)})
        with open_store(folder / f"{kind}.db") as store:
            clock, ids = FixedClock(), CountingIds()
            ports = replace(
                program_ports(store, provider, RecordedTools(recording)), clock=clock, chance=NoChance(), ids=ids
            )
            client = TestClient(Workspace(ports, settings, manage), clock, ids)
            return await _play(client, player, server, model, recording.system)


def program_ports(store: SessionStore, provider: Provider, toolbox: Toolbox) -> Ports:
    """Returns the real program's ports, with one provider."""
    return Ports(
        store=store,
        catalog=ContextLimits.for_model,
        clock=SystemClock(),
        chance=SystemChance(),
        ids=RandomIds(),
        summarizer=OfflineSummarizer(),
        providers=OneProvider(provider),
        prices=price_of,
        prompts=read_summary_prompts,
        commands=SubprocessRunner(),
        project_files=LocalProjectFiles(),
        transcripts=KnownConversations(),
        toolbox=toolbox,
    )


async def _play(client: TestClient, player: _Player, server: WireServer, model: str, system: str) -> Replayed:
    session = await client.call("session/new", model=model, system=system)
    player.session_id, player.workspace = session["sessionId"], client.workspace
    while player.waiting:
        await turns.prompt(client.workspace.open(player.session_id), [TextBlock(text=player.prompt())])
    updates = [notification.update for notification in client.recorder.notifications]
    return Replayed(
        answers=player.played,
        over_window=sum(received.over_window for received in server.asked),
        violations=[wrong for received in server.asked for wrong in received.violations],
        compactions=len({update.compaction_id for update in updates if isinstance(update, CompactionUpdate)}),
        guesses=player.guesses,
    )


# Tokens: small enough that a few hundred turns compact many times.
_WINDOW = 8_192
# Seconds without bytes from the server. A user would set minutes.
_TIMEOUT = 0.25
# Shares: of requests that fail, of turns without a server at the address, of turns that the user stops, of answers that
# call a tool or end early.
_FAULTY, _REFUSED, _CANCELLED, _CALLING, _EARLY = 0.35, 0.02, 0.05, 0.3, 0.05
# Seconds. Five tries wait 0.75 s, jitter adds a quarter, each may wait for the timeout, and tool calls may come
# between. A turn that takes longer hangs.
DEADLINE = 300.0
_WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "seven", "wizards", "mix")


class Weathered(Struct, kw_only=True):
    """The outcome of all turns. `lost` and `unusable` describe each failure."""

    turns: int = 0
    faults: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = []
    unusable: list[str] = []
    violations: list[str] = []
    over_window: int = 0
    past_deadline: int = 0


class _Echo(NoTools):
    """A toolbox with one tool, which fails now and then."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (ToolDefinition(name="echo", description="Returns some words."),)

    async def run(self, _session_id: str, _cwd: str, _use: ToolUseBlock, /) -> ToolOutcome:
        return ToolOutcome(text=_some_words(self._chance, 300), is_error=self._chance.random() < 0.2)


class _Hurried(SystemClock):
    """The machine's clock, which waits for the next try a tenth of the time."""

    async def wait(self, seconds: float) -> None:
        await super().wait(seconds / 10)


class _Witness:
    """Records what a client was shown: each prompt, and the text of each answer, by message."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        self.everything: dict[str, str] = {}
        self.waiting = asyncio.Event()

    def session_updated(self, session_id: str, update: Update) -> None:
        match update:
            case AgentMessageChunk() | UserMessageChunk():
                self.shown[update.message_id] = self.shown.get(update.message_id, "") + update.content.text
            case Notice():
                self.waiting.set()
            case _:
                pass


async def weather(kind: str, folder: Path, count: int, seed: int) -> Weathered:
    """Runs `count` turns of one session. The seed decides which faults happen."""
    chance = random.Random(seed)
    storm = _Storm(kind, chance)
    with open_store(folder / f"{kind}-{seed}.db") as store:
        await storm.run(store, count)
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

    async def run(self, store: SessionStore, count: int) -> None:
        """Runs the turns. The server is away for a moment in some of them."""
        model = MODELS[self._kind]
        # The settings need the port, which stays the same whenever the server comes back.
        async with self._server.serving():
            pass
        settings = Settings(models={model: ModelSettings(window=_WINDOW, max_output=1_024)})
        async with connected(self._server, _TIMEOUT) as provider:
            workspace = Workspace(
                replace(program_ports(store, provider, _Echo(self._chance)), clock=_Hurried()), settings, manage
            )
            workspace.bus.listen(self.witness)
            self.session_id = sessions.new_session(workspace, SessionCreated(model=model)).id
            for number in range(count):
                await self._turn(workspace, number)
        asked = self._server.asked
        self.seen.violations = [wrong for received in asked for wrong in received.violations]
        self.seen.over_window = sum(received.over_window for received in asked)

    async def _turn(self, workspace: Workspace, number: int) -> None:
        self._disturbed = False
        self.witness.waiting.clear()
        prompt = [TextBlock(text=f"{number}: {_some_words(self._chance, 200)}")]
        asking = asyncio.ensure_future(turns.prompt(workspace.open(self.session_id), prompt))
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


LONG = "iso_bench_trae/us-anthropic-claude-sonn__sglang_sonnet45_rerun_f06e90c2.trajectory.json"


@pytest.mark.slow
@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_recorded_conversation_in_a_small_window_sends_nothing_the_provider_would_refuse(
    kind: str, tmp_path: Path
) -> None:
    found = await replay(read_recording(conversation(LONG), 60), kind, tmp_path, 16_000)
    assert found.answers == 60
    assert found.compactions >= 3
    assert found.over_window == 0
    assert found.violations == []
    errors = sorted(guess.error for guess in found.guesses if guess.source is not UsageSource.ESTIMATED)
    assert errors[len(errors) // 2] < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_session_survives_a_provider_that_fails_at_random(kind: str, tmp_path: Path) -> None:
    found = await weather(kind, tmp_path, 25, seed=7)
    assert found.turns == 25
    assert found.faults.total() > 5
    assert (found.unusable, found.lost, found.violations) == ([], [], [])
    assert (found.over_window, found.past_deadline) == (0, 0)
