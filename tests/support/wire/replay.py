"""Replays a recorded conversation with the real program's parts and a real SDK, in a window far too small."""

from collections import Counter
from pathlib import Path

from msgspec import Struct, field

from support.summaries import GOOD
from support.wire.clients import DIALECTS, connected
from support.wire.recording import GO_ON, RecordedTools, Recording
from support.wire.replies import Reply, say
from support.wire.server import Received, WireServer
from support.workspace import CountingIds, FixedClock, KnownConversations, NoChance, OneProvider, TestClient
from ullage.app.compose import read_summary_prompts
from ullage.known_models import ContextLimits, price_of
from ullage.model.message import TextBlock
from ullage.model.settings import ModelSettings, Settings
from ullage.model.updates import CompactionUpdate
from ullage.model.usage import UsageSource
from ullage.service import turns
from ullage.service.compact.automatic import managed_workspace
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.world import Ports
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.store.sqlite.sqlite_store import open_store
from ullage.system.processes import SubprocessRunner
from ullage.system.surroundings import LocalProjectFiles

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


class Replayed(Struct, kw_only=True):
    """The results of a replay."""

    turns: int = 0
    answers: int = 0
    requests: int = 0
    over_window: int = 0
    violations: list[str] = []
    largest: int = 0
    compactions: int = 0
    edits: Counter[str] = field(default_factory=Counter[str])
    guesses: list[Guess] = []


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
            ports = Ports(
                store=store,
                catalog=ContextLimits.for_model,
                clock=clock,
                chance=NoChance(),
                ids=ids,
                summarizer=OfflineSummarizer(),
                providers=OneProvider(provider),
                prices=price_of,
                prompts=read_summary_prompts,
                commands=SubprocessRunner(),
                project_files=LocalProjectFiles(),
                transcripts=KnownConversations(),
                toolbox=RecordedTools(recording),
            )
            client = TestClient(managed_workspace(ports, settings), clock, ids)
            return await _play(client, player, server, model, recording.system)


async def _play(client: TestClient, player: _Player, server: WireServer, model: str, system: str) -> Replayed:
    session = await client.call("session/new", model=model, system=system)
    player.session_id, player.workspace = session["sessionId"], client.workspace
    replayed = Replayed()
    while player.waiting:
        replayed.turns += 1
        await turns.prompt(client.workspace.open(player.session_id), [TextBlock(text=player.prompt())])
    history = await client.call("context/history", sessionId=player.session_id)
    replayed.edits = Counter(edit["kind"] for edit in history["edits"])
    updates = [notification.update for notification in client.recorder.notifications]
    replayed.compactions = len({u.compaction_id for u in updates if isinstance(u, CompactionUpdate)})
    replayed.answers, replayed.guesses = player.played, player.guesses
    replayed.requests = len(server.asked)
    replayed.over_window = sum(received.over_window for received in server.asked)
    replayed.violations = [wrong for received in server.asked for wrong in received.violations]
    replayed.largest = max(received.tokens for received in server.asked)
    return replayed
