"""Decides from figures alone: the context budget (how much of a window can be used, where the thresholds lie, which
limits of the user's own are passed), when to warn and when to act, what size to aim for, which edits are worth their
price, and when to stop.

The user is warned once when the context crosses the warning threshold, and again only after an edit, or after the
figure fell below the threshold. The threshold is `ContextBudget.warn_at`: the setting `warnAt` as a share of the
usable window. Where an agent compacts the conversation it is what `warns_at` returns, at least one call ahead of the
compaction, and at the earliest the same share of the agent's threshold (`service/conversation/environment.py`).

The calls that are left until the compaction are judged by recent growth, which is heavy-tailed and comes in stretches:
many small calls, then a few large ones. Their range is that of a log-normal distribution whose mean and spread come
from the recent calls, mixed with what calls of coding agents usually add. Fitted on 34 of 69 recorded compactions of
Claude Code (the last 40 calls before each), 90 % of the true numbers lay in the range; on the other 35, 92 %.

After each change `service/compact/automatic.py` asks `is_warning_due`, which warns, and `decide`. It makes room by the
rungs of `service/plan.py`; what needs a summary is done in `service/compact/run.py`.

The circuit breaker stops automatic compaction after three failures in a row, or three refills in a row: the context
reaches the threshold again within three answers after a compaction. The limit is three because other products settled
on it; a fourth try has not been seen to help. The breaker closes when the user compacts by hand, when the session is
opened again, or after three answers in a row that leave the context below the warning threshold."""

from collections.abc import Sequence
from enum import StrEnum
from math import ceil, exp, floor, log1p, sqrt

from msgspec import Struct

from ullage.model.settings import ContextSettings, Limit, settled
from ullage.model.updates import Level
from ullage.model.usage import Breakdown, BudgetShares, CallsLeft, Nearness, Remark, RemarkKind
from ullage.model.words import dollars

# Room for an answer. The answers of coding agents rarely exceed it. Reserving all of a 64k output limit would make
# thresholds fire near half of a 128k window, a known complaint about other products.
_RESERVE_CAP = 20_000
# Used where the catalog knows no output limit; the smallest limit among current chat models is 4,096.
_DEFAULT_MAX_OUTPUT = 8_192
_TAIL_SHARE, _TAIL_MIN, _TAIL_MAX = 0.25, 2_000, 20_000


class ContextBudget(Struct, frozen=True, kw_only=True):
    """The figures of one window, all in tokens. `window` is the most that the model takes as input and `reserve` the
    part of it kept free for the answer; the rest is usable.

    `warn_at`, `clear_at` and `compact_at` are thresholds, reached when the context has at least so many tokens.
    `target` is the most that a compaction leaves, and `keep_tail` the size of the tail that it keeps verbatim.
    """

    window: int
    reserve: int
    warn_at: int
    compact_at: int
    clear_at: int
    target: int
    keep_tail: int

    @property
    def usable(self) -> int:
        """The tokens that a prompt may take: the window less the reserve."""
        return self.window - self.reserve

    def overflow(self, used: int) -> int:
        """Returns how many of `used` tokens exceed usable; 0 if they fit."""
        return max(0, used - self.usable)

    def available(self, used: int) -> int:
        """Returns how many tokens of usable are free after `used` tokens; 0 if `used` exceeds usable."""
        return max(0, self.usable - used)

    def shares(self, breakdown: Breakdown) -> BudgetShares:
        """Returns how the window is shared out for a context with this breakdown. If the system prompt and the tools
        leave no room for the conversation, its share is 0, and the other shares add up to more than the window."""
        system_prompt = breakdown.system_prompt + breakdown.overhead
        return BudgetShares(
            system_prompt=system_prompt,
            tools=breakdown.tools,
            conversation=max(0, self.usable - system_prompt - breakdown.tools),
            reserve=self.reserve,
            available=self.available(breakdown.total),
            overflow=self.overflow(breakdown.total),
        )


