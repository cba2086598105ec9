"""Automatic context management: after every change of a session, warn once, and shrink in the background.

The ways of making room, and their order, are the tables of `service/ladder.py`; here they are climbed. A run always
ends with a context that fits the window, or says what is too large for it.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model.context_events import AutoCompacting, ContextWarning
from ullage.model.edits import DuplicateReadsEdit, Edit, EditTrigger
from ullage.model.errors import (
    CompactionVetoed,
    NothingToCompact,
    PreviewExpired,
    SessionBusy,
    UllageError,
)
from ullage.model.events import ContextEdited, ContextWarned
from ullage.model.strategies import TruncationMode
from ullage.policy.alarm import is_due, raised
from ullage.policy.breaker import after_failure, after_success, after_turn, why
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import Action, Gain, decide, result_tokens, target_for, worth_clearing
from ullage.service.compact.run import new_stamp, plan_automatic
from ullage.service.compact.tries import compact_somehow
from ullage.service.conversation.notices import (
    breaker_opened,
    cannot_fit,
    compaction_due,
    compaction_failed,
    compaction_vetoed,
    context_cleared,
)
from ullage.service.conversation.session import Session
from ullage.service.conversation.usage import tell_usage
from ullage.service.conversation.workspace import Workspace
from ullage.service.plan.ladder import (
    LAST_RESORT,
    OLD_TOOL_USES,
    TRUNCATIONS,
    Rung,
    Terms,
    cheap_edits,
    climb,
    system_ids,
)
from ullage.service.summaries.preparing import prepare

_log = logging.getLogger(__name__)
# Looking for something to clear costs time in proportion to the context; after a vain look, the context must have
# grown by this share of what clearing must save.
_RETRY_SHARE = 0.25
_CLEARING = (Action.CLEAR, Action.CLEAR_TOOL_USES)
# A hook that held a compaction back is asked again once the context has grown by this share of usable.
_VETO_SHARE = 0.02


def look_after(workspace: Workspace, session: Session, *, answered: bool = False) -> None:
    """Warns if due and starts shrinking if needed. Returns at once; `settled` waits for what it started."""
    budget = workspace.budget(session)
    if budget is None or not workspace.is_managed(session):
        return
    if answered:
        session.breaker = after_turn(session.breaker, session.used, budget)
    session.told_unfit = session.told_unfit and budget.overflow(session.used) > 0
    if session.used < budget.compact_at:
        session.vetoed_at = 0
    # An agent behind the proxy keeps its own context: no edit of ours would make it smaller.
    ours = session.transcript.agent is None
    due = _due(workspace, session, budget) if ours else Action.NONE
    session = _tell_due(workspace, session, budget, due)
    if due is Action.NONE:
        if ours:
            prepare(workspace, session)
        return
    # While a model answers, the context must stay what it is answering to; the answer's own append comes here again.
    idle = session.id not in workspace.runs and session.id not in workspace.compacting
    if idle and not workspace.turns.is_answering(session.id):
        run = asyncio.get_running_loop().create_task(shrink(workspace, session.id))
        workspace.runs[session.id] = run
        run.add_done_callback(partial(_ended, workspace, session.id))


def _tell_due(workspace: Workspace, session: Session, budget: ContextBudget, due: Action) -> Session:
    """Warns, or says once that a compaction waits for the person."""
    asks = workspace.settings.summary.confirm
    waits = asks and due is not Action.COMPACT and session.used >= budget.compact_at
    if waits and not session.told_due:
        workspace.emit(session.id, compaction_due(session.used, budget.usable))
    session.told_due = waits
    if is_due(session.alarm, session.used, budget):
        # What compacts at once, or now waits for the person, needs no announcement that it will.
        return _warn(workspace, session, budget, quietly=waits or due is Action.COMPACT)
    return session


def _warn(workspace: Workspace, session: Session, budget: ContextBudget, *, quietly: bool) -> Session:
    """Warns, and puts that into the log, so that no other door and no reload warns of the same crossing."""
    alarm = raised(session.used, budget)
    if quietly:
        session.alarm = alarm
        return session
    warned = ContextWarned(used=alarm.used, again_below=alarm.again_below or 0)
    event = ContextWarning(
        session_id=session.id,
        used=session.used,
        usable=budget.usable,
        compact_at=budget.compact_at,
        asks=workspace.settings.summary.confirm,
    )
    session = workspace.record(session, warned)
    workspace.bus.publish(event)
    return session


async def settled(workspace: Workspace, session_id: str) -> Session:
    """The session once no automatic run of it is under way."""
    while (run := workspace.runs.get(session_id)) is not None:
        await asyncio.wait([run])
    return workspace.session(session_id)


def _ended(workspace: Workspace, session_id: str, run: "asyncio.Task[None]") -> None:
    """Forgets a run; one that broke down is told of, since nobody awaits it."""
    workspace.runs.pop(session_id, None)
    if run.cancelled():
        return
    error = run.exception()
    if error is None:
        prepare(workspace, workspace.session(session_id))
    else:
        _log.error("session %s: the automatic run broke down", session_id, exc_info=error)
        reason = str(error) if isinstance(error, UllageError) else "an internal error; the server's log has it"
        workspace.emit(session_id, compaction_failed(reason))


async def shrink(workspace: Workspace, session_id: str) -> None:
    """Makes the room that is due now; nothing when nothing is due."""
    while True:
        session = workspace.session(session_id)
        budget = workspace.budget(session)
        if budget is None:
            return
        action = _due(workspace, session, budget)
        if action is Action.NONE or _clear_cheaply(workspace, session, budget, action):
            return
        if action is not Action.COMPACT:
            session.cleared_at = session.used
            return
        # Where what must stay is too much by itself, a summary of the rest would be paid for in vain.
        wanted = workspace.settings_of(session).mode is TruncationMode.SUMMARIZE
        if not wanted or session.breaker.is_open or _fixed(session.counted_view()) >= budget.usable:
            _truncate(workspace, session, budget)
            return
        if not await _compact(workspace, session, budget):
            return


def _due(workspace: Workspace, session: Session, budget: ContextBudget) -> Action:
    """What the context needs. With the breaker open only what overflows is dealt with, without a summary; so it is
    after a veto of the person's hook, until the context has grown; where they want to be asked, too, but with one."""
    action = decide(session.used, budget, session.tool_uses, workspace.settings_of(session).clear_at_tool_uses)
    held_back = session.used < session.vetoed_at + int(budget.usable * _VETO_SHARE)
    waits = session.breaker.is_open or held_back or workspace.settings.summary.confirm
    if action is Action.COMPACT and waits and not budget.overflow(session.used):
        action = Action.CLEAR
    # What the provider clears itself need not be cleared here.
    return Action.NONE if action in _CLEARING and session.id in workspace.turns.managed else action


