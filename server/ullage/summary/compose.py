"""The whole result of an offline compaction: a summary and the ledger that fits beside it."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.artifacts import ArtifactLedger
from ullage.model.blocks import CompactionBlock
from ullage.model.marker import render_ledger, render_marker
from ullage.summary.excerpts import clip
from ullage.summary.findings import details_of, errors_of, findings_of
from ullage.summary.history import History, read_history
from ullage.summary.items import Item, Section
from ullage.summary.ledger import collect_from, fit, merge
from ullage.summary.page import Page
from ullage.summary.previous import read_previous
from ullage.summary.request import SummaryRequest
from ullage.summary.task import constraints_of, next_of, requests_of, state_of, task_of
from ullage.summary.weights import count_mentions, weigh
from ullage.tokens.counter import TokenCounter

# Shares of the budget. What a part leaves unused goes to the details, which have no end.
_LEDGER_SHARE = 0.2
_CARRIED_SHARE = 0.4
_SHARES = {
    Section.TASK: 0.16,
    Section.STATE: 0.1,
    Section.NEXT: 0.06,
    Section.REQUESTS: 0.14,
    Section.CONSTRAINTS: 0.08,
}
NOTHING_FITS = "The details are in the archive."


class Composition(Struct, frozen=True, kw_only=True):
    """A summary in pieces (their concatenation is the text) and its ledger."""

    pieces: tuple[str, ...]
    ledger: ArtifactLedger

    @property
    def summary(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


def compose(request: SummaryRequest, counter: TokenCounter) -> Composition:
    """Summary and ledger for `request`, at most `request.max_tokens` by `count(render_marker(...))`.

    The smallest result is one line and an empty ledger; a budget below that is overrun by it.
    """
    history = read_history(request.messages, request.first_index, request.kept)
    mentions = count_mentions(history)
    focus = frozenset(word for word in request.focus.lower().split() if len(word) > 2)
    weights = weigh(history, mentions, focus)
    room = request.max_tokens - _cost(request, Composition(pieces=("",), ledger=ArtifactLedger()), counter)
    ledger = collect_from(history, mentions)
    if request.previous:
        ledger = merge(request.previous.ledger, ledger)
    ledger = fit(ledger, int(room * _LEDGER_SHARE), counter)
    spent = counter.count(render_ledger(ledger))
    page = Page(room - spent, weights, counter)
    _write(page, history, read_previous(request.previous))
    return _fitted(page, ledger, request, counter)


def _write(page: Page, history: History, carried: Sequence[Item]) -> None:
    """Chooses what goes on the page: what was asked and where the work stands in given shares, then what earlier
    summaries knew, then all else by worth."""
    room = page.room
    earlier = {section: [item for item in carried if item.section is section] for section in Section}
    findings, errors, details = list(findings_of(history)), list(errors_of(history)), list(details_of(history))
    page.place(_opening(earlier[Section.TASK] or list(task_of(history)), room), int(room * _SHARES[Section.TASK]))
    page.place(next_of(history), int(room * _SHARES[Section.NEXT]))
    page.place(state_of(history), int(room * _SHARES[Section.STATE]))
    page.place(list(requests_of(history))[::-1], int(room * _SHARES[Section.REQUESTS]))
    page.place([*earlier[Section.CONSTRAINTS], *constraints_of(history)], int(room * _SHARES[Section.CONSTRAINTS]))
    page.fill(carried, int(room * _CARRIED_SHARE))
    page.fill(errors, int(room * 0.1))
    page.fill(findings, (room - page.used) // 2)
    page.fill([*findings, *errors, *details, *carried], room)


def _opening(task: Sequence[Item], room: int) -> list[Item]:
    """The task, cut to what its share can hold."""
    limit = int(room * _SHARES[Section.TASK] * 3)
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
        messages_archived=request.first_index + len(request.messages),
        context_size_before=0,
        ledger=composition.ledger,
    )
    return counter.count(render_marker(block))
