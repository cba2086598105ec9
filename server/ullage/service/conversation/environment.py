"""What all conversations of a workspace share: ports, settings, the bus, token counters and limits of models.

What is in force at one position of a log: the model, the settings, the window, the thresholds and their evidence.
"""

import logging
from asyncio import Future, Lock
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.own_context import Given, Idle, Setup
from ullage.edits.counted import Stamp
from ullage.edits.drop import TruncationStrategy
from ullage.model.errors import UllageError
from ullage.model.events import EditReverted, EditTrigger, Event, Record
from ullage.model.message import Block
from ullage.model.settings import ContextSettings, Settings, context_settings, overridden
from ullage.model.usage import (
    FollowedRow,
    Keeper,
    KnownThreshold,
    KnownWindow,
    Remark,
    ThresholdSource,
    Usage,
    WindowSource,
)
from ullage.model.words import hidden_part, percent
from ullage.policy.budget import ContextBudget, make_budget, warns_at
from ullage.policy.evidence import RECENT_COMPACTIONS, Compacted, Evidence
from ullage.policy.threshold import Candidates, Finding, find_threshold, find_window, of_same_window
from ullage.service.conversation.bus import Bus
from ullage.service.conversation.projection import Projection, agent_of
from ullage.service.ports.agent_files import (
    NoOwnFiles,
    NoTraces,
    OwnFiles,
    ReadRateLimits,
    ReadsReceipts,
    ReadToldWindow,
    RemovesTraces,
    no_receipts,
)
from ullage.service.ports.models import (
    ContinuesSessions,
    EditorModels,
    FollowsAgents,
    IndexingListener,
    LinkedFiles,
    LooksUp,
    ModelLimits,
    Permissions,
    Ports,
    ReadInEditor,
    SearchWait,
    SessionTools,
)
from ullage.service.ports.store import ReadsTeam, StoredSession
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import TokenCounter, get_counter
from ullage.transcript.fold import Transcript
from ullage.wire.plan import WiresAgents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.service.conversation.conversation import Conversation
    from ullage.summary.reader import Reader

_log = logging.getLogger(__name__)
# Before the name of a transcript format: the key of its agent's compactions among the stored calibrations.
_COMPACTIONS = "compactions/"
_NOTHING_GIVEN = Given()
# Takes a conversation that is still empty; gives the content of its system prompt.
Introduce = Callable[["Conversation"], Awaitable[tuple[Block, ...]]]


@contextmanager
def beside_the_log() -> Generator[None]:
    """Logs an error of the block instead of raising it. For what is saved after the log has changed, and only spares
    time or teaches other sessions: the change is made, whether it is saved or not."""
    try:
        yield
    except UllageError as error:
        _log.warning("not saved: %s", error)


