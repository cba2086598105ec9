"""Decides from figures alone what to do about a context: when to act, what size to aim for, which edits are worth their
price, and when to stop.

`service/compact/automatic.py` asks `decide` after each change. It makes room by the rungs of `service/plan.py`; what
needs a summary is done in `service/compact/run.py`.

The circuit breaker stops automatic compaction when it does not help. It opens after three failures in a row, or after
three refills in a row. A refill means that the context reaches the threshold again within three answers after a
compaction. The limit is three because other products settled on it; a fourth try has not been seen to help. The breaker
closes when the user compacts by hand, when the session is opened again, or after three answers in a row that leave the
context below the warning threshold.
"""

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
    """What to do about a context: nothing (`none`); clear old tool results because there are many (`clear_tool_uses`);
    make the cheap edits (`clear`); or compact it if the cheap edits are not enough (`compact`)."""

    NONE = "none"
    CLEAR_TOOL_USES = "clear_tool_uses"
    CLEAR = "clear"
    COMPACT = "compact"


class Gain(Struct, frozen=True, kw_only=True):
    """What the cheap edits would save: the tokens of the whole context `before` and `after` them. `repeats` is the part
    of the saved tokens that clearing repeated file reads saves."""

    before: int
    after: int
    repeats: int = 0

    @property
    def saved(self) -> int:
        """The tokens that the cheap edits would save."""
        return self.before - self.after


def decide(used: int, budget: ContextBudget, tool_uses: int = 0, clear_at_tool_uses: int | None = None) -> Action:
    """Returns what to do about a context of `used` tokens. `tool_uses` counts the tool uses since the last clearing;
    more than `clear_at_tool_uses` of them call for clearing, unless that is None."""
    if used >= budget.compact_at:
        return Action.COMPACT
    if used >= budget.clear_at:
        return Action.CLEAR
    many = clear_at_tool_uses is not None and tool_uses > clear_at_tool_uses
    return Action.CLEAR_TOOL_USES if many else Action.NONE


def worth_clearing(action: Action, gain: Gain, budget: ContextBudget, at_least: int) -> bool:
    """Returns whether the cheap edits save enough to be worth losing the provider's cache.

    Clearing because of many tool uses must save `at_least` tokens. Otherwise the edits are made if they reach the
    target, or if clearing repeated reads saves 30 % of the context and no compaction is due after them. Other edits
    must save `at_least` tokens and, if a compaction is due, bring the context below the clearing threshold; if they do
    not, the compaction should summarize the original messages.
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
    """Returns the tokens to aim for when `fixed` tokens (tools, system prompt, pinned messages) can't be removed.

    This is the budget's target. If it leaves the conversation less than 20 % of usable, the result is `fixed` plus half
    of what is left up to the compaction threshold, or of usable if `fixed` exceeds that. If the function is applied to
    a budget with that target, the target stays.
    """
    if budget.target - fixed >= budget.usable * _LEAST_ROOM:
        return budget.target
    most = budget.compact_at if fixed < budget.compact_at else budget.usable
    return max(budget.target, (fixed + most) // 2)


def result_tokens(budget: ContextBudget, given: int | None) -> int:
    """Returns the tokens that an older result may keep: `given`, or 5 % of usable, from 1,000 to 10,000."""
    return given or int(max(_RESULT_MIN, min(_RESULT_MAX, budget.usable * _RESULT_SHARE)))


_FAILURES = 3
_REFILLS = 3
_REFILL_TURNS = 3
_CALM_TURNS = 3


class Breaker(Struct, frozen=True, kw_only=True):
    """What is remembered of past automatic compactions. `failures` counts those that failed, and `refills` those that
    helped only for fewer than three answers, both in a row. `turns` counts the model's answers since the last automatic
    compaction that helped. `calm` counts the last answers in a row that left the context below the warning threshold.
    """

    failures: int = 0
    refills: int = 0
    turns: int = _REFILL_TURNS
    calm: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the breaker has stopped automatic compaction: after three failures or three refills in a row."""
        return self.failures >= _FAILURES or self.refills >= _REFILLS


def after_turn(breaker: Breaker, used: int, budget: ContextBudget) -> Breaker:
    """Returns the breaker after one more answer of the model, with `used` tokens in the context. Three answers in a row
    below the warning threshold close an open breaker."""
    calm = breaker.calm + 1 if used < budget.warn_at else 0
    if breaker.is_open and calm >= _CALM_TURNS:
        return Breaker()
    return Breaker(failures=breaker.failures, refills=breaker.refills, turns=breaker.turns + 1, calm=calm)


def after_success(breaker: Breaker) -> Breaker:
    """Returns the breaker after an automatic compaction that helped, with no failures. The compaction adds a refill if
    fewer than three answers came since the one before; otherwise refills are 0 again."""
    refills = breaker.refills + 1 if breaker.turns < _REFILL_TURNS else 0
    return Breaker(refills=refills, turns=0)


def after_failure(breaker: Breaker) -> Breaker:
    """Returns the breaker after an automatic compaction that failed or made the context no smaller."""
    return Breaker(failures=breaker.failures + 1, refills=breaker.refills, turns=breaker.turns)


def why(breaker: Breaker) -> str:
    """Returns why an open breaker opened, after "it": `failed 3 times in a row`."""
    if breaker.refills >= _REFILLS:
        return f"filled up again {_REFILLS} times within {_REFILL_TURNS} answers"
    return f"failed {_FAILURES} times in a row"
