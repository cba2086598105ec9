"""The result of an offline compaction: a summary, and the ledger that fits together with it."""

from collections.abc import Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.artifacts import ArtifactLedger
from ullage.model.blocks import CompactionBlock
from ullage.model.marker import render_marker
from ullage.summary.checks import Check, checked, go_on
from ullage.summary.choosing.conflicts import conflicts_of
from ullage.summary.choosing.constraints import constraints_of, instructions_of
from ullage.summary.choosing.failed_calls import failed_calls, without_worked
from ullage.summary.choosing.findings import errors_of, findings_of
from ullage.summary.choosing.hints import hints_of
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.ledger import collect_from, fit, merge, with_contexts
from ullage.summary.choosing.listed import listed_of
from ullage.summary.choosing.mends import told_since
from ullage.summary.choosing.page import Page
from ullage.summary.choosing.passages import Neighbours, passages_of
from ullage.summary.choosing.plans import Entry, plan_entries
from ullage.summary.choosing.previous import read_previous, read_summary
from ullage.summary.choosing.user_words import closed, fit_requests, requests_of, task_of
from ullage.summary.choosing.weights import Mention, count_mentions, mentions_focus, weigh
from ullage.summary.choosing.work_state import next_of, plan_of, recent_of, standing, state_of
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import names_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.excerpts import begin, shorten
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.summary.tuning import CHARACTERS_PER_TOKEN, TUNING, Tuning
from ullage.tokens.counter import TokenCounter

# Sections of which only the newest counts. Those of the earlier summary are used if there are none newer.
_CURRENT = (Section.PLAN, Section.STATE, Section.RECENT)
# Sections with shares of their own. Items of the others compete with each other.
_PLACED = {*_CURRENT, Section.REQUESTS, Section.TASK, Section.CONSTRAINTS, Section.INSTRUCTIONS}
# Characters of the task if the whole of it is among the requests: a sentence or two.
_TASK_AGAIN = 160
# Thousands of tokens. The weights are fitted to names that no tail of so many tokens shows, and would put what a
# message of the tail lost before an open failure.
_NEAREST = 4.0
NOTHING_FITS = "The details are in the archive."


class _Sources(Struct, frozen=True, kw_only=True):
    """What an offline summary is chosen from: the digest of the archived messages, the anchors with their mentions and
    weights, the task, the newest plan, items on the current state, items from instruction files, items carried over
    from earlier summaries, the ledger, and the anchors of text that stays in the context verbatim."""

    digest: Digest
    mentions: dict[str, Mention]
    weights: dict[str, float]
    task: list[Item]
    plan: list[Entry]
    current: list[Item]
    instructions: list[Item]
    carried: list[Item]
    ledger: ArtifactLedger
    verbatim: frozenset[str]


class Composition(Struct, frozen=True, kw_only=True):
    """An offline summary with its ledger. `pieces` concatenate to the summary's text; each can be shown as one
    chunk."""

    pieces: tuple[str, ...]
    ledger: ArtifactLedger

    @property
    def summary(self) -> str:
        """The whole text of the summary."""
        return "".join(self.pieces)


def compose(
    request: SummaryRequest,
    counter: TokenCounter,
    reader: Reader | None = None,
    check: Check = go_on,
    tuning: Tuning = TUNING,
) -> Composition:
    """Returns a summary and a ledger for `request` that count at most `request.max_tokens` tokens, by
    `counter.count(render_marker(...))`.

    The smallest result is one line and an empty ledger. If even that exceeds the budget, it is returned all the same.
    `reader` remembers texts that it has read before. `check` is called at every step, each of a few milliseconds except
    in conversations of millions of tokens. An exception of `check` ends the work.
    """
    focus = frozenset(word for word in request.focus.lower().split() if len(word) > 2)
    sources = _read(request, reader or Reader(), check, tuning)
    room = request.max_tokens - _cost(request, Composition(pieces=("",), ledger=ArtifactLedger()), counter)
    ledger = fit(sources.ledger, int(room * tuning.ledger_share), counter)
    ledger = with_contexts(ledger, sources.mentions)
    page = Page(room, sources.weights, counter, check, tuning, ledger=ledger)
    page.cover(sources.verbatim)
    listed = frozenset(file.path for file in ledger.files)
    sources = replace(sources, current=[*sources.current, *recent_of(sources.digest, listed)])
    _write(page, sources, focus, check, tuning)
    return _fitted(page, ledger, request, counter)


