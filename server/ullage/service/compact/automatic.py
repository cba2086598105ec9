"""Automatic management: after every change of a conversation it warns once, and makes room in the background.

Room is made without a summary first: by cheap edits, such as clears, and by truncation. The ways and their order are
the tables of `service/plan.py`. Every way is planned to its end before anything is recorded: if the context still
exceeded usable, nothing is, and `CannotFit` or a notice says what is too large.

A run ends with a context that fits the window, or with a notice that says which part is too large for it.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model import words
from ullage.model.errors import CannotFit, CompactionVetoed, NothingToCompact, PreviewExpired, SessionBusy, UllageError
from ullage.model.events import (
    AgentAttached,
    ContextEdited,
    ContextWarned,
    DuplicateReadsEdit,
    Edit,
    EditReverted,
    EditTrigger,
    Event,
    MessageAppended,
    SessionConfigured,
    SummaryReported,
)
from ullage.model.message import Role, number_of
from ullage.model.settings import TruncationMode
from ullage.model.updates import Notice
from ullage.model.usage import Keeper, UsageSource
from ullage.policy.budget import (
    Action,
    ContextBudget,
    Gain,
    after_failure,
    after_success,
    after_turn,
    after_warning,
    decide,
    is_warning_due,
    result_tokens,
    why,
    worth_clearing,
)
from ullage.service.compact.run import compact_with_fallbacks
from ullage.service.conversation.bus import context_cleared, notice
from ullage.service.conversation.conversation import Changed, Conversation, Planned, sized
from ullage.service.conversation.environment import beside_the_log
from ullage.service.conversation.work import Ask, Job
from ullage.service.plan import (
    CHEAP,
    LAST_RESORT,
    OLD_TOOL_USES,
    TRUNCATIONS,
    Rung,
    Terms,
    aimed,
    automatic_limits,
    cheap_edits,
    climb,
    firm,
    plan_within,
    system_ids,
)
from ullage.service.summaries.write import read_ahead, tail_for, write_ahead

_log = logging.getLogger(__name__)
_CLEARING = (Action.CLEAR, Action.CLEAR_TOOL_USES)
# After a veto the hook is asked again once the context has grown by this share of usable.
_VETO_SHARE = 0.02


def manage(changed: Changed) -> None:
    """Warns, makes room or prepares a summary if that is due after a change of a conversation. Returns at once; room is
    made in the background.

    Nothing is done for a change by another process, which manages it itself, for edits by automatic management, or for
    an undo, because its user wants to see the context as it was before the edit. After a change of settings only a
    notice says that a compaction is due.
    """
    if not changed.is_ours or (changed.events and all(map(_asks_for_nothing, changed.events))):
        return
    configured = changed.events and all(isinstance(event, SessionConfigured) for event in changed.events)
    answered = any(isinstance(one, MessageAppended) and one.message.role is Role.ASSISTANT for one in changed.events)
    _look_after(changed.conversation, answered=answered, by_settings=changed.by_settings or bool(configured))


def _asks_for_nothing(event: Event) -> bool:
    match event:
        case ContextEdited(edit=edit):
            return edit.trigger is EditTrigger.AUTOMATIC
        case AgentAttached() | ContextWarned() | EditReverted() | SummaryReported():
            return True
        case _:
            return False


def _look_after(conversation: Conversation, *, answered: bool = False, by_settings: bool = False) -> None:
    """Publishes a warning, and starts a run that makes room, a preparation or reading ahead, if they are due. After a
    change of settings (`by_settings`) no run is started; a notice says that a compaction is due. `answered` says that
    the model has just answered. Returns at once; `Conversation.settled` waits for the run."""
    budget, guards, used = conversation.budget, conversation.guards, conversation.used
    if budget is None or not conversation.is_managed or not conversation.is_open:
        return
    if answered:
        guards.breaker = after_turn(guards.breaker, used, budget)
    guards.warned_unfit = guards.warned_unfit and budget.overflow(used) > 0
    if used < budget.compact_at:
        guards.vetoed_at = 0
    ours = _is_ours(conversation)
    due = _due(conversation, budget) if ours else Action.NONE
    if by_settings and due is Action.COMPACT:
        conversation.emit(notice("compaction_due", words.due_by_settings(used, budget.compact_at)))
    warn_or_wait(conversation, budget, due)
    if due is not Action.NONE and not by_settings:
        _start(conversation)
    elif due is Action.NONE and ours:
        write_ahead(conversation)
    if ours and due is not Action.COMPACT:
        read_ahead(conversation)


def _is_ours(conversation: Conversation) -> bool:
    """Returns whether Ullage's edits make the context smaller; not if an agent keeps it."""
    return conversation.transcript.agent is None and conversation.keeper is Keeper.ULLAGE


