"""Compaction runs: plan, have the summary written, append the edit, tell everyone. One run per session at a time.

Messages may be appended while a summary is written; the edit covers a range that they do not touch. Any other
edit of the session in that time makes the run fail rather than apply to a view it was not planned on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.compaction import (
    SUMMARY_CAP,
    CompactionLimits,
    CompactionPlan,
    Summary,
    finish_compaction,
    plan_compaction,
)
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.shorten import cap_blocks
from ullage.model import words
from ullage.model.edits import CompactionEdit, EditTrigger
from ullage.model.errors import Conflict, NothingToCompact, PreviewExpired, SessionBusy, UllageError
from ullage.model.events import ContextEdited, MessageAppended
from ullage.model.message import Message
from ullage.model.updates import (
    CompactionStatus,
    Update,
)
from ullage.policy.breaker import Breaker
from ullage.policy.budget import ContextBudget
from ullage.redaction.privacy import hide
from ullage.service.compact.hooks import Heard, after_compaction
from ullage.service.compact.instruction_files import look_up, with_files
from ullage.service.compact.teller import Teller
from ullage.service.conversation.session import Planned, Session
from ullage.service.conversation.workspace import Workspace
from ullage.service.plan.ladder import SUMMARIES, Attempt
from ullage.service.summaries.aside import aside
from ullage.service.summaries.choose import model_writer, writes_by_model
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.service.summaries.prepared import tail_for, take_prepared
from ullage.summary.checks import Check
from ullage.summary.choosing.scoring import Judge
from ullage.summary.request import SummaryRequest
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import leading, without_oldest

# A compaction by hand is asked for to make room now: it leaves at most half of what is there, half of that verbatim.
_MANUAL_SHARE = 0.5
_MANUAL_TAIL_SHARE = 0.25
# In a small window a summary of full length would crowd out the conversation it serves.
_SUMMARY_SHARE = 0.35
MakePlan = Callable[[], Awaitable[Planned]]
# A block may take this share of the target; more would leave no room for the conversation around it.
BLOCK_SHARE = 0.25
# Old messages worth their tokens verbatim are few and short: a summary says more per token, and where tokens are
# scarce it needs all of them.
_KEEP_OLD_SHARE, _KEEP_OLD_FROM = 0.05, 4_000


def _nobody(_: object) -> None:
    """Nobody listens."""


class Hearing(Struct, frozen=True, kw_only=True):
    """Who hears of a summary being written: of each piece as it comes, and of waits for the provider, which everybody
    who listens to the session hears of unless `update` is given."""

    piece: Callable[[str], None] = _nobody
    update: Callable[[Update], None] | None = None


_UNHEARD = Hearing()


class Compacted(Struct, frozen=True, kw_only=True):
    """A compaction that was applied, and what of it is not as the person asked."""

    edit: CompactionEdit
    note: str = ""


def new_stamp(workspace: Workspace, trigger: EditTrigger = EditTrigger.AUTOMATIC) -> Stamp:
    """A new edit's id and time."""
    return Stamp(id=workspace.ports.ids.new("e"), timestamp=workspace.ports.clock.now(), trigger=trigger)


def automatic_limits(budget: ContextBudget) -> CompactionLimits:
    """What a compaction at the threshold aims for."""
    return _limits(budget.target, budget.keep_tail)


async def plan_automatic(workspace: Workspace, session_id: str, budget: ContextBudget) -> Planned:
    """The plan of a compaction at the threshold. Raises `NothingToCompact`."""
    session = workspace.session(session_id)
    limits = tail_for(workspace, session, automatic_limits(budget))
    return await plan(workspace, session, limits, EditTrigger.AUTOMATIC)


def manual_limits(used: int, budget: ContextBudget | None) -> CompactionLimits:
    """What a compaction by hand aims for: it must help even when the context is nearly empty."""
    target, tail = int(used * _MANUAL_SHARE), int(used * _MANUAL_TAIL_SHARE)
    if budget is None:
        return _limits(target, tail)
    return _limits(min(target, budget.target), min(tail, budget.keep_tail))


def _limits(target: int, tail: int) -> CompactionLimits:
    return CompactionLimits(
        target=target,
        keep_tail=tail,
        summary=min(SUMMARY_CAP, int(target * _SUMMARY_SHARE)),
        keep_old=keep_old(target),
    )


def keep_old(target: int) -> int:
    """What old messages may take verbatim of a context of `target` tokens."""
    return int(max(0, target - _KEEP_OLD_FROM) * _KEEP_OLD_SHARE)