class Environment:
    """The state that all conversations of a process share: ports, settings, the bus, counters and limits of models.

    `permissions`, `editor_files` and `editor_models` are None unless a door sets them. A door that sets `permissions`
    may set `reads_open_folders`: tools then read what is in a session's folders without asking, and what is outside
    after asking, and `linked_files` reads what a prompt links to. `open_folders` has these folders by session id,
    besides the session's own. `introduce` returns the system prompt of a session whose first prompt comes, None at
    doors whose clients bring their own; `session_tools` is None at doors without tools of their own. `own_counter` and
    `own_strategy` are None unless an embedding program sets them; they replace the model's counter and the strategies
    that the settings name. If `is_embedded`, room is made only when the program calls for it, and a
    compaction by hand, too, ends in an offline summary if the summarizer fails.
    `trusts_projects` is False if the client says that its user does not trust the open folder; the project's
    instructions for summaries are then not read. `following` is None in a process that can't follow agents'
    conversations; `followed` has the rows of those that it follows by their session, and `followed_row` returns the row
    of a session that another process on this machine follows now. `own_files` knows the files of agents on this
    machine. `wiring`, `continuing`, `looks_up` and `team` are None in a process whose door does not offer them.
    `rate_limits` returns what an agent said of the user's, and `told_window` the window that it said. `receipts`
    returns what hooks gave back to a session, and `remove_traces` removes that and all else that is kept of it outside
    the store. `embedding` is the last work of an embeddings server, which may still run. Who holds `reading` reads
    messages ahead. `store_away` says that the server of the store can't be reached, "" if it can. `deletion_listeners`
    are called with the id of each session that was deleted, here or, if it is followed, by another process.
    """

    def __init__(self, ports: Ports, settings: Settings | None = None) -> None:
        self.ports = ports
        self.settings = settings or Settings()
        self.bus = Bus()
        self.indexing_listeners: list[IndexingListener] = []
        self.deletion_listeners: list[Callable[[str], object]] = []
        self.search_wait = SearchWait()
        self.store_away = ""
        self.embedding: Future[Any] | None = None
        self.reading = Lock()
        self.permissions: Permissions | None = None
        self.editor_files: ReadInEditor | None = None
        self.editor_models: EditorModels | None = None
        self.linked_files: LinkedFiles | None = None
        self.reads_open_folders = False
        self.open_folders: dict[str, tuple[str, ...]] = {}
        self.introduce: Introduce | None = None
        self.session_tools: SessionTools | None = None
        self.trusts_projects = True
        self.following: FollowsAgents | None = None
        self.followed: dict[str, FollowedRow] = {}
        self.followed_row: Callable[[str], FollowedRow | None] = lambda _: None
        self.own_files: OwnFiles = NoOwnFiles()
        self.rate_limits: ReadRateLimits = lambda _: ()
        self.told_window: ReadToldWindow = lambda _: None
        self.wiring: WiresAgents | None = None
        self.continuing: ContinuesSessions | None = None
        self.looks_up: LooksUp | None = None
        self.team: ReadsTeam | None = None
        self.receipts: ReadsReceipts = no_receipts
        self.remove_traces: RemovesTraces = NoTraces()
        self.own_counter: TokenCounter | None = None
        self.own_strategy: TruncationStrategy | None = None
        self.is_embedded = False
        self._limits: dict[str, ModelLimits] = {}
        self._saved: dict[str, Calibration] = {}
        self._compactions: dict[str, tuple[Compacted, ...]] = {}

    @cached_property
    def reader(self) -> "Reader":
        """What reads messages for summaries, and remembers what it has read."""
        from ullage.summary.reader import Reader  # noqa: PLC0415  (30 ms to import)

        return Reader()

    def new_stamp(self, trigger: EditTrigger = EditTrigger.AUTOMATIC) -> Stamp:
        return Stamp(id=self.ports.ids.new("e"), timestamp=self.ports.clock.now(), trigger=trigger)

    def limits(self, model: str) -> ModelLimits:
        """Returns a model's limits in tokens. The user's settings override the catalog's."""
        if model not in self._limits:
            self._limits[model] = self.ports.catalog(model, self.settings.models)
        return self._limits[model]

    def counter(self, model: str) -> TokenCounter:
        """Returns a model's token counter: the program's own, the one of the settings' encoding, or the model's."""
        if self.own_counter is not None:
            return self.own_counter
        override = self.settings.models.get(model)
        return get_counter(model, override.encoding if override else None)

    def tokenizer(self, model: str) -> str:
        """Returns the name of a model's token counter. If `model` is empty, the settings' model is meant."""
        return self.counter(model or self.settings.model).name

    def calibration(self, model: str) -> Calibration:
        """Returns a model's calibration, learned in all sessions, or the one to assume before any report."""
        return self.kept_calibration(model) or Calibration.prior(self.counter(model).error_share)

    def kept_calibration(self, model: str) -> Calibration | None:
        """Returns the saved calibration of a model, learned in all sessions, or None if none is saved."""
        kept = self.ports.store.load_calibration(model)
        return msgspec.json.decode(kept, type=Calibration) if kept else None

    def keep_calibration(self, model: str, learned: Calibration) -> None:
        """Saves the calibration of a model, unless it equals the last one. A store's refusal is logged."""
        if self._saved.get(model) != learned:
            with beside_the_log():
                self.ports.store.save_calibration(model, msgspec.json.encode(learned))
                self._saved[model] = learned

    def compactions(self, format_name: str) -> tuple[Compacted, ...]:
        """Returns the saved automatic compactions of the agent of this format, from all sessions, oldest first."""
        if format_name not in self._compactions:
            self._compactions[format_name] = self._saved_compactions(format_name)
        return self._compactions[format_name]

    def keep_compactions(self, format_name: str, seen: Iterable[Compacted]) -> None:
        """Saves an agent's compactions, so that other sessions learn from them where the agent compacts by itself and
        how large its contexts are afterwards. Compactions that show neither are left out. Of each model the last 20 of
        both kinds by their own time are kept, in whichever order they are read. If the store refuses, that is logged.
        """
        with beside_the_log():
            self._keep_compactions(format_name, seen)

    def _keep_compactions(self, format_name: str, seen: Iterable[Compacted]) -> None:
        known = {one.event: one for one in self.compactions(format_name)}
        shown = [one for one in seen if (one.tells or one.rest > one.hidden) and not one.is_copied]
        new = {one.event: one for one in shown if _is_news(one, known.get(one.event))}
        if not new:
            return
        # Another process may have saved some.
        saved = self._saved_compactions(format_name)
        ordered = sorted({**{one.event: one for one in saved}, **new}.values(), key=lambda one: one.at)
        by_model: dict[tuple[str, bool], list[Compacted]] = {}
        for one in ordered:
            by_model.setdefault((one.model, one.tells), []).append(one)
        recent = {one.event for ones in by_model.values() for one in ones[-RECENT_COMPACTIONS:]}
        kept = tuple(one for one in ordered if one.event in recent)
        self._compactions[format_name] = kept
        if kept != saved:
            self.ports.store.save_calibration(_COMPACTIONS + format_name, msgspec.json.encode(kept))

    def _saved_compactions(self, format_name: str) -> tuple[Compacted, ...]:
        kept = self.ports.store.load_calibration(_COMPACTIONS + format_name)
        return msgspec.json.decode(kept, type=tuple[Compacted, ...]) if kept else ()

    def given(self, agent: Agent | None, cwd: str, model: str, definition: str = "") -> Given:
        """Returns what the user's settings of an agent say of compaction in a folder. Nothing without an agent."""
        return _NOTHING_GIVEN if agent is None else self.ports.agent_settings(agent, cwd, model, definition)

    def records(self, position: int, events: Iterable[Event]) -> list[Record]:
        """Returns the events as records with the present time, at consecutive positions from `position` on."""
        now = self.ports.clock.now()
        return [Record(position=position + i, timestamp=now, event=event) for i, event in enumerate(events)]

    def load(self, session_id: str) -> Projection:
        """Reads a session's log from the store and returns its projection. Raises `SessionNotFound`."""
        store = self.ports.store
        stored = store.open(session_id)
        if stored.snapshot is not None and any(isinstance(record.event, EditReverted) for record in stored.records):
            # Another process saved its snapshot after this edit was reverted. Such a snapshot lacks the messages that
            # the edit archived.
            store.drop_snapshot(session_id)
            stored = store.open(session_id)
        return self.project(stored, store.info(session_id).model)

    def project(self, stored: StoredSession, model: str) -> Projection:
        """Returns the projection of a stored log, counted for `model`, or for the settings' model if that is ""."""
        model = model or self.settings.model
        projection = Projection(
            self.counter(model), self.calibration(model), self.cost, self.tokenizer, self.compactions
        )
        projection.restore(stored)
        return projection

    def cost(self, model: str, usage: Usage) -> float | None:
        """Returns the list price of a request to a model in US dollars, None if it is not known."""
        price = self.ports.prices(model or self.settings.model)
        return None if price is None else price.cost(usage)


