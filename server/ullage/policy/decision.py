"""Decides from figures alone what to do about a context: when to act, what size to aim for, and which edits are worth
their price."""

from enum import StrEnum

from msgspec import Struct

from ullage.policy.budget import ContextBudget

# If clearing repeated file reads alone saved this share of the context, no compaction follows (Cline's rule).
_REPEATS_SUFFICE = 0.30
# A target must leave at least this share of usable for the conversation.
_LEAST_ROOM = 0.20
# A tool result may take this share of usable, within these bounds in tokens. Codex stops at 10,000 tokens; below 1,000
# little is left to read.
_RESULT_SHARE, _RESULT_MIN, _RESULT_MAX = 0.05, 1_000, 10_000


class Action(StrEnum):
    """What a context needs: nothing; clearing old tool results because there are many; the cheap edits; or a compaction
    after the cheap edits."""

    NONE = "none"
    CLEAR_TOOL_USES = "clear_tool_uses"
    CLEAR = "clear"
    COMPACT = "compact"


class Gain(Struct, frozen=True, kw_only=True):
    """What the cheap edits would save. Sizes are tokens of the whole context; `repeats` is the part that clearing
    repeated file reads saves."""

    before: int
    after: int
    repeats: int = 0

    @property
    def saved(self) -> int:
        """Tokens that the edits would save."""
        return self.before - self.after


def decide(used: int, budget: ContextBudget, tool_uses: int = 0, clear_at_tool_uses: int | None = None) -> Action:
    """Returns what a context of `used` tokens needs. `tool_uses` counts the tool uses since the last clearing."""
    if used >= budget.compact_at:
        return Action.COMPACT
    if used >= budget.clear_at:
        return Action.CLEAR
    many = clear_at_tool_uses is not None and tool_uses > clear_at_tool_uses
    return Action.CLEAR_TOOL_USES if many else Action.NONE


def worth_clearing(action: Action, gain: Gain, budget: ContextBudget, at_least: int) -> bool:
    """Returns whether the cheap edits are worth losing the provider's cache.

    They are worth it if they reach the target by themselves. Otherwise they must save `at_least` tokens and, if a
    compaction is due, also bring the context back below the clearing threshold; if they don't, the compaction should
    see the original messages instead. If clearing repeated reads saves 30 % of the context, the edits are always worth
    it.
    """
    if gain.saved <= 0:
        return False
    if action is Action.CLEAR_TOOL_USES:
        return gain.saved >= at_least
    if gain.after <= budget.target:
        return True
    if gain.repeats >= gain.before * _REPEATS_SUFFICE and gain.after < budget.compact_at:
        return True
    return gain.saved >= at_least and (gain.before < budget.compact_at or gain.after < budget.clear_at)


def target_for(budget: ContextBudget, fixed: int) -> int:
    """Returns the size to aim for when `fixed` tokens (tools and system prompt) can't be removed.

    This is the budget's target. If that target leaves the conversation too little room, it is `fixed` plus half of the
    rest of usable. It stays below the compaction threshold as long as `fixed` tokens are below that threshold. Applying
    the function to a budget that already has this target changes nothing.
    """
    if budget.target - fixed >= budget.usable * _LEAST_ROOM:
        return budget.target
    half = (fixed + budget.usable) // 2
    return max(budget.target, half if fixed >= budget.compact_at else min(half, budget.compact_at - 1))


def result_tokens(budget: ContextBudget, given: int | None) -> int:
    """Returns how many tokens an older tool result may keep: the setting `given`, or a share of usable."""
    return given or int(max(_RESULT_MIN, min(_RESULT_MAX, budget.usable * _RESULT_SHARE)))
