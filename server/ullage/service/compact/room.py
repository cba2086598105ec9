"""Makes room without a summary: cheap edits, such as clears, and truncation.

The ways and their order are the tables of `service/plan.py`. Every way is planned to its end before anything is
recorded: if the context still exceeded usable, nothing is, and `CannotFit` or a notice says what is too large.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model import words
from ullage.model.edits import DuplicateReadsEdit, Edit
from ullage.model.errors import CannotFit
from ullage.model.events import ContextEdited
from ullage.model.figure import Keeper
from ullage.model.message import Role, number_of
from ullage.policy.budget import ContextBudget
from ullage.policy.decision import Action, Gain, result_tokens, worth_clearing
from ullage.service.conversation.conversation import Conversation, sized
from ullage.service.conversation.publish import context_cleared, notice
from ullage.service.plan import (
    CHEAP,
    LAST_RESORT,
    OLD_TOOL_USES,
    TRUNCATIONS,
    Rung,
    Terms,
    aimed,
    cheap_edits,
    climb,
    firm,
    system_ids,
)
from ullage.transcript.cut_points import pinned_ids

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
    if view.held(conversation.transcript.pinned) > most:
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
    pinned = pinned_ids(view.messages, conversation.transcript.pinned)
    numbers = [number_of(item.index) for item in view.items if item.message.id in pinned]
    newest = next((number_of(item.index) for item in view.items if item.message is view.newest), 0)
    pins = view.size(pinned)
    parts = (
        ("what the tools and the hidden prompt take", view.fixed),
        ("the system prompt", view.size(system_ids(view.messages) - pinned)),
        (words.pinned_messages(numbers), pins),
        (f"the user's newest message ({newest})", view.held(conversation.transcript.pinned) - view.fixed - pins),
    )
    return sorted((part for part in parts if part[1]), key=lambda part: -part[1])