def _clear_cheaply(workspace: Workspace, session: Session, budget: ContextBudget, action: Action) -> bool:
    """Applies the cheap rungs in one batch, if they are worth it."""
    settings = workspace.settings_of(session)
    before = session.used
    if before < budget.compact_at and before < session.cleared_at + settings.clear_at_least * _RETRY_SHARE:
        return False
    view = session.counted_view()
    by_count = action is Action.CLEAR_TOOL_USES
    budget = _aimed(budget, view)
    limit = 0 if by_count else budget.target
    terms = _terms(workspace, session, limit, result_tokens(budget, settings.max_result_tokens))
    made = climb((OLD_TOOL_USES,), view, terms) if by_count else cheap_edits(view, terms)
    edits = [edit for _, edit in made]
    if not worth_clearing(action, _gain(before, edits), budget, settings.clear_at_least):
        return False
    session = _record_together(workspace, session, edits)
    workspace.emit(session.id, context_cleared(_listed(made), before, session.used, edits))
    return True


def _gain(before: int, edits: Sequence[Edit]) -> Gain:
    saved = sum(edit.tokens_saved for edit in edits)
    repeats = sum(edit.tokens_saved for edit in edits if isinstance(edit, DuplicateReadsEdit))
    return Gain(before=before, after=before - saved, repeats=repeats)


def _listed(made: Sequence[tuple[Rung, Edit]]) -> str:
    *others, last = (rung.what for rung, _ in made)
    return f"{', '.join(others)} and {last}" if others else last