def _read(request: SummaryRequest, reader: Reader, check: Check, tuning: Tuning) -> _Sources:
    digest = read_messages(request.messages, request.indices, reader, request.kept, check)
    after = range(digest.end_index, digest.end_index + len(request.tail))
    last = request.messages[-1] if request.messages else None
    tail = read_messages(request.tail, after, reader, check=check, before=last)
    digest = replace(digest, after=tail)
    if request.whole:
        whole = read_messages(request.whole, after, reader, check=check, before=last)
        digest = _with_lost(digest, request, tail, whole)
    mentions = count_mentions(digest.contents, tail.contents, check)
    if request.whole:
        for name in names_of([one for one in digest.contents if one.index >= digest.end_index]):
            mentions[name].since = max(mentions[name].since, _NEAREST)
    weights = weigh(mentions, check, tuning)
    carried = read_previous(request.previous, tuning)
    # The agent's newest summary includes the earlier ones.
    carried += [item for said in digest.summaries[-1:] for item in read_summary(said.text, tuning)]
    carried = list(without_worked([*told_since(carried, digest)], digest))
    ledger = collect_from(digest, mentions, weights, check)
    plan = plan_entries(digest)
    if request.previous:
        ledger = merge(request.previous.ledger, ledger)
    return _Sources(
        digest=digest,
        mentions=mentions,
        weights=weights,
        task=task_of(digest, tail.requests),
        plan=plan,
        current=[*plan_of(plan), *state_of(digest)],
        instructions=list(instructions_of(request.messages, request.indices, frozenset(request.kept), digest.calls)),
        carried=carried,
        ledger=ledger,
        verbatim=_verbatim(digest, tail),
    )


def _with_lost(digest: Digest, request: SummaryRequest, tail: Digest, whole: Digest) -> Digest:
    """Returns the digest with the contents of the tail's messages that were shortened, because what they lost is
    nowhere else in the context. `whole` is the digest of the `tail` as it was before."""
    pairs = enumerate(zip(request.whole, request.tail, strict=True), start=digest.end_index)
    shortened = {index for index, (before, after) in pairs if before != after}
    left = {one.text for one in tail.excerpts}
    lost = [one for one in whole.excerpts if one.index in shortened and one.text not in left]
    return replace(
        digest,
        excerpts=(*digest.excerpts, *lost),
        seen=(*digest.seen, *(one for one in whole.seen if one.index in shortened)),
        contents=(*digest.contents, *(one for one in whole.contents if one.index in shortened)),
    )


def _verbatim(digest: Digest, tail: Digest) -> frozenset[str]:
    """Returns the anchors of the texts that stay in the context verbatim, which a summary need not repeat."""
    requests = (*(request for request in digest.requests if request.kept), *tail.requests)
    names = (name for request in requests for name in find_anchors(request.text))
    return frozenset((*names, *digest.kept, *names_of(tail.contents)))


def _write(page: Page, sources: _Sources, focus: frozenset[str], check: Check, tuning: Tuning) -> None:
    """Fills the page in this order: the user's words, the task and the state of the work in fixed shares, conflicts of
    a merge, text that matches the focus, items of earlier summaries, errors and findings, all other items by their
    worth, and hints at names that are not on the page."""
    digest = sources.digest
    earlier = [item for item in sources.carried if item.section not in _PLACED]
    findings = list(findings_of(digest, check, tuning))
    passages = list(passages_of(digest, sources.weights, check, tuning))
    _write_requests(page, sources, tuning)
    _write_state(page, sources, check, tuning)
    conflicts = list(conflicts_of(digest, check, tuning))
    page.fill(conflicts, int((page.room - page.used) * tuning.conflicts_share))
    state = [item.text for item in page.items if item.section is Section.STATE]
    failed = [*errors_of(digest, check, tuning), *failed_calls(digest, tuning)]
    errors = [error for error in failed if not _is_told(error, state)]
    listed = list(listed_of(digest, sources.weights, tuning))
    pool = [*findings, *errors, *conflicts, *passages, *listed, *earlier]
    if focus:
        page.fill([item for item in pool if mentions_focus(item.text, focus)], int(page.room * tuning.focus_share))
    # Text under an earlier summary's own titles first: where single findings take its place, it has gaps.
    share = page.used + int(page.room * tuning.carried_share)
    page.fill([item for item in earlier if item.section is Section.EARLIER], share - page.used)
    page.fill(earlier, share - page.used)
    page.fill(errors, int(page.room * tuning.section_share))
    page.fill(findings, int((page.room - page.used) * tuning.findings_share))
    ranking = page.rank(pool, Neighbours(digest, tuning))
    # Twice: settling finds that gaps, frames and the ledger took fewer tokens than were reserved for them.
    for _ in range(2):
        page.fill_from(ranking, page.room - page.used - int(page.room * tuning.hints_share))
        page.settle()
    page.fill(list(hints_of(digest, sources.weights, sources.mentions, page.covered)), page.room)