def _start(conversation: Conversation) -> None:
    """Starts a run of automatic management, at once or when the jobs that it must wait for have ended."""
    if conversation.work.may(Ask.SHRINK, partial(_look_after, conversation)):
        run = conversation.work.start(Job.SHRINKING, shrink(conversation))
        run.add_done_callback(partial(_ended, conversation))


def _ended(conversation: Conversation, run: asyncio.Task[None]) -> None:
    """Begins the next preparation after a good run. Logs and publishes the error of another: nobody awaits it."""
    if run.cancelled():
        return
    error = run.exception()
    if error is None:
        write_ahead(conversation)
    else:
        _log.error("session %s: the automatic run broke down", conversation.id, exc_info=error)
        reason = str(error) if isinstance(error, UllageError) else "an internal error; the server's log has it"
        conversation.emit(notice("compaction_failed", words.compaction_failed(reason)))


async def shrink(conversation: Conversation) -> None:
    """Makes room in the context if that is due now: by cheap edits, by a compaction, or by truncation."""
    while True:
        budget = conversation.budget
        if budget is None:
            return
        action = _due(conversation, budget)
        if action is Action.NONE:
            return
        if clear_cheaply(conversation, budget, action):
            if budget.overflow(conversation.used):
                continue
            return
        if action is not Action.COMPACT:
            conversation.guards.cleared_at = conversation.used
            return
        # If what is kept whole exceeds the window by itself, a summary of the rest would be paid for in vain.
        wanted = conversation.settings.mode is TruncationMode.SUMMARIZE
        staying = firm(conversation, budget).tokens
        if not wanted or conversation.guards.breaker.is_open or staying >= budget.usable:
            truncate(conversation, budget)
            return
        if not await _compact(conversation, budget):
            return


def _due(conversation: Conversation, budget: ContextBudget) -> Action:
    """Returns what is due for the context. A compaction that is due becomes a clearing in three cases, unless the
    context overflows: the breaker is open, a hook has vetoed and the context has hardly grown since, or compactions
    need the user's approval. Clearing is never due if the provider clears by itself."""
    guards, used = conversation.guards, conversation.used
    action = decide(used, budget, conversation.projection.tool_uses, conversation.settings.clear_at_tool_uses)
    held_back = used < guards.vetoed_at + int(budget.usable * _VETO_SHARE)
    waits = guards.breaker.is_open or held_back or conversation.workspace.settings.summary.confirm
    if action is Action.COMPACT and waits and not budget.overflow(used):
        action = Action.CLEAR
    # The provider clears old tool results by itself.
    return Action.NONE if action in _CLEARING and guards.provider_clears else action


