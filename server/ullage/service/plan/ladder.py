"""The ladder: every way of making room, cheapest first. Read the three tables from top to bottom.

`CHEAP` needs no model and is tried from `clearAt` on. A rung is used only if the rungs before it did not reach the
target. All its edits are one batch, because each edit invalidates the provider's prompt cache. `SUMMARIES` are the
tries of a compaction, from `compactAt` on. `TRUNCATIONS` are used if no summary could be written or the summary did not
help; from the middle on only as far as the context must become smaller to fit the window. What is pinned and what the
user typed in the newest message is in every context word for word: no rung has an edit for it.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.clear import ClearOptions, clear_thinking, clear_tool_uses
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.drop import Keep, TruncationStrategy, chain_for, drop_inside, make_chain, plan_truncation
from ullage.edits.duplicate_reads import dedupe_reads
from ullage.edits.shorten import ResultLimits, cap_blocks, shorten, shorten_results
from ullage.model.edits import DuplicateReadsEdit, Edit
from ullage.model.message import Message, Role
from ullage.model.settings import ContextSettings
from ullage.transcript.cut_points import kept, leading, pinned_ids
from ullage.transcript.fold import Transcript

# A block that takes more than this share of the limit is shortened before older messages are dropped.
_HUGE_SHARE = 0.5
# The first user message is the task. It stays whole if all that stays leaves at least this share of usable.
_LEFT_BY_FIRST = 0.3


class Terms(Struct, frozen=True, kw_only=True):
    """What the rungs of the ladder need to know: they make room down to `limit` tokens, by a session's settings. Rungs
    that are `forced` make room down to `usable` tokens only.

    `relied`: ids of messages that show what notices refer to. `result_tokens`: the most tokens that an old tool result
    may keep. `own_strategy`: an embedding program's strategy, which replaces those that the settings name.
    """

    limit: int
    usable: int
    settings: ContextSettings
    transcript: Transcript
    new_stamp: Callable[[], Stamp]
    relied: frozenset[str]
    result_tokens: int = 0
    own_strategy: TruncationStrategy | None = None

    def stay(self, messages: Sequence[Message]) -> frozenset[str]:
        """Returns the ids of the messages that stay wherever they are for their own sake: system messages, the first
        user message, and pinned messages."""
        transcript = self.transcript
        return frozenset({*leading(messages, transcript.first_user_id), *kept(messages, transcript.pinned)})

    def spared(self, messages: Sequence[Message]) -> frozenset[str]:
        """Returns the ids of the messages that cheap edits leave alone: system messages, pinned messages, and
        messages that a notice refers to."""
        return frozenset({*kept(messages, self.transcript.pinned), *self.relied})


MakeEdits = Callable[[CountedView, Terms], Sequence[Edit]]


class Rung(Struct, frozen=True):
    """One way of making room. `what` names, for the user, the content that it removes. `make_edits` returns the edits
    for a view, empty if there is nothing to remove. `forced` says that it is used only on a context that exceeds
    usable."""

    what: str
    make_edits: MakeEdits
    forced: bool = False


class Firm(Struct, frozen=True, kw_only=True):
    """What automatic management leaves whole: the messages with these ids, and what the user typed in the newest one.
    `tokens` are theirs, with the tools and the hidden prompt."""

    ids: frozenset[str]
    tokens: int


class Attempt(Struct, frozen=True, kw_only=True):
    """One try at a summary. `what` names it for the user. `skip` is the number of the oldest message groups that the
    summarizer is not shown. `offline` says that offline code writes it. `focus` are the user's words about what the
    summary must keep."""

    what: str
    skip: int = 0
    offline: bool = False
    focus: str = ""


def climb(rungs: Sequence[Rung], view: CountedView, terms: Terms) -> list[tuple[Rung, Edit]]:
    """Returns the edits of as many rungs, in order, as are needed to bring the view to at most `terms.limit` tokens,
    each edit with its rung. Each rung plans on the view that the rungs before it leave."""
    made: list[tuple[Rung, Edit]] = []
    for rung in rungs:
        if view.used <= (terms.usable if rung.forced else terms.limit):
            continue
        for edit in rung.make_edits(view, terms):
            made.append((rung, edit))
            view = view.after(edit)
            if isinstance(edit, DuplicateReadsEdit):
                terms = replace(terms, relied=terms.relied | set(edit.shown_in))
    return made


def _repeats(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(dedupe_reads(view, terms.new_stamp(), terms.stay(view.messages)))


def _thinking(view: CountedView, terms: Terms) -> Sequence[Edit]:
    keep = terms.settings.keep_thinking_turns
    return _any(clear_thinking(view, keep, terms.new_stamp(), terms.spared(view.messages)) if keep else None)


def _tool_uses(view: CountedView, terms: Terms) -> Sequence[Edit]:
    options = ClearOptions(
        keep=terms.settings.keep_tool_uses,
        exclude_tools=frozenset(terms.settings.exclude_tools),
        clear_tool_inputs=terms.settings.clear_tool_inputs,
    )
    return _any(clear_tool_uses(view, options, terms.new_stamp(), terms.spared(view.messages)))


def _long_results(view: CountedView, terms: Terms) -> Sequence[Edit]:
    limits = ResultLimits(
        max_result_tokens=terms.result_tokens,
        by_tool=terms.settings.max_result_tokens_by_tool,
        exclude_tools=frozenset(terms.settings.exclude_tools),
    )
    return _any(shorten_results(view, limits, terms.new_stamp(), terms.spared(view.messages)))


def _huge_blocks(view: CountedView, terms: Terms) -> Sequence[Edit]:
    """Returns an edit that shortens blocks of more than half of what the limit leaves, so that for one huge message not
    all others are dropped. The last messages, which are still to be answered, are not shortened unless one of them
    takes more than half of usable."""
    firm = firm_in(view, terms.transcript, terms.usable)
    last = {view.messages[i].id for i in view.groups[-1]} if view.groups else set[str]()
    sizes = zip(view.messages, view.tokens, strict=True)
    large = {message.id for message, tokens in sizes if message.id not in last or tokens > terms.usable * _HUGE_SHARE}
    cap = int(max(0, terms.limit - firm.tokens) * _HUGE_SHARE)
    return _any(cap_blocks(view, cap, terms.new_stamp(), large - firm.ids))


def _older(view: CountedView, terms: Terms) -> Sequence[Edit]:
    transcript, settings = terms.transcript, terms.settings
    keep = Keep(pinned=frozenset(transcript.pinned), first_user_id=transcript.first_user_id, relied=terms.relied)
    strategy = terms.own_strategy or make_chain(chain_for(settings.mode, settings.strategies))
    return plan_truncation(view, strategy, terms.limit, keep, terms.new_stamp())


def _inside_the_answer(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(drop_inside(view, terms.usable, terms.stay(view.messages), terms.new_stamp()))


def _large_blocks(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(shorten(view, terms.usable, terms.new_stamp(), kept(view.messages, terms.transcript.pinned)))


def _system_blocks(view: CountedView, terms: Terms) -> Sequence[Edit]:
    return _any(shorten(view, terms.usable, terms.new_stamp(), pinned_ids(view.messages, terms.transcript.pinned)))


def firm_in(view: CountedView, transcript: Transcript, usable: int) -> Firm:
    """Returns what is kept whole in a view: system messages, pinned messages, what the user typed in the newest
    message, and the first user message if all of it leaves 30 % of `usable`."""
    pinned = pinned_ids(view.messages, transcript.pinned)
    ids = pinned | system_ids(view.messages)
    tokens = view.held(transcript.pinned) + view.size(ids - pinned)
    if view.newest is not None and view.newest.id == transcript.first_user_id:
        return Firm(ids=ids, tokens=tokens)
    first = {transcript.first_user_id or ""} - ids
    with_first = tokens + view.size(first)
    if with_first > usable * (1 - _LEFT_BY_FIRST):
        return Firm(ids=ids, tokens=tokens)
    return Firm(ids=ids | first, tokens=with_first)


def system_ids(messages: Sequence[Message]) -> frozenset[str]:
    """Returns the ids of the system messages among these."""
    return frozenset(message.id for message in messages if message.role is Role.SYSTEM)


def _any(edit: Edit | None) -> Sequence[Edit]:
    return () if edit is None else (edit,)


REPEATS = Rung("repeated file reads", _repeats)
OLD_TOOL_USES = Rung("old tool results", _tool_uses)

CHEAP: tuple[Rung, ...] = (
    REPEATS,
    Rung("older thinking", _thinking),
    OLD_TOOL_USES,
    Rung("parts of long tool results", _long_results),
)

SUMMARIES: tuple[Attempt, ...] = (
    Attempt(what="a summary"),
    Attempt(what="a summary without the oldest messages", skip=1),
    Attempt(what="an offline summary", offline=True),
)

TRUNCATIONS: tuple[Rung, ...] = (
    Rung("the middles of huge messages", _huge_blocks),
    Rung("older messages", _older),
    Rung("earlier parts of the last answer", _inside_the_answer, forced=True),
    Rung("the middles of the largest messages", _large_blocks, forced=True),
)

# Automatic management never uses this rung: an agent with a shortened system prompt lacks some of its instructions.
# It is used if a request must fit: for a budget that the user gave, and for a prompt that is too long to be sent.
LAST_RESORT = Rung("the middle of the system prompt", _system_blocks, forced=True)


def cheap_edits(view: CountedView, terms: Terms) -> list[tuple[Rung, Edit]]:
    """Returns the edits of all rungs that need no model, as one action. Repeated file reads are left alone if only that
    reaches the limit: the messages that notices of repeated reads refer to cannot be cleared, and that alone must not
    cause a compaction."""
    made = climb(CHEAP, view, terms)
    if _reaches(made, view, terms):
        return made
    plain = climb(tuple(rung for rung in CHEAP if rung is not REPEATS), view, terms)
    return plain if _reaches(plain, view, terms) else made


def _reaches(made: Sequence[tuple[Rung, Edit]], view: CountedView, terms: Terms) -> bool:
    return view.used - sum(edit.tokens_saved for _, edit in made) <= terms.limit
