"""Finds where the agent that has a conversation compacts it, and how that is known.

The agent's rule, with the user's settings of the agent, is the prior; recorded compactions are evidence for or against
it. Each compaction gives two bounds: the threshold is at most the context before it, which may lie far above because
one call may add much, and it is larger than the context with which the agent made its last call before. Several of
them together narrow it down.

Also finds the window, by these sources in their order: the user's settings; the agent that has the conversation; the
log, by prompts and compactions that are larger than the agent's usual window, or by its compactions within that
window; the agent's rule; the catalog. What speaks against the chosen one is said with it."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.own_context import Given, Rule, Setup, Threshold, Without
from ullage.model.usage import KnownThreshold, KnownWindow, Remark, RemarkKind, ThresholdSource, WindowSource
from ullage.model.usage_report import holding_window
from ullage.model.words import percent
from ullage.policy.evidence import Compacted, Evidence

# Of 73 recorded compactions of Claude Code the highest lay 14 % above the threshold.
ABOVE = 1.15
# A call was made with a context this much larger than a supposed threshold: the supposition is wrong. Agents compare
# their own estimate, which differs a little from the reported figure.
_BEYOND = 1.01
# A compaction this close to the end of the window was forced by the provider, and shows no threshold.
_FORCED = 0.975


def is_forced(one: Compacted, window: int) -> bool:
    """Returns whether the provider must have forced the compaction: it came at the end of the window."""
    return one.tokens >= window * _FORCED


def lies_above(tokens: int, threshold: int) -> bool:
    """Returns whether a context of `tokens` is clearly larger than `threshold`."""
    return tokens > threshold * _BEYOND


def agreeing(seen: Sequence[Compacted], supposed: int | None = None) -> list[Compacted]:
    """Returns the last compactions that agree on one threshold, the newest first: one that lies between their bounds,
    or `supposed`, for as long as it does for the newest of them. None of them follows a change of the threshold."""
    run: list[Compacted] = []
    for one in reversed(seen):
        fits = bool(run) and supposed is not None and _together(run, supposed)
        if run and not _together([*run, one], supposed if fits else None):
            break
        run.append(one)
    return run


def estimated(run: Sequence[Compacted], beyond: int = 0) -> int:
    """Returns the threshold that lies between the bounds of these compactions, which is not empty: the roundest number
    there, because thresholds are chosen so. `beyond` is a further lower bound. If the bounds contradict each other,
    returns the smallest context that was compacted."""
    high = min(one.tokens for one in run)
    low = max(beyond, *(one.beyond for one in run))
    if not high * _BELOW < low < high:
        return high
    step = 1
    while (high // (step * 10)) * step * 10 > low:
        step *= 10
    for part in (5, 2, 1):
        if (number := high // (step * part) * step * part) > low:
            return number
    return high


def _agrees(one: Compacted, threshold: int) -> bool:
    return threshold * _BELOW <= one.tokens <= threshold * ABOVE and not lies_above(one.beyond, threshold)


def _together(run: Sequence[Compacted], supposed: int | None) -> bool:
    """Returns whether one threshold explains these compactions: `supposed`, or else the smallest of them."""
    # The smallest lies below none of them.
    at = min(one.tokens for one in run) if supposed is None else supposed
    return all(_agrees(one, at) for one in run)


# Below this share of the rule's figure a compaction contradicts the rule. Of 73 recorded compactions of Claude Code
# none lay below the threshold.
_BELOW = 0.99
# If an agent should not compact by itself and so many compactions agree, a setting that is not known makes it do so.
_TOLD = 2
# A single compaction below this share of the rule's figure does not beat the rule: it may have another cause, which the
# agent's files do not say. Changed thresholds of one agent differed by 7 %.
_FAR = 0.8
# While fewer compactions at a new threshold are known, the change is worth a remark.
_KNOWN_WELL = 3
# A smaller difference, as a share, is not worth a remark.
_SAME = 0.02


class Finding(Struct, frozen=True, kw_only=True):
    """The threshold, None if none is known or the agent has none, and remarks on it."""

    threshold: KnownThreshold | None = None
    remarks: tuple[Remark, ...] = ()


def of_same_window(others: Sequence[Compacted], agent: Agent | None, setup: Setup) -> tuple[Compacted, ...]:
    """Returns those compactions of other conversations that are evidence for this one's threshold: automatic ones of
    the same model in an equally large window.

    A model's name does not say which of its agent's windows a conversation had. So if this window is larger than the
    model's usual one, only compactions of contexts too large for the usual one count.
    """
    usual = agent.own_context.window(Setup(version=setup.version, model=setup.model)) if agent else None
    least = usual.tokens if usual and usual.tokens < setup.window else 0
    return tuple(one for one in others if one.tells and one.model == setup.model and one.tokens > least)


def find_threshold(evidence: Evidence, others: Sequence[Compacted], agent: Agent | None, setup: Setup) -> Finding:
    """Returns the threshold at which the agent compacts and how it is known: as the agent reports it, as its
    compactions show it, or by its rule. `others` are compactions of other conversations, as `of_same_window` returns
    them."""
    if evidence.compacts_at:
        told = Rule(tokens=evidence.compacts_at, basis=f"{agent.name if agent else 'the agent'} says so")
        return Finding(threshold=_as_known(told, setup.window, ThresholdSource.SETTINGS))
    if agent is None or not agent.own_context.is_exact:
        others, evidence = _inexact(others), replace(evidence, compactions=_inexact(evidence.compactions), beyond=0)
    rule, remarks = _asked(evidence, agent, setup)
    # Compactions of other conversations may have happened under other settings.
    joined = evidence if rule and rule.setting else evidence.joined(tuple(others))
    seen = [one for one in joined.compactions if one.tells and not is_forced(one, setup.window)]
    found = _weighed(rule, _comparable(seen, agent, setup, rule), evidence.beyond, setup.window)
    largest = evidence.largest.get(setup.model, 0)
    if found.threshold is not None and largest > found.threshold.tokens * ABOVE:
        if joined is not evidence and others:
            # The other conversations had another threshold.
            return find_threshold(evidence, (), agent, setup)
        found = _passed(largest, found.threshold.tokens)
    return Finding(
        threshold=found.threshold, remarks=(*remarks, *found.remarks, *_changed(found.threshold, seen, agent, setup))
    )


def _asked(evidence: Evidence, agent: Agent | None, setup: Setup) -> tuple[Threshold, tuple[Remark, ...]]:
    """Returns the agent's rule with the user's settings. If the conversation shows that a setting has no effect,
    returns the rule without settings, and the remark that says so."""
    if setup.given.unknown:
        return None, (_remark(RemarkKind.UNCERTAIN, f"{setup.given.unknown} may change where the agent compacts"),)
    rule = agent.own_context.threshold(setup) if agent else None
    if agent is None or rule is None:
        return rule, ()
    against = _against(rule, evidence, setup.window) if rule.setting else ""
    if against:
        plain = agent.own_context.threshold(replace(setup, given=Given()))
        return plain, (_remark(RemarkKind.NO_EFFECT, f"{rule.setting} has had no effect: {against}"),)
    if rule.ignored:
        how = f"{agent.name} compacts at {rule.tokens:,}" if isinstance(rule, Rule) else rule.basis
        return rule, (_remark(RemarkKind.NO_EFFECT, f"{rule.ignored} has no effect: {how}"),)
    return rule, ()


def _against(rule: Rule | Without, evidence: Evidence, window: int) -> str:
    """Returns what speaks in this conversation against a rule that a setting decides; empty if nothing does."""
    last = next((one for one in reversed(evidence.compactions) if one.version == evidence.version), None)
    if last is not None and (not last.tells or is_forced(last, window)):
        last = None
    if isinstance(rule, Without):
        return f"the context was compacted at {last.tokens:,}" if last else ""
    beyond = max(evidence.beyond, last.beyond if last else 0)
    if lies_above(beyond, rule.tokens):
        return f"the agent made a call with {beyond:,} tokens"
    if last is not None and last.tokens < rule.tokens * _BELOW:
        return f"the context was compacted at {last.tokens:,}"
    return ""


def _comparable(seen: Sequence[Compacted], agent: Agent | None, setup: Setup, rule: Threshold) -> list[Compacted]:
    """Returns the compactions that can be compared with `rule`, oldest first: their version and model imply the same
    threshold. Without a rule they must have the version and model of `setup`; if none has, the compactions of the last
    other version count."""
    if agent is not None and isinstance(rule, Rule):
        now = _tokens(agent.own_context.threshold(replace(setup, given=Given())))
        return [one for one in seen if _tokens(_rule_then(one, agent, setup)) == now]
    same = [one for one in seen if one.model == setup.model]
    versions = {one.version for one in same}
    version = setup.version if setup.version in versions or not same else same[-1].version
    return [one for one in same if one.version == version]


def _rule_then(one: Compacted, agent: Agent, setup: Setup) -> Threshold:
    """Returns the rule, without settings, for the version and model of a compaction."""
    return agent.own_context.threshold(replace(setup, given=Given(), version=one.version, model=one.model))


def _tokens(rule: Threshold) -> int | None:
    return rule.tokens if isinstance(rule, Rule) else None


def _weighed(rule: Threshold, seen: Sequence[Compacted], beyond: int, window: int) -> Finding:
    """Returns the threshold by the rule and by the agent's compactions, oldest first.

    Only the last compactions that agree count. As long as they agree with the rule's figure, that is more exact than
    theirs. A call with more than the rule's figure speaks against the rule, and against lower compactions.
    """
    seen = [one for one in seen if not lies_above(beyond, one.tokens)]
    if not isinstance(rule, Rule):
        run = agreeing(seen)
        if rule is None or len(run) >= _TOLD:
            return _learned(run, beyond, window) if run else Finding()
        return Finding(remarks=(_remark(RemarkKind.NO_THRESHOLD, rule.basis),))
    run = agreeing(seen, rule.tokens)
    while _is_lone(run, rule):
        seen = [one for one in seen if one not in run]
        run = agreeing(seen, rule.tokens)
    if run and not _confirm(run, rule):
        return _learned(run, beyond, window)
    if lies_above(beyond, rule.tokens):
        return _passed(beyond, rule.tokens)
    if run:
        return Finding(threshold=_as_known(rule, window, ThresholdSource.LEARNED, len(run)))
    source = ThresholdSource.SETTINGS if rule.setting else ThresholdSource.RULE
    return Finding(threshold=_as_known(rule, window, source))


def _inexact(compactions: Sequence[Compacted]) -> tuple[Compacted, ...]:
    """Returns the compactions of an agent that also makes calls with more than the threshold, without what those calls
    would show of an exact one."""
    return tuple(replace(one, beyond=0) if one.beyond else one for one in compactions)


def _passed(tokens: int, threshold: int) -> Finding:
    text = f"The agent made a call with {tokens:,} tokens, though it should compact at {threshold:,}"
    return Finding(remarks=(_remark(RemarkKind.PASSED, text),))


def _confirm(run: Sequence[Compacted], rule: Rule) -> bool:
    """Returns whether compactions that agree with each other agree with the rule."""
    highest = max(one.beyond for one in run)
    lowest = min(one.tokens for one in run)
    # Of several compactions the smallest lies close to the threshold.
    most = rule.tokens * (ABOVE if len(run) < _KNOWN_WELL else 1 + _SAME)
    return rule.tokens * _BELOW <= lowest <= most and not lies_above(highest, rule.tokens)


def _is_lone(run: Sequence[Compacted], rule: Threshold) -> bool:
    """Returns whether this is a single compaction far below the rule, which says nothing of the threshold."""
    return isinstance(rule, Rule) and len(run) < _TOLD and any(one.tokens < rule.tokens * _FAR for one in run)


def _learned(run: Sequence[Compacted], beyond: int, window: int) -> Finding:
    times = f"{len(run)} times" if len(run) > 1 else "once"
    least = min(one.tokens for one in run)
    rule = Rule(tokens=estimated(run, beyond), basis=f"it was compacted {times}, at {least:,} or above")
    return Finding(threshold=_as_known(rule, window, ThresholdSource.LEARNED, len(run)))


def _changed(
    threshold: KnownThreshold | None, seen: Sequence[Compacted], agent: Agent | None, setup: Setup
) -> tuple[Remark, ...]:
    """Returns the remark that the agent compacts elsewhere now than at the last compaction of another version or under
    other settings; empty if it does not, or if the new threshold is well known."""
    if threshold is None or threshold.times >= _KNOWN_WELL or threshold.source is ThresholdSource.SETTINGS:
        return ()
    earlier = [one for one in seen if one.model == setup.model][: len(seen) - threshold.times]
    if not earlier:
        return ()
    last = earlier[-1]
    then = _rule_then(last, agent, setup) if agent else None
    if _is_lone(agreeing(earlier), then):
        return ()
    near = isinstance(then, Rule) and then.tokens * _BELOW <= last.tokens <= then.tokens * ABOVE
    old = then.tokens if isinstance(then, Rule) and near else last.tokens
    is_same = abs(old - threshold.tokens) <= threshold.tokens * _SAME
    if is_same or (old == last.tokens and _agrees(last, threshold.tokens)):
        return ()
    is_new = last.version != setup.version
    before, now = (f" with {last.version}", f" with {setup.version}") if is_new else (" before", " now")
    text = f"The threshold has changed: it was {old:,}{before} and is {threshold.tokens:,}{now}"
    return (_remark(RemarkKind.CHANGED, text),)


def _remark(kind: RemarkKind, text: str) -> Remark:
    return Remark(kind=kind, text=f"{text}.")


def _as_known(rule: Rule, window: int, source: ThresholdSource, times: int = 0) -> KnownThreshold:
    share = percent(rule.tokens, window)
    return KnownThreshold(tokens=rule.tokens, percent=share, source=source, basis=rule.basis, times=times)


class Candidates(Struct, frozen=True, kw_only=True):
    """What is known of a conversation's window apart from its log. `settings` and `catalog` are the windows of
    `model` there, in tokens, None if they have none, and `catalog_basis` is how the catalog knows it. `agent`
    describes the agent whose imported conversation this is, None if the conversation is not imported or Ullage does
    not know the agent. `version` is that agent's, empty if unknown, and `given` what its settings say. `holder` is
    what texts call the agent that has the conversation, empty if a client of Ullage has it.
    """

    model: str
    settings: int | None = None
    catalog: int | None = None
    catalog_basis: str = ""
    agent: Agent | None = None
    version: str = ""
    given: Given = Given()
    holder: str = ""


def find_window(evidence: Evidence, known: Candidates) -> KnownWindow | None:
    """Returns the window, its source and the evidence for and against it; None if no source knows it."""
    for source, rule in _sources(evidence, known):
        against = _contradiction(rule.tokens, evidence, known)
        return KnownWindow(size=rule.tokens, source=source, basis=rule.basis, contradiction=against)
    return None


def _sources(evidence: Evidence, known: Candidates) -> Iterator[tuple[WindowSource, Rule]]:
    if known.settings:
        yield WindowSource.SETTINGS, Rule(tokens=known.settings, basis=f"your settings for {known.model}")
    if evidence.said:
        yield WindowSource.AGENT, Rule(tokens=evidence.said, basis=f"{known.holder or 'the agent'} says so")
    own = known.agent.own_context if known.agent else None
    if size := known.given.model_window:
        yield from _proved(evidence, known.model, size, own.wider if own else ())
        yield WindowSource.SETTINGS, Rule(tokens=size, basis=known.given.name("model_window"))
    usual = own.window(Setup(version=known.version, model=known.model, given=known.given)) if own else None
    if own and usual:
        yield from _proved(evidence, known.model, usual.tokens, own.wider)
        if usual.tokens in own.wider:
            yield WindowSource.AGENT, usual
        yield WindowSource.RULE, usual
    if known.catalog:
        if known.holder:
            yield from _proved(evidence, known.model, known.catalog, ())
        basis = known.catalog_basis or f"the list of models: {known.model}"
        yield WindowSource.CATALOG, Rule(tokens=known.catalog, basis=basis)


def _proved(evidence: Evidence, model: str, usual: int, wider: tuple[int, ...]) -> Iterator[tuple[WindowSource, Rule]]:
    """Yields the windows that the log proves. If a context was larger than `usual` tokens, that is the smallest of
    `wider` that held it, else the context's own size. If the agent has wider windows, an automatic compaction proves
    the usual one."""
    largest, what = _largest(evidence, model)
    if largest > usual:
        yield WindowSource.LOG, Rule(tokens=holding_window(largest, usual, wider), basis=what)
    compacted = [one for one in evidence.compactions if one.fills and one.model == model]
    if compacted and wider:
        yield WindowSource.LOG, Rule(tokens=usual, basis=f"it was compacted at {compacted[-1].tokens:,}")


def _largest(evidence: Evidence, model: str) -> tuple[int, str]:
    """Returns the largest context of the model in tokens, 0 if there is none, and the evidence in words.

    It is the largest prompt reported since the last compaction, or the context before that compaction if this was
    larger and had the same model.
    """
    prompt = evidence.largest.get(model, 0)
    peak = next((one.tokens for one in reversed(evidence.compactions[-1:]) if one.model == model), 0)
    if peak > prompt:
        return peak, f"it was compacted at {peak:,}"
    return prompt, f"a prompt of {prompt:,} tokens was reported"


def _contradiction(size: int, evidence: Evidence, known: Candidates) -> str | None:
    largest, what = _largest(evidence, known.model)
    if largest > size:
        return what
    if evidence.said and evidence.said != size:
        return f"{known.holder or 'the agent'} says {evidence.said:,}"
    return None