async def _compact(conversation: Conversation, budget: ContextBudget) -> bool:
    """Compacts, and truncates if that failed or has not helped. Returns whether `shrink` must look again."""
    before, guards = conversation.used, conversation.guards
    begun = notice("auto_compacting", words.auto_compacting(before))
    try:
        await compact_with_fallbacks(conversation, partial(_plan, conversation, budget, [begun]), EditTrigger.AUTOMATIC)
    except SessionBusy:
        # When the other compaction has ended, the conversation is managed again.
        return False
    except PreviewExpired:
        # The context was edited meanwhile, so something else may be due now.
        guards.breaker = after_failure(guards.breaker)
        return True
    except CompactionVetoed as veto:
        # The hook is asked again only when the context has grown.
        conversation.emit(notice("compaction_vetoed", words.compaction_vetoed(str(veto))))
        if budget.overflow(conversation.used):
            truncate(conversation, budget)
        conversation.guards.vetoed_at = conversation.used
        return False
    except NothingToCompact as error:
        _log.info("session %s: %s", conversation.id, error)
    except UllageError as error:
        conversation.emit(notice("compaction_failed", words.compaction_failed(str(error))))
    helped = conversation.used < min(before, budget.compact_at)
    if not helped:
        truncate(conversation, budget)
    guards.breaker = (after_success if helped else after_failure)(guards.breaker)
    if guards.breaker.is_open:
        said = words.breaker_opened(why(guards.breaker), *biggest_part(conversation))
        conversation.emit(notice("breaker_opened", said))
    # What has changed nothing would change nothing again.
    return conversation.used < before and not budget.overflow(conversation.used)


async def _plan(conversation: Conversation, budget: ContextBudget, begun: list[Notice]) -> Planned:
    """Plans a compaction. At a run's first plan publishes that it has `begun`: there is something to compact."""
    staying = firm(conversation, budget)
    limits = tail_for(conversation, automatic_limits(aimed(budget, staying)))
    planned = await plan_within(conversation, limits, EditTrigger.AUTOMATIC, staying=staying)
    while begun:
        conversation.emit(begun.pop())
    return planned


def warn_if_due(conversation: Conversation) -> None:
    """Publishes and records a warning if one is due. For programs that make room themselves. If the store refuses, that
    is logged, and the warning comes with the next message."""
    budget = conversation.budget
    if budget is not None and is_warning_due(conversation.projection.alarm, conversation.used_for_warnings, budget):
        with beside_the_log():
            _warn(conversation, budget, quietly=False, on_request=True)


def warn_or_wait(conversation: Conversation, budget: ContextBudget, due: Action) -> None:
    """Publishes a warning if the alarm is due, unless a compaction begins now or waits for the user's approval.
    Publishes once, too, that a compaction waits for approval."""
    guards, used = conversation.guards, conversation.used
    waits = conversation.workspace.settings.summary.confirm and due is not Action.COMPACT and used >= budget.compact_at
    if waits and not guards.warned_due:
        conversation.emit(notice("compaction_due", words.compaction_due(used, budget.window)))
    guards.warned_due = waits
    # Of an agent without a known threshold nothing is known to come.
    is_known = conversation.keeper is not Keeper.AGENT or conversation.rules.threshold is not None
    if (
        is_known
        and not _awaits_report(conversation)
        and is_warning_due(conversation.projection.alarm, conversation.used_for_warnings, budget)
    ):
        # The user needs no warning of a compaction that begins now or that now waits for approval.
        _warn(conversation, budget, quietly=waits or due is Action.COMPACT)


def _awaits_report(conversation: Conversation) -> bool:
    """Returns whether the figure is not the one that the agent behind the proxy has reported itself. Such an agent
    reports again in every turn, and knows of growth that the proxy can't see and can't expect."""
    attached = conversation.transcript.agent
    source = conversation.projection.tracker.reading.source
    return attached is not None and attached.reports and source is not UsageSource.REPORTED


def _warn(conversation: Conversation, budget: ContextBudget, *, quietly: bool, on_request: bool = False) -> None:
    """Publishes a warning and records it, so that no other process and no later opening of the session warns of the
    same crossing. With `quietly` nothing is published or recorded; only the alarm is set. `on_request` means that room
    is made only when a program asks for it."""
    alarm = after_warning(conversation.used, budget)
    if quietly:
        conversation.projection.alarm = alarm
        return
    threshold = conversation.rules.threshold
    said = words.context_warning(
        conversation.used,
        budget.window,
        threshold.tokens if threshold else None,
        asks=conversation.workspace.settings.summary.confirm,
        on_request=on_request,
        agent=conversation.rules.holder if conversation.keeper is Keeper.AGENT else "",
    )
    conversation.record(ContextWarned(used=alarm.used, again_below=alarm.again_below or 0))
    conversation.emit(notice("context_warning", said))