async def plan(
    workspace: Workspace,
    session: Session,
    limits: CompactionLimits,
    trigger: EditTrigger,
    block_share: float = BLOCK_SHARE,
) -> Planned:
    """Decides what goes. Blocks that must stay are cut to `block_share` of the target. Raises `NothingToCompact`."""
    transcript = session.transcript
    view = session.counted_view()
    cut = cap_blocks(view, int(limits.target * block_share), new_stamp(workspace, trigger), staying(session))
    if cut is not None:
        view = view.after(cut)
    limits = replace(limits, target=min(limits.target, session.used - 1))
    pinned, first_user_id = frozenset(transcript.pinned), transcript.first_user_id

    def planning(check: Check) -> CompactionPlan | None:
        return plan_compaction(view, limits, pinned, first_user_id, partial(Judge, workspace.reader, check))

    planned = await planned_on(workspace, session, view, planning, trigger)
    if planned is None:
        raise NothingToCompact(words.nothing_to_compact(transcript.active, session.used))
    return replace(planned, cuts=(replace(cut, part_of=planned.stamp.id),)) if cut else planned


async def planned_on(
    workspace: Workspace,
    session: Session,
    view: CountedView,
    planning: Callable[[Check], CompactionPlan | None],
    trigger: EditTrigger,
) -> Planned | None:
    """A plan for the session as it is now; None if `planning` finds none. It reads every old message, so it runs in a
    thread: a large context takes seconds, in which the event loop stays free."""
    used, number, edits_seen = session.used, session.transcript.compactions + 1, session.edits_seen
    stamp = new_stamp(workspace, trigger)
    found = await aside(planning)
    if found is None:
        return None
    return Planned(
        session_id=session.id,
        view=view,
        plan=replace(found, used_before=used),
        stamp=stamp,
        number=number,
        edits_seen=edits_seen,
        private=workspace.settings_of(session).private_patterns,
    )


async def compact(
    workspace: Workspace, session_id: str, make_plan: MakePlan, attempt: Attempt, heard: Heard
) -> Compacted:
    """Plans, summarises as an attempt of the ladder says, and applies a compaction, telling every listener as it goes.
    The person's hook is asked unless it was `heard` at an earlier attempt.

    Raises what `make_plan` raises, `SessionBusy` while another run is under way, `PreviewExpired` if the session was
    edited meanwhile, `ProviderError` if no summary could be had. Cancelling the task leaves the context as it was.
    """
    with _only_run(workspace, session_id):
        planned, began = await make_plan(), workspace.ports.clock.now()
        teller = Teller(workspace, planned)
        teller.begun()
        try:
            planned, request = await prepare(workspace, planned, attempt.focus, heard)
            edit = apply(workspace, planned, await write_summary(workspace, planned, request, attempt, teller.chunk))
        except asyncio.CancelledError:
            teller.ended(CompactionStatus.CANCELLED)
            raise
        except UllageError as error:
            teller.ended(CompactionStatus.FAILED, str(error))
            raise
        teller.completed(edit)
        after_compaction(workspace, planned, edit, began)
        return Compacted(edit=edit, note=planned.note)


def apply_and_tell(workspace: Workspace, planned: Planned, summary: Summary) -> Compacted:
    """Applies a compaction whose summary is there already, telling every listener. Raises `PreviewExpired`."""
    teller = Teller(workspace, planned)
    edit = apply(workspace, planned, summary)
    teller.begun()
    teller.completed(edit)
    after_compaction(workspace, planned, edit, workspace.ports.clock.now())
    return Compacted(edit=edit, note=planned.note)


async def prepare(
    workspace: Workspace, planned: Planned, focus: str, heard: Heard, *, dry_run: bool = False
) -> tuple[Planned, SummaryRequest]:
    """The plan with what comes back with it, and what the summariser is asked, the person's hook having been heard.

    Raises `CompactionVetoed`.
    """
    planned = with_files(planned, await look_up(workspace, workspace.session(planned.session_id)))
    request = summary_request(workspace, planned, focus)
    return planned, replace(request, focus=await heard.before(workspace, planned, request, dry_run=dry_run))


async def write_summary(
    workspace: Workspace,
    planned: Planned,
    request: SummaryRequest,
    attempt: Attempt = SUMMARIES[0],
    told: Callable[[str], None] = lambda _: None,
) -> Summary:
    """The summary of what a plan archives, prepared or new, each piece handed to `told` as it comes."""
    if attempt == SUMMARIES[0] and not request.focus and planned.session_id in workspace.preparations:
        prepared = await take_prepared(workspace, planned, request)
        if prepared is not None:
            told(prepared.text)
            return prepared
    return await write_anew(workspace, planned, request, attempt, Hearing(piece=told))


async def write_anew(
    workspace: Workspace,
    planned: Planned,
    request: SummaryRequest,
    attempt: Attempt = SUMMARIES[0],
    hearing: Hearing = _UNHEARD,
) -> Summary:
    """`write_summary` without looking for a prepared one."""
    session = workspace.session(planned.session_id)
    if not attempt.offline and writes_by_model(workspace, session):
        tell = hearing.update or partial(workspace.emit, session.id)
        summarizer = model_writer(workspace, session, attempt.skip, tell)
    else:
        summarizer = OfflineSummarizer() if attempt.offline else workspace.ports.summarizer
        request = _without_oldest(request, attempt.skip)
    stream = await summarizer.summarize(request, session.counter, workspace.reader)
    pieces: list[str] = []
    async for piece in stream.pieces:
        pieces.append(piece)
        hearing.piece(piece)
    return Summary(text="".join(pieces), ledger=stream.ledger, summarizer=summarizer.name, sealed=stream.sealed)