async def _compact(workspace: Workspace, session: Session, budget: ContextBudget) -> bool:
    """Compacts, or truncates where no summary helps. Whether it is worth looking at the session again."""
    before = session.used
    budget = _aimed(budget, session.counted_view())
    workspace.bus.publish(AutoCompacting(session_id=session.id, used=before))
    try:
        make_plan = partial(plan_automatic, workspace, session.id, budget)
        await compact_somehow(workspace, session.id, make_plan, EditTrigger.AUTOMATIC)
    except SessionBusy:
        # Whoever compacts looks after the session when done.
        return False
    except PreviewExpired:
        # Edited meanwhile: what is due now is another matter.
        session = workspace.session(session.id)
        session.breaker = after_failure(session.breaker)
        return True
    except CompactionVetoed as veto:
        _hold_back(workspace, session.id, budget, veto)
        return False
    except NothingToCompact as error:
        _log.info("session %s: %s", session.id, error)
    except UllageError as error:
        workspace.emit(session.id, compaction_failed(str(error)))
    session = workspace.session(session.id)
    helped = session.used < min(before, budget.compact_at)
    if not helped:
        session = _truncate(workspace, session, budget)
    session.breaker = (after_success if helped else after_failure)(session.breaker)
    if session.breaker.is_open:
        workspace.emit(session.id, breaker_opened(why(session.breaker), *_biggest(session)))
    return not budget.overflow(session.used)


def _hold_back(workspace: Workspace, session_id: str, budget: ContextBudget, veto: CompactionVetoed) -> None:
    """Leaves the context to the person, unless it no longer fits the window."""
    workspace.emit(session_id, compaction_vetoed(str(veto)))
    session = workspace.session(session_id)
    if budget.overflow(session.used):
        session = _truncate(workspace, session, budget)
    session.vetoed_at = session.used


def _truncate(workspace: Workspace, session: Session, budget: ContextBudget) -> Session:
    """The last rungs: down to the target, and if what must stay is too much for the window, says so."""
    view, before = session.counted_view(), session.used
    if _fixed(view) < budget.usable:
        session, made = _climb_down(workspace, session, _aimed(budget, view).target, TRUNCATIONS)
        if made:
            edits = [edit for _, edit in made]
            workspace.emit(session.id, context_cleared(_listed(made), before, session.used, edits))
    fits = not budget.overflow(session.used)
    if not fits and not session.told_unfit:
        workspace.emit(session.id, cannot_fit(session.used, budget.usable, *_biggest(session)))
    session.told_unfit = not fits
    return session


def fit_limit(workspace: Workspace, session: Session, limit: int) -> Session:
    """Brings a context that no summary could shrink to at most `limit` tokens, or as near as can be."""
    return _climb_down(workspace, session, limit, (*TRUNCATIONS, LAST_RESORT))[0]


def _climb_down(
    workspace: Workspace, session: Session, limit: int, rungs: Sequence[Rung]
) -> tuple[Session, list[tuple[Rung, Edit]]]:
    made = climb(rungs, session.counted_view(), _terms(workspace, session, limit))
    return (_record_together(workspace, session, [edit for _, edit in made]) if made else session), made


def _terms(workspace: Workspace, session: Session, limit: int, results: int = 0) -> Terms:
    return Terms(
        limit=limit,
        settings=workspace.settings_of(session),
        transcript=session.transcript,
        new_stamp=partial(new_stamp, workspace),
        relied=frozenset(session.transcript.relied),
        result_tokens=results,
    )


def _record_together(workspace: Workspace, session: Session, edits: Sequence[Edit]) -> Session:
    """Appends the edits of one action, to be undone together."""
    *parts, last = edits
    together = (*(replace(part, part_of=last.id) for part in parts), last)
    session = workspace.record(session, *(ContextEdited(edit=edit) for edit in together))
    tell_usage(workspace, session)
    return session


def _aimed(budget: ContextBudget, view: CountedView) -> ContextBudget:
    """The budget with a target that leaves the conversation room beside what always stays."""
    return replace(budget, target=target_for(budget, _fixed(view)))


def _fixed(view: CountedView) -> int:
    """Tokens that stay whatever is done: tools, a hidden prompt, system messages."""
    system = system_ids(view.messages)
    return view.fixed + sum(
        tokens for item, tokens in zip(view.items, view.tokens, strict=True) if item.message.id in system
    )


def _biggest(session: Session) -> tuple[str, int]:
    """What is largest, by name, for the person to act on, and its tokens."""
    view = session.counted_view()
    system = system_ids(view.messages)
    sizes = {"what the tools and the hidden prompt take": view.fixed, "the system prompt": _fixed(view) - view.fixed}
    for item, tokens in zip(view.items, view.tokens, strict=True):
        if item.message.id not in system:
            sizes[f"message {item.index + 1}"] = tokens
    return max(sizes.items(), key=lambda pair: pair[1])