# Searching for something to clear costs time in proportion to the context. After a search without result the context
# must grow by this share of `clear_at_least` before the next search.
_RETRY_SHARE = 0.25


async def ready(conversation: Conversation) -> Conversation:
    """Returns a conversation whose context can be sent to a model. Waits for a running automatic compaction first.

    It is the conversation itself, or a copy with unrecorded clears and truncations if Ullage keeps the context within
    its window and the context is over it. Only an undo leaves a context like that, because the user wants to see what
    the undo brought back. The next message makes room for good. Nothing is recorded here. If what must stay exceeds the
    window, the conversation itself is returned, which `require_fit` refuses.
    """
    await conversation.settled()
    budget = conversation.budget
    if budget is None or not _keeps_within(conversation) or not budget.overflow(conversation.used):
        return conversation
    results = result_tokens(budget, conversation.settings.max_result_tokens)
    made = _planned(conversation, (*CHEAP, *TRUNCATIONS), budget.usable, budget.usable, results)
    return conversation.imagine(*(ContextEdited(edit=edit) for _, edit in made)) if made else conversation


def require_fit(conversation: Conversation) -> None:
    """Raises `CannotFit` if the context exceeds usable."""
    budget = conversation.budget
    if budget is not None and budget.overflow(conversation.used):
        raise cannot_be_sent(conversation, budget.usable)


def require_fit_if_managed(conversation: Conversation) -> None:
    """Raises `CannotFit` if Ullage keeps the context within its window and the context exceeds usable."""
    if _keeps_within(conversation):
        require_fit(conversation)


def edits_to_fit(conversation: Conversation, limit: int) -> tuple[ContextEdited, ...] | None:
    """Returns the edits that truncate the context to at most `limit` tokens, even if that shortens the system prompt.
    They are one action; nothing is recorded. Returns None if the context cannot be brought to the limit."""
    made = _planned(conversation, (*TRUNCATIONS, LAST_RESORT), limit, limit)
    return None if made is None else tuple(sized(conversation.used, _together([edit for _, edit in made])))


def truncate(conversation: Conversation, budget: ContextBudget) -> None:
    """Truncates the context to its target by the rungs that need no summary. Publishes a notice of what was removed.
    If the context would still exceed usable, nothing is changed, and a notice says what is too large."""
    before = conversation.used
    target = aimed(budget, firm(conversation, budget)).target
    made = _planned(conversation, TRUNCATIONS, target, budget.usable)
    if made:
        edits = [edit for _, edit in made]
        conversation.record(*_together(edits))
        conversation.emit(context_cleared(_listed(made), before, conversation.used, edits))
    fits, guards = not budget.overflow(conversation.used), conversation.guards
    if not fits and not guards.warned_unfit:
        said = words.cannot_fit(*too_large(conversation, budget.usable), budget.usable)
        conversation.emit(notice("cannot_fit", said))
    guards.warned_unfit = not fits


def clear_cheaply(conversation: Conversation, budget: ContextBudget, action: Action) -> bool:
    """Makes the cheap edits that are due, as one action, if they save enough. Returns whether they were made."""
    settings, before = conversation.settings, conversation.used
    cleared_at = conversation.guards.cleared_at
    if before < budget.compact_at and before < cleared_at + settings.clear_at_least * _RETRY_SHARE:
        return False
    view = conversation.projection.counted_view()
    by_count = action is Action.CLEAR_TOOL_USES
    budget = aimed(budget, firm(conversation, budget))
    limit = 0 if by_count else budget.target
    terms = _terms(conversation, limit, budget.usable, result_tokens(budget, settings.max_result_tokens))
    made = climb((OLD_TOOL_USES,), view, terms) if by_count else cheap_edits(view, terms)
    edits = [edit for _, edit in made]
    if not worth_clearing(action, _gain(before, edits), budget, settings.clear_at_least):
        return False
    conversation.record(*_together(edits))
    conversation.emit(context_cleared(_listed(made), before, conversation.used, edits))
    return True


def _gain(before: int, edits: Sequence[Edit]) -> Gain:
    saved = sum(edit.tokens_saved for edit in edits)
    repeats = sum(edit.tokens_saved for edit in edits if isinstance(edit, DuplicateReadsEdit))
    return Gain(before=before, after=before - saved, repeats=repeats)