def summary_request(workspace: Workspace, planned: Planned, focus: str = "") -> SummaryRequest:
    """What the summariser is asked: the head's messages as they were before any edit emptied parts of them, without
    private passages."""
    found = planned.plan
    tracker = workspace.session(planned.session_id).tracker
    request = SummaryRequest(
        messages=_originals(workspace, planned),
        indices=tuple(item.index for item in found.head),
        max_tokens=max(1, int(found.summary_tokens / tracker.calibration.ratio)),
        previous=found.previous,
        kept=(*found.leading, *found.kept),
        tail=tuple(item.message for item in planned.view.items if item.index >= found.end),
        focus=focus,
    )
    return hide(request, planned.private)


def _without_oldest(request: SummaryRequest, skip: int) -> SummaryRequest:
    """Less to read for a writer whose window the request overflowed: whole groups, so that pairs stay together."""
    if not skip:
        return request
    left = {message.id for message in without_oldest(request.messages, request.kept, skip)}
    stays = [i for i, message in enumerate(request.messages) if message.id in left]
    return replace(
        request,
        messages=tuple(request.messages[i] for i in stays),
        indices=tuple(request.indices[i] for i in stays),
    )


def apply(workspace: Workspace, planned: Planned, summary: Summary) -> CompactionEdit:
    """Appends the edit. Raises `PreviewExpired` if the session was edited since it was planned."""
    session = workspace.session(planned.session_id)
    if session.edits_seen != planned.edits_seen:
        raise PreviewExpired("the context was edited since this compaction was planned; plan it again")
    edit = finish(workspace, planned, summary)
    # The cuts are listed with what they saved themselves.
    edit = replace(edit, tokens_saved=edit.tokens_saved - sum(cut.tokens_saved for cut in planned.cuts))
    session = workspace.record(session, *(ContextEdited(edit=edit) for edit in (*planned.cuts, edit)))
    if edit.trigger is EditTrigger.MANUAL:
        session.breaker = Breaker()
    workspace.keep_snapshot(session)
    return edit


def finish(workspace: Workspace, planned: Planned, summary: Summary) -> CompactionEdit:
    """The edit a plan and a summary make. Whoever wrote the summary, no secret and nothing private stays in it."""
    text = workspace.reader.redact(summary.text)
    safe = hide(replace(summary, text=text, brought_back=planned.brought_back), planned.private)
    return finish_compaction(planned.plan, planned.view, planned.stamp, safe, planned.number)


def staying(session: Session) -> frozenset[str]:
    """Messages that stay whatever is compacted, so that huge blocks in them must be cut: the first and the last."""
    messages = session.transcript.view
    if not messages:
        return frozenset()
    last = groups(messages)[-1]
    first = leading(messages, session.transcript.first_user_id)
    return frozenset({*first, *(messages[i].id for i in last)})


def _originals(workspace: Workspace, planned: Planned) -> tuple[Message, ...]:
    head = tuple(item.message for item in planned.plan.head)
    edits = workspace.session(planned.session_id).transcript.edits_in_force
    if not planned.cuts and all(edit.kind == "compaction" for edit in edits):
        return head
    wanted = {message.id for message in head}
    originals = {
        record.event.message.id: record.event.message
        for record in workspace.ports.store.read(planned.session_id)
        if isinstance(record.event, MessageAppended) and record.event.message.id in wanted
    }
    return tuple(originals.get(message.id, message) for message in head)


@contextmanager
def _only_run(workspace: Workspace, session_id: str) -> Generator[None]:
    require_idle(workspace, session_id)
    task = asyncio.current_task()
    if task is not None:
        workspace.compacting[session_id] = task
    try:
        yield
    finally:
        workspace.compacting.pop(session_id, None)


def require_rest(workspace: Workspace, session_id: str) -> None:
    """Raises `SessionBusy` while a compaction or a prompt turn is under way: what is done by hand must not change
    what the model is answering to."""
    require_idle(workspace, session_id)
    if session_id in workspace.turns.running:
        raise SessionBusy(f"the model is at work in session {session_id}; wait for its turn to end, or cancel it")


def require_idle(workspace: Workspace, session_id: str) -> None:
    """Raises `SessionBusy` while a compaction of the session is under way, `Conflict` where an agent behind the proxy
    keeps the context: what is edited here it would not know of."""
    if session_id in workspace.compacting:
        raise SessionBusy(f"a compaction of session {session_id} is running; wait for it or cancel it")
    agent = workspace.session(session_id).transcript.agent
    if agent is not None:
        raise Conflict(f"{agent.agent} keeps the context of session {session_id}; compact or undo where you talk to it")
