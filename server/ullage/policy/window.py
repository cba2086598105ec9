"""Finds the window of a conversation, and how it is known.

The sources in their order: the user's settings; the agent that has the conversation; the log, by prompts and
compactions that are larger than the agent's usual window, or by its compactions within that window; the agent's rule;
the catalog. What speaks against the chosen one is said with it.
"""

from collections.abc import Iterator

from msgspec import Struct

from ullage.agents.agent import Agent
from ullage.agents.own_context import Given, Rule, Setup
from ullage.model.usage import KnownWindow, WindowSource
from ullage.model.usage_report import holding_window
from ullage.policy.evidence import Evidence


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
    """Returns the window, its source and the evidence for and against it. Returns None if no source knows the
    window."""
    found = next(_sources(evidence, known), None)
    if found is None:
        return None
    source, rule = found
    return KnownWindow(
        size=rule.tokens, source=source, basis=rule.basis, contradiction=_contradiction(rule.tokens, evidence, known)
    )


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
        yield (
            WindowSource.CATALOG,
            Rule(tokens=known.catalog, basis=known.catalog_basis or f"the list of models: {known.model}"),
        )


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
