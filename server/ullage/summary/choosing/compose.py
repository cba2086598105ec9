"""The whole result of an offline compaction: a summary and the ledger that fits beside it."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.artifacts import ArtifactLedger
from ullage.model.blocks import CompactionBlock
from ullage.model.marker import render_ledger, render_marker
from ullage.summary.checks import Check, checked, go_on
from ullage.summary.choosing.findings import details_of, errors_of, findings_of
from ullage.summary.choosing.instructions import instructions_of
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.ledger import collect_from, fit, merge
from ullage.summary.choosing.lookup import hints_of
from ullage.summary.choosing.page import Page
from ullage.summary.choosing.task import constraints_of, requests_of, task_of
from ullage.summary.choosing.weights import Mention, count_mentions, focused, mentions_focus, weigh
from ullage.summary.choosing.work import next_of, plan_of, recent_of, state_of
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.excerpts import clip
from ullage.summary.reading.history import History, read_history
from ullage.summary.reading.previous import read_previous
from ullage.summary.reading.reader import Reader
from ullage.summary.request import SummaryRequest
from ullage.tokens.counter import TokenCounter

# Shares of the budget. What a part leaves unused goes to the details, which have no end.
_LEDGER_SHARE = 0.15
_CARRIED_SHARE = 0.4
_SHARES = {
    Section.TASK: 0.16,
    Section.PLAN: 0.1,
    Section.STATE: 0.05,
    Section.RECENT: 0.1,
    Section.NEXT: 0.06,
    Section.INSTRUCTIONS: 0.08,
    Section.REQUESTS: 0.14,
    Section.CONSTRAINTS: 0.08,
}
# Of these only the newest counts; the earlier summary's stand while there is nothing newer.
_CURRENT = (Section.PLAN, Section.STATE, Section.RECENT)
_FOCUS_SHARE = 0.3
_ERROR_SHARE = 0.1
# Of what is left when task, focus, earlier findings and errors are written: prose reads better than what was shown.
_FINDINGS_SHARE = 0.3
_LOOKUP_SHARE = 0.04
# What is set aside for gaps and frames and not needed is filled, too.
_FILLINGS = 3
# What an earlier summary found worth keeping weighs as much as a name the agent wrote once, lately.
_FROZEN_WEIGHT = 4.0
NOTHING_FITS = "The details are in the archive."


class _Sources(Struct, frozen=True, kw_only=True):
    """All that a summary is chosen from."""

    history: History
    mentions: dict[str, Mention]
    weights: dict[str, float]
    current: list[Item]
    instructions: list[Item]
    carried: list[Item]
    ledger: ArtifactLedger
    verbatim: frozenset[str]


class Composition(Struct, frozen=True, kw_only=True):
    """A summary in pieces (their concatenation is the text) and its ledger."""

    pieces: tuple[str, ...]
    ledger: ArtifactLedger

    @property
    def summary(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


def compose(
    request: SummaryRequest, counter: TokenCounter, reader: Reader | None = None, check: Check = go_on
) -> Composition:
    """Summary and ledger for `request`, at most `request.max_tokens` by `count(render_marker(...))`.

    The smallest result is one line and an empty ledger; a budget below that is overrun by it. What `reader` has read
    before is not read again. `check` is asked at every step, of some milliseconds but in histories of millions of
    tokens; what it raises ends the work.
    """
    focus = frozenset(word for word in request.focus.lower().split() if len(word) > 2)
    sources = _read(request, focus, reader or Reader(), check)
    room = request.max_tokens - _cost(request, Composition(pieces=("",), ledger=ArtifactLedger()), counter)
    ledger = fit(sources.ledger, int(room * _LEDGER_SHARE), counter)
    page = Page(room - counter.count(render_ledger(ledger)), sources.weights, counter, sources.verbatim, check)
    _write(page, sources, focus, check)
    return _fitted(page, ledger, request, counter)


def _read(request: SummaryRequest, focus: frozenset[str], reader: Reader, check: Check) -> _Sources:
    history = read_history(request.messages, request.indices, reader, request.kept, check)
    behind = range(history.end_index, history.end_index + len(request.tail))
    tail = read_history(request.tail, behind, reader, check=check)
    mentions = count_mentions(history.excerpts, tail.excerpts, check)
    unfocused = weigh(mentions, check)
    weights = focused(unfocused, focus)
    carried = read_previous(request.previous)
    for item in carried:
        for name in item.anchors:
            weights.setdefault(name, _FROZEN_WEIGHT)
    ledger = collect_from(history, mentions, unfocused, check)
    if request.previous:
        ledger = merge(request.previous.ledger, ledger)
    return _Sources(
        history=history,
        mentions=mentions,
        weights=weights,
        current=[*plan_of(history), *state_of(history), *recent_of(history)],
        instructions=list(instructions_of(request.messages, request.indices, frozenset(request.kept), history.calls)),
        carried=carried,
        ledger=ledger,
        verbatim=_verbatim(history, tail),
    )


def _verbatim(history: History, tail: History) -> frozenset[str]:
    """The anchors of what stays in the context as it was said."""
    requests = (*(request for request in history.requests if request.kept), *tail.requests)
    shown = (*history.kept, *tail.excerpts)
    names = (*(find_anchors(request.text) for request in requests), *(piece.anchors for piece in shown))
    return frozenset(name for each in names for name in each)


def _write(page: Page, sources: _Sources, focus: frozenset[str], check: Check) -> None:
    """Chooses what goes on the page: what was asked and where the work stands in given shares, what matches the
    focus, what earlier summaries knew, then all else by worth, and hints at what found no room."""
    history = sources.history
    earlier = [item for item in sources.carried if item.section not in _CURRENT]
    findings, details = (
        list(findings_of(history, check)),
        list(details_of(history, check)),
    )
    errors = list(errors_of(history, check))
    _write_task(page, sources, check)
    pool = [*findings, *errors, *details, *earlier]
    if focus:
        page.fill([item for item in pool if mentions_focus(item.text, focus)], int(page.room * _FOCUS_SHARE))
    page.fill(earlier, int(page.room * _CARRIED_SHARE))
    page.fill(errors, int(page.room * _ERROR_SHARE))
    page.fill(findings, int((page.room - page.used) * _FINDINGS_SHARE))
    for _ in range(_FILLINGS):
        page.fill(pool, page.room - page.used - int(page.room * _LOOKUP_SHARE))
        page.settle()
    page.fill(list(hints_of(sources.weights, sources.mentions, page.covered)), page.room)


def _write_task(page: Page, sources: _Sources, check: Check) -> None:
    room, history = page.room, sources.history
    of = {section: [item for item in sources.carried if item.section is section] for section in _SHARES}
    share = {section: int(room * part) for section, part in _SHARES.items()}
    page.place(_opening(of[Section.TASK] or list(task_of(history)), share[Section.TASK]), share[Section.TASK])
    page.place(next_of(history), share[Section.NEXT])
    for section in _CURRENT:
        newest = [item for item in sources.current if item.section is section]
        page.place(newest or of[section], share[section])
    page.place([*list(requests_of(history))[::-1], *of[Section.REQUESTS][::-1]], share[Section.REQUESTS])
    page.fill([*of[Section.CONSTRAINTS], *checked(constraints_of(history), check)], share[Section.CONSTRAINTS])
    page.fill([*sources.instructions, *of[Section.INSTRUCTIONS]], share[Section.INSTRUCTIONS])


def _opening(task: Sequence[Item], share: int) -> list[Item]:
    """The task, cut to what its share of tokens can hold."""
    limit = share * 3  # characters: under the usual four a token, so that it fits
    return [replace(item, text=clip(item.text, max(limit, 40))) for item in task]


def _fitted(page: Page, ledger: ArtifactLedger, request: SummaryRequest, counter: TokenCounter) -> Composition:
    """The page as text. Tokens of a whole may differ from the sum over its parts: what is over goes."""
    while True:
        sections = page.sections()
        pieces = (*(f"{section}\n\n" for section in sections[:-1]), *sections[-1:]) or (NOTHING_FITS,)
        composition = Composition(pieces=pieces, ledger=ledger)
        over = _cost(request, composition, counter) - request.max_tokens
        if over <= 0 or not (page.items or ledger.files or ledger.commands or ledger.identifiers):
            return composition
        if page.items:
            page.remove_last()
        else:
            ledger = ArtifactLedger()


def _cost(request: SummaryRequest, composition: Composition, counter: TokenCounter) -> int:
    """Tokens of the marker as the model will be sent it."""
    block = CompactionBlock(
        compaction_number=request.previous.compaction_number + 1 if request.previous else 1,
        timestamp=0,
        summary=composition.summary,
        messages_archived=request.indices[-1] + 1 if request.indices else 0,
        context_size_before=0,
        ledger=composition.ledger,
    )
    return counter.count(render_marker(block))
