"""What is in force at one position of a log: the model, the settings, the window, the thresholds and their evidence."""

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.own_context import Idle, Setup
from ullage.agents.own_settings import Given
from ullage.model.figure import Keeper, KnownThreshold, KnownWindow, Remark, ThresholdSource, WindowSource
from ullage.model.settings import ContextSettings, Settings, context_settings, overridden
from ullage.model.words import hidden_part, percent
from ullage.policy.alarm import warns_at
from ullage.policy.budget import ContextBudget, make_budget
from ullage.policy.evidence import Compacted, Evidence
from ullage.policy.threshold import Finding, find_threshold, of_same_window
from ullage.policy.window import Candidates, find_window
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.projection import agent_of
from ullage.service.ports.models import ModelLimits
from ullage.transcript.fold import Transcript

# Many formats belong to a benchmark or a provider, and don't say which agent wrote them.
_UNKNOWN_AGENT = "the agent"


class Rules(Struct, frozen=True, kw_only=True):
    """The model, the settings, the window and the thresholds in effect at one position of a log.

    `under` are the workspace's settings, `evidence` is what the log shows, `others` are compactions of the same
    agent's other conversations, and `given` is what the user's settings of the agent say; from these the rules were
    computed. `window` and `budget` are None while no window is known. `threshold` is where the context is
    compacted, by Ullage or by the agent that has the conversation; None if the agent's is not known, and `remarks`
    say more of it. `holder` is the name of that agent or `the agent`, empty if Ullage's client has the
    conversation; `agent` is empty if the name is unknown, too. `idle` is when that agent compacts because the
    conversation idles. `hidden_name` is what users see the tokens called that the conversation does not contain.
    Prompts of up to `outgrown_at` tokens change neither window nor threshold.
    """

    under: Settings
    evidence: Evidence
    others: tuple[Compacted, ...]
    given: Given
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
        largest = max(old.largest.get(self.model, 0), evidence.largest.get(self.model, 0))
        changed = old.compactions is not evidence.compactions or old.beyond != evidence.beyond > self.outgrown_at
        return not changed and largest <= self.outgrown_at

    def at(self, evidence: Evidence) -> "Rules":
        """Returns the rules for newer evidence that they hold for. Where an agent compacts, the point of the warning
        follows the growth of the context."""
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
    window = find_window(_with_attached(evidence, transcript), _candidates(transcript, model, limits, holder, given))
    budget = None
    found, idle = Finding(), None
    if window is not None:
        total = limits.total if window.size == limits.input else _whole_window(transcript, window)
        budget = make_budget(window.size, limits.max_output, settings, total)
        origin = transcript.origin
        if origin is None:
            found = Finding(threshold=_ours(budget, settings))
        else:
            agent = agent_of(transcript)
            setup = Setup(
                version=origin.version,
                model=model,
                window=window.size,
                max_output=limits.max_output,
                given=given,
            )
            idle = agent.own_context.idle(setup) if agent else None
            found = find_threshold(evidence, of_same_window(others, agent, setup), agent, setup)
            if found.threshold is not None:
                budget = _approached(budget, found.threshold, settings, evidence)
    threshold = found.threshold
    return Rules(
        under=workspace.settings,
        evidence=evidence,
        others=others,
        given=given,
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
    """Returns the window, if the agent behind the proxy has reported its part for prompts; None if the window is
    not such an agent's."""
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
    """Returns what the user's settings say of the agent whose imported conversation this is; nothing for other
    conversations."""
    if transcript.origin is None:
        return Given()
    return workspace.given(agent_of(transcript), transcript.cwd, transcript.model)


def _keeper(transcript: Transcript, settings: ContextSettings, window: KnownWindow | None) -> Keeper:
    if transcript.origin is not None:
        return Keeper.AGENT
    return Keeper.ULLAGE if settings.enabled and window is not None else Keeper.NOBODY


def _ours(budget: ContextBudget, settings: ContextSettings) -> KnownThreshold:
    return KnownThreshold(
        tokens=budget.compact_at,
        percent=percent(budget.compact_at, budget.window),
        source=ThresholdSource.OURS,
        basis=f"Ullage compacts there, by its setting context.compactAt ({settings.compact_at:g})",
    )


def _approached(
    budget: ContextBudget, threshold: KnownThreshold, settings: ContextSettings, evidence: Evidence
) -> ContextBudget:
    """Returns the budget with an agent's compaction threshold. The warning comes shortly before it, and not earlier
    than the proportion of the settings' thresholds says."""
    earliest = int(threshold.tokens * min(1.0, settings.warn_at / settings.compact_at))
    warn_at = warns_at(threshold.tokens, evidence.growths, earliest)
    return replace(budget, warn_at=warn_at, compact_at=threshold.tokens)


def _holder(transcript: Transcript) -> str:
    """Returns the name of the agent that has the conversation, or `the agent` if its name is unknown. Empty if a client
    of Ullage has the conversation."""
    if transcript.agent is not None:
        return transcript.agent.agent
    if transcript.origin is None:
        return ""
    agent = agent_of(transcript)
    # Some programs are built on another and write its format: what the file says is nearer.
    return transcript.origin.agent or (agent.name if agent else _UNKNOWN_AGENT)


def _with_attached(evidence: Evidence, transcript: Transcript) -> Evidence:
    """Returns the evidence with the window that an agent behind the proxy reports, if it reports one."""
    attached = transcript.agent
    return replace(evidence, said=attached.window) if attached and attached.window else evidence


def _candidates(transcript: Transcript, model: str, limits: ModelLimits, holder: str, given: Given) -> Candidates:
    return Candidates(
        model=model,
        settings=limits.input if limits.is_set else None,
        catalog=None if limits.is_set else limits.input,
        catalog_basis=limits.basis,
        agent=agent_of(transcript),
        version=transcript.origin.version if transcript.origin else "",
        given=given,
        holder=holder,
    )