def make_budget(
    window: int, max_output: int | None, settings: ContextSettings, total: int | None = None
) -> ContextBudget:
    """Returns the budget for an input window of `window` tokens.

    The reserve is the setting `reserve`, at most half the window. Without that setting it is `max_output` (8,192 if
    that is None), but no more than 20,000 tokens and no more than a quarter of the window. If input and output share a
    window of `total` tokens, this reserve is first taken from the part of `total` that the input window leaves free.

    Each threshold and the target are their settings' shares of the usable tokens; `settled` keeps them in order.
    Without the setting `keep_tail` the tail is a quarter of the usable tokens, from 2,000 to 20,000.
    """
    settings = settled(settings)
    if settings.reserve is not None:
        reserve = min(settings.reserve, window // 2)
    else:
        reserve = min(max_output or _DEFAULT_MAX_OUTPUT, _RESERVE_CAP, window // 4)
        reserve = max(0, reserve - ((total or window) - window))
    usable = window - reserve
    tail = int(max(_TAIL_MIN, min(_TAIL_MAX, usable * _TAIL_SHARE)))
    return ContextBudget(
        window=window,
        reserve=reserve,
        warn_at=int(usable * settings.warn_at),
        compact_at=int(usable * settings.compact_at),
        clear_at=int(usable * settings.clear_at),
        target=int(usable * settings.target),
        keep_tail=settings.keep_tail or tail,
    )


def passed(limits: Sequence[Limit], agent: str, cwd: str, used: int, cost: float | None) -> tuple[Remark, ...]:
    """Returns a remark for each limit that a conversation has passed: of the tokens in its context, `used`, and of
    what it has cost in US dollars, None if that is not known. `agent` is the name of the agent that has it, and `cwd`
    its folder. Of several limits that fit, the one for the innermost folder counts, then one for the agent, then
    the last."""
    fitting = sorted(
        (limit for limit in limits if _fits(limit, agent, cwd)), key=lambda one: (len(one.folder), one.agent != "")
    )
    tokens = next((limit.tokens for limit in reversed(fitting) if limit.tokens is not None), None)
    most = next((limit.cost for limit in reversed(fitting) if limit.cost is not None), None)
    remarks: list[Remark] = []
    if tokens is not None and used >= tokens:
        remarks.append(Remark(kind=RemarkKind.LIMIT, text=f"It has passed your own limit of {tokens:,} tokens."))
    if most is not None and cost is not None and cost >= most:
        remarks.append(Remark(kind=RemarkKind.LIMIT, text=f"It has cost more than your own limit of {dollars(most)}."))
    return tuple(remarks)


def _fits(limit: Limit, agent: str, cwd: str) -> bool:
    folder, place = _path(limit.folder), _path(cwd)
    is_there = not folder or place == folder or place.startswith(f"{folder}/")
    return is_there and (not limit.agent or _word(limit.agent) == _word(agent))


def _path(text: str) -> str:
    return text.replace("\\", "/").rstrip("/")


def _word(name: str) -> str:
    return name.lower().replace(" ", "-")


# An estimate counts up to this share above the last report; the next report comes with the next call. Of 4,853 recorded
# prompts 99 % were predicted within 1.8 %, and with any share from 2 % to 10 % the same recorded compactions are warned
# of in time.
_ABOVE_REPORT = 0.05
# A figure that wavers around the threshold must not warn again and again; it has to fall by this share of usable.
_HYSTERESIS = 0.02


class Alarm(Struct, frozen=True, kw_only=True):
    """Whether the user has been warned of the present crossing of the warning threshold. `used` is the number of tokens
    at that warning. Below `again_below` tokens the alarm is reset; None means that the user has not been warned."""

    used: int = 0
    again_below: int | None = None


def used_for_warnings(used: int, reported: int | None) -> int:
    """Returns the tokens that every warning goes by: `used`, but at most 5 % more than the `reported` tokens of the
    last usage report. That is None if no report covers the context."""
    return used if reported is None else min(used, int(reported * (1 + _ABOVE_REPORT)))


def is_warning_due(alarm: Alarm, used: int, budget: ContextBudget) -> bool:
    """Returns whether to warn now: `used` reaches the threshold, and the alarm has not warned of it yet."""
    return alarm.again_below is None and used >= budget.warn_at


def after_warning(used: int, budget: ContextBudget) -> Alarm:
    """Returns the alarm after a warning at `used` tokens. It is reset 2 % of usable below the threshold."""
    return Alarm(used=used, again_below=budget.warn_at - int(budget.usable * _HYSTERESIS))


def after_update(alarm: Alarm, used: int) -> Alarm:
    """Returns the alarm after a new figure: one that has not warned if `used` is below `again_below`."""
    return Alarm() if alarm.again_below is not None and used < alarm.again_below else alarm


def level(used: int, budget: ContextBudget | None) -> Level:
    """Returns the level of `used` tokens: `critical` from the compaction threshold, `warning` from the warning
    threshold, else `normal`. Returns `off` if there is no budget."""
    if budget is None:
        return Level.OFF
    if used >= budget.compact_at:
        return Level.CRITICAL
    return Level.WARNING if used >= budget.warn_at else Level.NORMAL


# Calls of the mean growth, and the share of the threshold: the larger of both is the distance of the warning. Of 23
# recorded compactions of Claude Code 22 were warned of at least one call ahead. The other one came after a result of
# 35,000 tokens, and the count alone doesn't warn (`used_for_warnings`).
_CALLS, _SHARE = 5, 0.05


def warns_at(threshold: int, growths: Sequence[int], earliest: int) -> int:
    """Returns the tokens from which on to warn that the agent compacts at `threshold`. `growths` are the tokens that
    recent calls added, oldest first. The result is at least `earliest` and at most `threshold`."""
    distance = max(_CALLS * mean_growth(growths), _SHARE * threshold)
    return min(threshold, max(earliest, threshold - int(distance)))


# The fewest calls left from which a compaction is imminent, or near. A user who is warned two calls ahead has one call
# to act in.
_IMMINENT_CALLS, _NEAR_CALLS = 2, 8
# The calls count from these shares of the threshold on. Before, only a step of a rare size would be enough.
_IMMINENT_FROM, _NEAR_FROM = 0.75, 0.6
# The shares that count if the calls left are not known.
_IMMINENT_SHARE, _NEAR_SHARE = 0.97, 0.9


def nearness(used: int, limit: int, calls: int | None) -> Nearness:
    """Returns how near `limit` is: the threshold of the compaction in tokens, or without a compaction the end of the
    window. `calls` are the fewest calls of the model that are likely to be left, None if that is not known."""
    share = used / limit

    def reaches(most: int, start: float, otherwise: float) -> bool:
        if share >= 1:
            return True
        return share >= otherwise if calls is None else calls <= most and share >= start

    if reaches(_IMMINENT_CALLS, _IMMINENT_FROM, _IMMINENT_SHARE):
        return Nearness.IMMINENT
    return Nearness.NEAR if reaches(_NEAR_CALLS, _NEAR_FROM, _NEAR_SHARE) else Nearness.FAR


# Calls. Fewer say nothing about growth that is heavy-tailed.
_LEAST = 5
# The calls that count. Older ones describe other work.
_RECENT = 12
# What is assumed besides: so many calls, the tokens that each adds, and their mean square as a multiple of the squared
# mean. They keep a few small calls from promising a long way.
_USUAL_CALLS, _USUAL_GROWTH, _USUAL_SQUARE = 10, 1_100, 8
# By which share the pace differs from that of the recent calls.
_DRIFT = 0.35
# Standard deviations of the range's ends.
_SPREAD = 1.6


def mean_growth(growths: Sequence[int]) -> float:
    """Returns the tokens that a call is expected to add. `growths` are the tokens that recent calls added, oldest
    first; without any, what a call of a coding agent usually adds is returned."""
    recent = growths[-_RECENT:]
    return (sum(recent) + _USUAL_CALLS * _USUAL_GROWTH) / (len(recent) + _USUAL_CALLS)


def calls_left(left: int, growths: Sequence[int]) -> CallsLeft | None:
    """Returns an estimate of the calls until the context has grown by `left` tokens, if it grows as in `growths`: the
    tokens that each recent call added, oldest first. Returns None if fewer than 5 calls are known.

    A `low` of 0 means that the context may be compacted before the next call, by what the user or a tool adds.
    """
    if len(growths) < _LEAST:
        return None
    if left <= 0:
        return CallsLeft(low=0, mean=0, high=0)
    recent = growths[-_RECENT:]
    mean = mean_growth(growths)
    squares = sum(grown * grown for grown in recent) + _USUAL_CALLS * _USUAL_SQUARE * _USUAL_GROWTH**2
    calls = left / mean
    variance = squares / (len(recent) + _USUAL_CALLS) / (mean * mean) / max(calls, 1.0) + _DRIFT**2
    sigma = sqrt(log1p(variance))
    middle = calls * exp(-sigma * sigma / 2)
    low, high = floor(middle * exp(-_SPREAD * sigma)), ceil(middle * exp(_SPREAD * sigma))
    rounded = ceil(calls)
    return CallsLeft(low=min(low, rounded), mean=rounded, high=max(high, rounded))


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
