"""Makes room without a summary: cheap edits, such as clears, and truncation.

The ways and their order are the tables of `service/plan/ladder.py`.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model.edits import DuplicateReadsEdit, Edit
from ullage.model.events import (
    ContextEdited,
)
from ullage.model.figure import Keeper
from ullage.model.message import number_of
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import Action, Gain, result_tokens, target_for, worth_clearing
from ullage.service.conversation.conversation import Conversation, sized
from ullage.service.conversation.publish import (
    cannot_fit,
    context_cleared,
)
from ullage.service.plan.ladder import (
    CHEAP,
    LAST_RESORT,
    OLD_TOOL_USES,
    TRUNCATIONS,
    Rung,
    Terms,
    cheap_edits,
    climb,
    system_ids,
)

# Searching for something to clear costs time in proportion to the context. After a search without result the context
# must grow by this share of `clear_at_least` before the next search.
_RETRY_SHARE = 0.25


async def ready(conversation: Conversation) -> Conversation:
    """Returns a conversation whose context can be sent to a model. Waits for a running automatic compaction first.

    It is the conversation itself, or a copy with unrecorded clears and truncations if Ullage keeps the context within
    its window and the context is over it. Only an undo leaves a context like that, because the user wants to see what
    the undo brought back. The next message makes room for good. Nothing is recorded here.
    """
    await conversation.settled()
    budget = conversation.budget
    ours = conversation.transcript.agent is None and conversation.keeper is Keeper.ULLAGE
    if budget is None or not (ours and conversation.is_managed) or not budget.overflow(conversation.used):
        return conversation
    terms = _terms(conversation, budget.usable, result_tokens(budget, conversation.settings.max_result_tokens))
    made = climb((*CHEAP, *TRUNCATIONS), conversation.projection.counted_view(), terms)
    return conversation.imagine(*(ContextEdited(edit=edit) for _, edit in made)) if made else conversation


def edits_to_fit(conversation: Conversation, limit: int) -> tuple[ContextEdited, ...]:
    """Returns the edits that truncate the context to at most `limit` tokens, or as close to it as possible, even if
    that shortens the system prompt. They are one action; nothing is recorded."""
    made = climb((*TRUNCATIONS, LAST_RESORT), conversation.projection.counted_view(), _terms(conversation, limit))
    return tuple(sized(conversation.used, _together([edit for _, edit in made])))


def truncate(conversation: Conversation, budget: ContextBudget) -> None:
    """Truncates the context to its target by the rungs that need no summary. Publishes a notice of what was removed,
    and one if the context still overflows."""
    view, before = conversation.projection.counted_view(), conversation.used
    if fixed_tokens(view) < budget.usable:
        made = climb(TRUNCATIONS, view, _terms(conversation, aimed(budget, view).target))
        if made:
            edits = [edit for _, edit in made]
            conversation.record(*_together(edits))
            conversation.emit(context_cleared(_listed(made), before, conversation.used, edits))
    fits, guards = not budget.overflow(conversation.used), conversation.guards
    if not fits and not guards.warned_unfit:
        conversation.emit(cannot_fit(conversation.used, budget.usable, *biggest_part(conversation)))
    guards.warned_unfit = not fits


def clear_cheaply(conversation: Conversation, budget: ContextBudget, action: Action) -> bool:
    """Makes the cheap edits that are due, as one action, if they save enough. Returns whether they were made."""
    settings, before = conversation.settings, conversation.used
    cleared_at = conversation.guards.cleared_at
    if before < budget.compact_at and before < cleared_at + settings.clear_at_least * _RETRY_SHARE:
        return False
    view = conversation.projection.counted_view()
    by_count = action is Action.CLEAR_TOOL_USES
    budget = aimed(budget, view)
    limit = 0 if by_count else budget.target
    terms = _terms(conversation, limit, result_tokens(budget, settings.max_result_tokens))
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


def _terms(conversation: Conversation, limit: int, results: int = 0) -> Terms:
    return Terms(
        limit=limit,
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


def aimed(budget: ContextBudget, view: CountedView) -> ContextBudget:
    """Returns the budget with a target that leaves the conversation enough room next to the tokens that nothing can
    save."""
    return replace(budget, target=target_for(budget, fixed_tokens(view)))


def fixed_tokens(view: CountedView) -> int:
    """Returns the tokens that no rung of automatic management can save: tools, overhead, system messages."""
    system = system_ids(view.messages)
    return view.fixed + sum(
        tokens for item, tokens in zip(view.items, view.tokens, strict=True) if item.message.id in system
    )


def biggest_part(conversation: Conversation) -> tuple[str, int]:
    """Returns words that name the largest part of the context (`message 212`, `the system prompt`), and its tokens."""
    view = conversation.projection.counted_view()
    system = system_ids(view.messages)
    sizes = {
        "what the tools and the hidden prompt take": view.fixed,
        "the system prompt": fixed_tokens(view) - view.fixed,
    }
    for item, tokens in zip(view.items, view.tokens, strict=True):
        if item.message.id not in system:
            sizes[f"message {number_of(item.index)}"] = tokens
    return max(sizes.items(), key=lambda pair: pair[1])
