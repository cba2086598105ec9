"""What to do about a context, decided from figures alone: when to act, what to aim for, what is worth its price."""

from enum import StrEnum

from msgspec import Struct

from ullage.policy.budget import ContextBudget

# Where repeated file reads alone saved this share of the context, no compaction follows (Cline's rule).
_REPEATS_SUFFICE = 0.30
# A target that leaves less than this share of usable for the conversation is none.
_LEAST_ROOM = 0.20
# A tool result may take this share of usable; Codex stops at 10,000 tokens, below 1,000 little is left to read.
_RESULT_SHARE, _RESULT_MIN, _RESULT_MAX = 0.05, 1_000, 10_000


class Action(StrEnum):
    """Nothing; old tool results, because there are many; the cheap edits; or a compaction, the cheap edits first."""

    NONE = "none"
    CLEAR_TOOL_USES = "clear_tool_uses"
    CLEAR = "clear"
    COMPACT = "compact"


class Gain(Struct, frozen=True, kw_only=True):
    """What cheap edits would do, in tokens of the whole context; `repeats` is what repeated file reads alone save."""

    before: int
    after: int
    repeats: int = 0

    @property
    def saved(self) -> int:
        """Tokens that go."""
        return self.before - self.after


def decide(used: int, budget: ContextBudget, tool_uses: int = 0, clear_at_tool_uses: int | None = None) -> Action:
    """What a context of `used` tokens needs; `tool_uses` counts those since the last clearing."""
    if used >= budget.compact_at:
        return Action.COMPACT
    if used >= budget.clear_at:
        return Action.CLEAR
    many = clear_at_tool_uses is not None and tool_uses > clear_at_tool_uses
    return Action.CLEAR_TOOL_USES if many else Action.NONE


def worth_clearing(action: Action, gain: Gain, budget: ContextBudget, at_least: int) -> bool:
    """Whether cheap edits are worth the provider's cache that they cost.

    They are if they alone reach the target. Short of it they must save `at_least`, and where a compaction is due also
    bring the context back to where clearing begins; else the compaction should rather see the originals. Repeated reads
    that make up 30 % of the context spare it a compaction in any case.
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
    """What to aim for where `fixed` tokens (tools, system prompt) stay whatever is done: the budget's target, unless
    that leaves the conversation no room; then half of what they leave. The same again for a budget that has it."""
    if budget.target - fixed >= budget.usable * _LEAST_ROOM:
        return budget.target
    half = (fixed + budget.usable) // 2
    return max(budget.target, half if fixed >= budget.compact_at else min(half, budget.compact_at - 1))


def result_tokens(budget: ContextBudget, given: int | None) -> int:
    """What an older tool result may keep: what a setting says, or a share of usable."""
    return given or int(max(_RESULT_MIN, min(_RESULT_MAX, budget.usable * _RESULT_SHARE)))