def _is_told(error: Item, state: Sequence[str]) -> bool:
    """Returns whether the state of the work says the whole of an error. An open one is named as such all the same."""
    return error.section is not Section.OPEN and any(error.text in text for text in state)


def _write_requests(page: Page, sources: _Sources, tuning: Tuning) -> None:
    """Places the user's words and the task. The task of an earlier summary is used until there is a newer one; then it
    is a request like others, unless that summary already had it among the requests."""
    of = {section: [item for item in sources.carried if item.section is section] for section in Section}
    told = of[Section.REQUESTS] or (of[Section.TASK] if sources.task else [])
    requests = [*(replace(item, section=Section.REQUESTS) for item in told), *requests_of(sources.digest)]
    room = int(page.room * tuning.requests_share) - page.cost(Section.REQUESTS)
    fitted = fit_requests(requests, page.cost_of, room)
    page.place(fitted[::-1], int(page.room * tuning.requests_share))
    share = int(page.room * tuning.section_share)
    typed = {request.index: request.text for request in sources.digest.requests}
    whole = frozenset(item.index for item in fitted if item.text.startswith(typed.get(item.index, "\0")))
    page.place(_opening(sources.task or of[Section.TASK], share, whole), share)


def _write_state(page: Page, sources: _Sources, check: Check, tuning: Tuning) -> None:
    digest, share = sources.digest, int(page.room * tuning.section_share)
    of = {section: [item for item in sources.carried if item.section is section] for section in Section}
    page.place(next_of(digest, sources.plan), share)
    for section in _CURRENT:
        newest = [item for item in sources.current if item.section is section]
        if newest and section is Section.STATE:
            newest += standing(of[section], newest, digest)
        page.place(newest or of[section], share)
    page.fill([*of[Section.CONSTRAINTS], *checked(constraints_of(digest), check)], share)
    page.fill([*sources.instructions, *of[Section.INSTRUCTIONS]], share)


def _opening(task: Sequence[Item], share: int, whole: Set[int]) -> list[Item]:
    """Returns the items of the task, each shortened so that it surely fits into `share` tokens. Those of the messages
    `whole`, which are among the requests word for word, only say which request is meant."""
    # A quarter less than the usual number of characters, so that the task surely fits.
    limit = max(share * CHARACTERS_PER_TOKEN * 3 // 4, 40)
    return [
        replace(item, text=closed(begin(item.text, min(limit, _TASK_AGAIN))))
        if item.index in whole
        else replace(item, text=closed(shorten(item.text, limit)))
        for item in task
    ]


def _fitted(page: Page, ledger: ArtifactLedger, request: SummaryRequest, counter: TokenCounter) -> Composition:
    """Returns the page as a composition that fits the request's budget. The tokens of the whole may differ from the sum
    of its parts, so the items added last are removed until the text fits, and then the ledger."""
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
    """Returns the tokens of the marker with this summary and ledger, as the model will be sent it."""
    block = CompactionBlock(
        compaction_number=request.previous.compaction_number + 1 if request.previous else 1,
        timestamp=0,
        summary=composition.summary,
        messages_archived=request.indices[-1] + 1 if request.indices else 0,
        context_size_before=0,
        ledger=composition.ledger,
    )
    return counter.count(render_marker(block))
