"""What to do about a context, decided from figures alone."""

from enum import StrEnum

from ullage.policy.budget import ContextBudget


class Action(StrEnum):
    """Nothing, the cheap edits, or a compaction (which tries the cheap edits first)."""

    NONE = "none"
    CLEAR = "clear"
    COMPACT = "compact"


def decide(used: int, budget: ContextBudget) -> Action:
    """What a context of `used` tokens needs."""
    if used >= budget.compact_at:
        return Action.COMPACT
    return Action.CLEAR if used >= budget.clear_at else Action.NONE


def worth_clearing(saved: int, used: int, budget: ContextBudget, at_least: int) -> bool:
    """Whether cheap edits that save `saved` tokens are worth the provider's cache they cost.

    They are if they alone reach the target. Short of it they must save `at_least`, and where a compaction is due
    also bring the context back to where clearing begins; else the compaction should rather see the originals.
    """
    after = used - saved
    if saved <= 0 or after <= budget.target:
        return saved > 0
    return saved >= at_least and (used < budget.compact_at or after < budget.clear_at)