def _is_news(one: Compacted, saved: Compacted | None) -> bool:
    """Returns whether a compaction is not saved, or was saved before the first prompt after it was known."""
    return saved is None or bool(one.rest and not saved.rest)


# Many formats belong to a benchmark or a provider, and don't say which agent wrote them.
_UNKNOWN_AGENT = "the agent"


class Rules(Struct, frozen=True, kw_only=True):
    """The model, the settings, the window and the thresholds in effect at one position of a log.

    `under` are the workspace's settings, `evidence` is what the log shows, `others` are compactions of the same
    agent's other conversations, `given` is what the user's settings of the agent say, and `told` the window that the
    agent says to its status line; from these the rules were computed. `window` and `budget` are None while no window is
    known. `threshold` is where the context is compacted, by Ullage or by the agent that has the conversation; None if
    the agent's is not known, and `remarks` say more of it. `holder` is the name of that agent or `the agent`, empty if
    Ullage's client has the conversation; `agent` is empty if the name is unknown, too. `idle` is when that agent
    compacts because the conversation idles. `hidden_name` is what users see the tokens called that the conversation
    does not contain. Prompts of up to `outgrown_at` tokens change neither window nor threshold.
    """

    under: Settings
    evidence: Evidence
    others: tuple[Compacted, ...]
    given: Given
    told: int | None
    model: str
    settings: ContextSettings
    keeper: Keeper
    holder: str
    agent: str
    hidden_name: str
    window: KnownWindow | None
    threshold: KnownThreshold | None
    remarks: tuple[Remark, ...]
    budget: ContextBudget | None
    warn_percent: int | None
    outgrown_at: int
    idle: Idle | None

    def hold(self, evidence: Evidence) -> bool:
        """Returns whether newer evidence leads to these rules, too, so that they need not be computed again."""
        old = self.evidence
        if (old.said, old.compacts_at) != (evidence.said, evidence.compacts_at):
            return False
        if self.window is None:
            # Then no prompt and no compaction shows one.
            return True
        largest = max(old.largest.get(self.model, 0), evidence.largest.get(self.model, 0))
        changed = old.compactions is not evidence.compactions or old.beyond != evidence.beyond > self.outgrown_at
        return not changed and largest <= self.outgrown_at

    def at(self, evidence: Evidence) -> "Rules":
        """Returns the rules for newer evidence: where an agent compacts, the warning's point follows the growth."""
        if self.budget is None or self.threshold is None or self.keeper is not Keeper.AGENT:
            return replace(self, evidence=evidence)
        budget = _approached(self.budget, self.threshold, self.settings, evidence)
        return replace(self, evidence=evidence, budget=budget, warn_percent=percent(budget.warn_at, budget.window))


