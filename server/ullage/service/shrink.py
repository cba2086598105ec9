"""Automatic context management: after every change of a session, warn once, and shrink in the background.

The ladder: cheap edits if they do enough, else a compaction; if the context still does not fit the window, whole
messages go, then the middles of what is too large. It always ends under the window or opens the breaker.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ullage.edits.clear_tool_uses import ClearOptions, clear_tool_uses
from ullage.edits.counted import CountedView
from ullage.edits.drop_oldest import drop_oldest
from ullage.edits.duplicate_reads import dedupe_reads
from ullage.edits.shorten import shorten
from ullage.model.edits import Edit, EditTrigger
from ullage.model.errors import NothingToCompact, UllageError
from ullage.model.events import ContextEdited
from ullage.model.updates import Notice
from ullage.policy.alarm import observe
from ullage.policy.breaker import after_failure, after_success, after_turn
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import Action, decide, worth_clearing
from ullage.service.compaction import automatic_limits, compact, new_stamp
from ullage.service.notices import (
    auto_compacting,
    breaker_opened,
    compaction_failed,
    context_cleared,
    context_warning,
)
from ullage.service.session import Session
from ullage.service.usage import tell_usage
from ullage.service.workspace import Workspace
from ullage.transcript.fold import edit_kind

_log = logging.getLogger(__name__)
# Looking for something to clear costs time in proportion to the context; after a vain look, the context must have
# grown by this share of what clearing must save.
_RETRY_SHARE = 0.25
_CLEARED_WORDS = {"duplicate_reads": "repeated file reads", "clear_tool_uses": "old tool results"}


def look_after(workspace: Workspace, session: Session, *, answered: bool = False) -> None:
    """Warns if due and starts shrinking if needed. Returns at once; `settled` waits for what it started."""
    budget = workspace.budget(session)
    if budget is None or not workspace.settings.context.enabled:
        return
    if answered:
        session.breaker = after_turn(session.breaker)
    due = _due(session, budget)
    session.alarm, warn = observe(session.alarm, session.used, budget)
    # What compacts at once needs no announcement that it will.
    if warn and due is not Action.COMPACT:
        workspace.emit(session.id, context_warning(session.used, budget))
    if due is Action.NONE:
        return
    # While a model answers, the context must stay what it is answering to; the answer's own append comes here again.
    idle = session.id not in workspace.runs and session.id not in workspace.compacting
    if idle and not workspace.turns.is_answering(session.id):
        run = asyncio.get_running_loop().create_task(_shrink(workspace, session.id))
        workspace.runs[session.id] = run
        run.add_done_callback(partial(_ended, workspace, session.id))


async def settled(workspace: Workspace, session_id: str) -> Session:
    """The session once no automatic run of it is under way."""
    while (run := workspace.runs.get(session_id)) is not None:
        await asyncio.wait([run])
    return workspace.session(session_id)


def _ended(workspace: Workspace, session_id: str, run: "asyncio.Task[None]") -> None:
    """Forgets a run; one that broke down is told of, since nobody awaits it."""
    workspace.runs.pop(session_id, None)
    error = None if run.cancelled() else run.exception()
    if error is not None:
        _log.error("session %s: the automatic run broke down", session_id, exc_info=error)
        reason = str(error) if isinstance(error, UllageError) else "an internal error; the server's log has it"
        workspace.emit(session_id, compaction_failed(reason))


async def _shrink(workspace: Workspace, session_id: str) -> None:
    while True:
        session = workspace.session(session_id)
        budget = workspace.budget(session)
        if budget is None:
            return
        action = _due(session, budget)
        if action is Action.NONE or clear_cheaply(workspace, session, budget):
            return
        if action is Action.CLEAR:
            session.cleared_at = session.used
            return
        if session.breaker.is_open:
            fit_limit(workspace, session, budget.target)
            return
        await _compact(workspace, session, budget)


def _due(session: Session, budget: ContextBudget) -> Action:
    """What the context needs. With the breaker open only what overflows is dealt with, without a summary."""
    action = decide(session.used, budget)
    if action is Action.COMPACT and session.breaker.is_open and not budget.overflow(session.used):
        return Action.CLEAR
    return action


def clear_cheaply(workspace: Workspace, session: Session, budget: ContextBudget) -> bool:
    """Applies duplicate reads and cleared tool uses in one batch, if they are worth it."""
    settings = workspace.settings.context
    before = session.used
    if before < budget.compact_at and before < session.cleared_at + settings.clear_at_least * _RETRY_SHARE:
        return False
    edits = _cheap_edits(workspace, session.counted_view())
    saved = sum(edit.tokens_saved for edit in edits)
    if not worth_clearing(saved, before, budget, settings.clear_at_least):
        return False
    session = _record_together(workspace, session, edits)
    what = " and ".join(_CLEARED_WORDS[edit_kind(edit)] for edit in edits)
    workspace.emit(session.id, context_cleared(what, before, session.used, edits[-1].id))
    return True


def _cheap_edits(workspace: Workspace, view: CountedView) -> list[Edit]:
    settings = workspace.settings.context
    options = ClearOptions(keep=settings.keep_tool_uses, exclude_tools=frozenset(settings.exclude_tools))
    edits: list[Edit] = []
    duplicates = dedupe_reads(view, new_stamp(workspace))
    if duplicates is not None:
        edits.append(duplicates)
        view = view.after(duplicates)
    cleared = clear_tool_uses(view, options, new_stamp(workspace))
    if cleared is not None:
        edits.append(cleared)
    return edits


async def _compact(workspace: Workspace, session: Session, budget: ContextBudget) -> None:
    before = session.used
    workspace.emit(session.id, auto_compacting(before))
    try:
        await compact(workspace, session, automatic_limits(budget), EditTrigger.AUTOMATIC)
    except NothingToCompact as error:
        _log.info("session %s: %s", session.id, error)
    except UllageError as error:
        workspace.emit(session.id, compaction_failed(str(error)))
    session = workspace.session(session.id)
    helped = session.used < min(before, budget.compact_at)
    if not helped:
        session = fit_limit(workspace, session, budget.target)
    session.breaker = (after_success if helped else after_failure)(session.breaker)
    if session.breaker.is_open:
        workspace.emit(session.id, _biggest(session))


def fit_limit(workspace: Workspace, session: Session, limit: int) -> Session:
    """Brings a context that no summary could shrink to at most `limit` tokens, or as near as can be."""
    view = session.counted_view()
    transcript = session.transcript
    edits: list[Edit] = []
    dropped = drop_oldest(view, limit, transcript.pinned, transcript.first_user_id, new_stamp(workspace))
    if dropped is not None:
        edits.append(dropped)
        view = view.after(dropped)
    cut = shorten(view, limit, new_stamp(workspace))
    if cut is not None:
        edits.append(cut)
    return _record_together(workspace, session, edits) if edits else session


def _record_together(workspace: Workspace, session: Session, edits: Sequence[Edit]) -> Session:
    """Appends the edits of one action, to be undone together."""
    *parts, last = edits
    together = (*(replace(part, part_of=last.id) for part in parts), last)
    session = workspace.record(session, *(ContextEdited(edit=edit) for edit in together))
    tell_usage(workspace, session)
    return session


def _biggest(session: Session) -> Notice:
    """Why compaction does not help: the largest message by name, for the person to act on."""
    view = session.counted_view()
    index, tokens = max(
        ((item.index, tokens) for item, tokens in zip(view.items, view.tokens, strict=True)),
        key=lambda pair: pair[1],
        default=(0, 0),
    )
    return breaker_opened(f"message {index + 1}", tokens)