def _listed(made: Sequence[tuple[Rung, Edit]]) -> str:
    *others, last = (rung.what for rung, _ in made)
    return f"{', '.join(others)} and {last}" if others else last


def _keeps_within(conversation: Conversation) -> bool:
    """Returns whether Ullage's automatic management keeps the context within its window."""
    ours = conversation.transcript.agent is None and conversation.keeper is Keeper.ULLAGE
    return ours and conversation.is_managed


def _planned(
    conversation: Conversation, rungs: Sequence[Rung], limit: int, usable: int, results: int = 0
) -> list[tuple[Rung, Edit]] | None:
    """Returns the edits that bring the context to `limit` tokens, or as near to it as the rungs that are not forced
    can. Returns None if the context would exceed `usable` after all of them."""
    view = conversation.projection.counted_view()
    # The tracker's figure may exceed the count of the view. Edits must then make the count smaller, too.
    most = usable if conversation.used <= usable else min(usable, view.used - 1)
    if view.held(view.pinned(conversation.transcript.pinned)) > most:
        return None
    made = climb(rungs, view, _terms(conversation, min(limit, most), most, results))
    return made if view.used - sum(edit.tokens_saved for _, edit in made) <= most else None


def _terms(conversation: Conversation, limit: int, usable: int, results: int) -> Terms:
    return Terms(
        limit=limit,
        usable=usable,
        settings=conversation.settings,
        transcript=conversation.transcript,
        new_stamp=conversation.workspace.new_stamp,
        relied=frozenset(conversation.transcript.relied),
        result_tokens=results,
        own_strategy=conversation.workspace.own_strategy,
    )


def _together(edits: Sequence[Edit]) -> tuple[ContextEdited, ...]:
    """Returns edits as one action, so that they are undone together."""
    parts = (replace(part, part_of=edits[-1].id) for part in edits[:-1])
    return tuple(ContextEdited(edit=edit) for edit in (*parts, *edits[-1:]))


def cannot_be_sent(conversation: Conversation, usable: int) -> CannotFit:
    """Returns the error that the context cannot be brought to `usable` tokens. It says what is too large."""
    return CannotFit(words.cannot_fit(*too_large(conversation, usable), usable))


def too_large(conversation: Conversation, usable: int) -> tuple[int, Sequence[tuple[str, int]]]:
    """Returns, for a context that cannot be brought to `usable` tokens, the tokens of what must stay, and its parts,
    largest first: words that name a part, and its tokens."""
    parts = _must_stay(conversation, conversation.projection.counted_view())
    held = sum(tokens for _, tokens in parts)
    # If that would fit, it is the rest that cannot be cut down far enough.
    return held if held > usable else conversation.used, parts


def biggest_part(conversation: Conversation) -> tuple[str, int]:
    """Returns words that name the largest part of the context (`message 212`, `the system prompt`), and its tokens."""
    view = conversation.projection.counted_view()
    sizes = zip(view.items, view.tokens, strict=True)
    messages = [
        (f"message {number_of(item.index)}", tokens)
        for item, tokens in sizes
        if item.message.role is not Role.SYSTEM and item.message is not view.newest
    ]
    return max((*_must_stay(conversation, view), *messages), key=lambda part: part[1])


def _must_stay(conversation: Conversation, view: CountedView) -> Sequence[tuple[str, int]]:
    pinned = view.pinned(conversation.transcript.pinned)
    numbers = [number_of(item.index) for item in view.items if item.message.id in pinned]
    newest = next((number_of(item.index) for item in view.items if item.message is view.newest), 0)
    pins = view.size(pinned)
    parts = (
        ("what the tools and the hidden prompt take", view.fixed),
        ("the system prompt", view.size(system_ids(view.messages) - pinned)),
        (words.pinned_messages(numbers), pins),
        (f"the user's newest message ({newest})", view.held(pinned) - view.fixed - pins),
    )
    return sorted((part for part in parts if part[1]), key=lambda part: -part[1])