def rules_of(workspace: Environment, transcript: Transcript, evidence: Evidence) -> Rules:
    """Returns the rules at the end of the log that `transcript` and `evidence` are folded from."""
    model = transcript.model or workspace.settings.model
    settings = overridden(context_settings(workspace.settings, model), transcript.context)
    limits, holder = workspace.limits(model), _holder(transcript)
    others, given = others_of(workspace, transcript), given_of(workspace, transcript)
    # An agent behind the proxy may report its window.
    attached, told = transcript.agent, told_window(workspace, transcript, evidence)
    window = find_window(
        replace(evidence, said=(attached and attached.window) or told or evidence.said),
        Candidates(
            model=model,
            settings=limits.input if limits.is_set else None,
            catalog=None if limits.is_set else limits.input,
            catalog_basis=limits.basis,
            agent=agent_of(transcript),
            version=transcript.origin.version if transcript.origin else "",
            given=given,
            holder=holder,
        ),
    )
    budget = None
    found, idle = Finding(), None
    if window is not None:
        total = limits.total if window.size == limits.input else _whole_window(transcript, window)
        budget = make_budget(window.size, limits.max_output, settings, total)
        origin = transcript.origin
        if origin is None:
            found = Finding(
                threshold=KnownThreshold(
                    tokens=budget.compact_at,
                    percent=percent(budget.compact_at, budget.window),
                    source=ThresholdSource.OURS,
                    basis=f"Ullage compacts there, by its setting context.compactAt ({settings.compact_at:g})",
                )
            )
        else:
            agent = agent_of(transcript)
            setup = Setup(
                version=origin.version,
                model=model,
                window=window.size,
                max_output=limits.max_output,
                given=given,
                started_by=origin.started_by,
            )
            idle = agent.own_context.idle(setup) if agent and not origin.is_sub_agent else None
            found = find_threshold(evidence, of_same_window(others, agent, setup), agent, setup)
            if found.threshold is not None:
                budget = _approached(budget, found.threshold, settings, evidence)
    threshold = found.threshold
    return Rules(
        under=workspace.settings,
        evidence=evidence,
        others=others,
        given=given,
        told=told,
        model=model,
        settings=settings,
        keeper=_keeper(transcript, settings, window),
        holder=holder,
        agent="" if holder == _UNKNOWN_AGENT else holder,
        hidden_name=hidden_part(holder),
        window=window,
        threshold=threshold,
        remarks=found.remarks,
        budget=budget,
        warn_percent=percent(budget.warn_at, budget.window) if budget else None,
        outgrown_at=min(window.size, threshold.tokens if threshold else window.size) if window else 0,
        idle=idle,
    )


