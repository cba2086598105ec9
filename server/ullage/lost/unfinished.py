"""What a compaction finds unfinished: sub-agents and background commands whose ids were left out, and the open entries
of the agent's plan."""

from collections.abc import Iterator

from msgspec.structs import replace

from ullage.agents.calls_begun import Begun, BegunKind
from ullage.lost.knowledge import Known, make_loss, recency
from ullage.lost.loss import Loss, Under
from ullage.model.message import number_of
from ullage.summary.choosing.plans import Status, plan_entries
from ullage.survive.fact import Kind
from ullage.survive.guiding_sentences import sentence_of

# Chosen by reading briefs: what still runs is nearly worth a failure that is still open; the answer of a sub-agent can
# be read again, but is often in the summary. What was in hand is worth more than what comes later.
_RUNS, _ANSWERED = 1.5, 0.4
_IN_HAND, _OPEN = 1.5, 0.8


def find_begun(known: Known) -> Iterator[Loss]:
    """Yields the sub-agents, and the commands that still run as far as is known, whose ids the agent's context lacks:
    without its id none can be asked. A command that has ended has nothing more to say."""
    for begun in known.before.digest.begun:
        runs = begun.ended < 0
        if len(begun.name) > 1 and not known.carried.holds_name(begun.name) and (runs or _answers(begun)):
            worth = (_RUNS if runs else _ANSWERED) + recency(known, begun.index)
            text = f"`{begun.name}` {begun.kind.value}: {begun.what}"
            detail = "its end is not shown" if runs else f"{begun.status} in #{number_of(begun.ended)}"
            yield replace(make_loss(known, Kind.NAME, text, begun.index, worth), detail=detail, under=Under.BEGUN)


def find_plan(known: Known) -> Iterator[Loss]:
    """Yields the entries of the newest plan that are not done and that the agent's context does not have in other
    words."""
    for entry in plan_entries(known.before.digest):
        if entry.status in (Status.IN_HAND, Status.OPEN):
            sentence = sentence_of(Kind.DECISION, entry.text)
            if not (known.carried.holds_name(entry.text) or known.carried.says(sentence)):
                worth = _IN_HAND if entry.status is Status.IN_HAND else _OPEN
                loss = make_loss(known, Kind.DECISION, entry.text, entry.index, worth)
                yield replace(loss, detail=entry.status.value, under=Under.PLAN)


def _answers(begun: Begun) -> bool:
    return begun.kind is BegunKind.SUB_AGENT and begun.status != "killed"