def _whole_window(transcript: Transcript, window: KnownWindow) -> int | None:
    """Returns the window if the agent behind the proxy has reported its part for prompts, else None."""
    if transcript.agent is None or window.source is not WindowSource.AGENT:
        return None
    # The table of agents takes a tenth of a server's start.
    from ullage.agents.acp import whole_window  # noqa: PLC0415

    return whole_window(transcript.agent.agent, window.size)


def others_of(workspace: Environment, transcript: Transcript) -> tuple[Compacted, ...]:
    """Returns the saved compactions of the agent whose imported conversation this is; empty for other conversations. It
    is the same tuple until more are saved."""
    return () if transcript.origin is None else workspace.compactions(transcript.origin.format)


def given_of(workspace: Environment, transcript: Transcript) -> Given:
    """Returns what the user's settings say of the agent whose imported conversation this is, if it is one."""
    if transcript.origin is None:
        return Given()
    definition = transcript.origin.definition
    return workspace.given(agent_of(transcript), transcript.cwd, transcript.model, definition)


def told_window(workspace: Environment, transcript: Transcript, evidence: Evidence) -> int | None:
    """Returns the window, in tokens, that the agent whose imported conversation this is says to its status line. What
    it said before another model answered was that of the model before."""
    origin = transcript.origin
    told = workspace.told_window(origin.origin_id) if origin and origin.origin_id else None
    return told.size if told and told.at >= evidence.model_since else None


def _keeper(transcript: Transcript, settings: ContextSettings, window: KnownWindow | None) -> Keeper:
    if transcript.origin is not None:
        return Keeper.AGENT
    return Keeper.ULLAGE if settings.enabled and window is not None else Keeper.NOBODY


def _approached(
    budget: ContextBudget, threshold: KnownThreshold, settings: ContextSettings, evidence: Evidence
) -> ContextBudget:
    """Returns the budget with an agent's compaction threshold. The warning comes shortly before it, and not earlier
    than the proportion of the settings' thresholds says; there, if the share of the warning was lowered."""
    earliest = int(threshold.tokens * min(1.0, settings.warn_at / settings.compact_at))
    is_lowered = settings.warn_at < ContextSettings().warn_at
    warn_at = earliest if is_lowered else warns_at(threshold.tokens, evidence.growths, earliest)
    return replace(budget, warn_at=warn_at, compact_at=threshold.tokens)


def _holder(transcript: Transcript) -> str:
    """Returns the agent's name, or `the agent`; "" if a client of Ullage has the conversation."""
    if transcript.agent is not None:
        return transcript.agent.agent
    if transcript.origin is None:
        return ""
    agent = agent_of(transcript)
    # Some programs are built on another and write its format: what the file says is nearer.
    return transcript.origin.agent or (agent.name if agent else _UNKNOWN_AGENT)
