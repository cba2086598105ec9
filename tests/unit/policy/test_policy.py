"""Budgets, warnings and the calls that are left; how near a compaction is; and limits of the user's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.settings import ContextSettings, Limit
from ullage.model.updates import Level
from ullage.model.usage import Breakdown, CallsLeft, Nearness, RemarkKind
from ullage.policy.budget import (
    Action,
    Alarm,
    Breaker,
    Gain,
    after_failure,
    after_success,
    after_turn,
    after_update,
    after_warning,
    calls_left,
    decide,
    is_warning_due,
    level,
    make_budget,
    mean_growth,
    nearness,
    passed,
    result_tokens,
    target_for,
    used_for_warnings,
    why,
    worth_clearing,
)

BUDGET = make_budget(200_000, 64_000, ContextSettings())


def test_a_200k_window_warns_at_144k_and_compacts_at_162k() -> None:
    assert (BUDGET.usable, BUDGET.warn_at, BUDGET.compact_at) == (180_000, 144_000, 162_000)
    assert (BUDGET.clear_at, BUDGET.target, BUDGET.keep_tail) == (117_000, 90_000, 20_000)


def test_a_small_window_reserves_a_quarter_at_most() -> None:
    assert make_budget(8_000, 64_000, ContextSettings()).usable == 6_000


def test_output_beyond_the_input_window_costs_no_reserve() -> None:
    assert make_budget(272_000, 128_000, ContextSettings(), total=400_000).usable == 272_000


def test_a_reserve_of_ones_own_is_taken_but_never_more_than_half() -> None:
    assert make_budget(100_000, None, ContextSettings(reserve=10_000)).usable == 90_000
    assert make_budget(100_000, None, ContextSettings(reserve=90_000)).usable == 50_000


def test_available_and_overflow_say_how_far_it_is() -> None:
    assert (BUDGET.available(170_000), BUDGET.overflow(170_000)) == (10_000, 0)
    assert (BUDGET.available(190_000), BUDGET.overflow(190_000)) == (0, 10_000)


def test_a_window_is_shared_out_among_prompt_tools_conversation_and_answer() -> None:
    parts = Breakdown(system_prompt=3_000, tools=12_000, messages=100_000, tool_results=40_000, overhead=5_000)
    shares = BUDGET.shares(parts)
    assert (shares.system_prompt, shares.tools, shares.conversation, shares.reserve) == (8_000, 12_000, 160_000, 20_000)
    assert (shares.available, shares.overflow) == (20_000, 0)
    crowded = BUDGET.shares(Breakdown(tools=190_000))
    assert (crowded.conversation, crowded.available, crowded.overflow) == (0, 0, 10_000)


@pytest.mark.parametrize(
    ("used", "reported", "expected"),
    [(90_000, None, 90_000), (90_000, 90_000, 90_000), (92_000, 90_000, 92_000), (150_000, 90_000, 94_500)],
)
def test_an_estimate_warns_up_to_a_few_percent_above_the_last_report(
    used: int, reported: int | None, expected: int
) -> None:
    assert used_for_warnings(used, reported) == expected


def test_one_warning_on_the_way_up_and_another_only_after_a_real_drop() -> None:
    warned: list[int] = []
    alarm = Alarm()
    for used in (100_000, 144_000, 150_000, 143_999, 144_001, 140_000, 144_000):
        alarm = after_update(alarm, used)
        if is_warning_due(alarm, used, BUDGET):
            alarm = after_warning(used, BUDGET)
            warned.append(used)
    assert warned == [144_000, 144_000]


def test_an_alarm_is_reset_below_its_figure_and_not_at_it() -> None:
    alarm = after_warning(150_000, BUDGET)
    assert alarm.again_below is not None
    assert after_update(alarm, alarm.again_below) == alarm
    assert after_update(alarm, alarm.again_below - 1) == Alarm()


def test_the_level_depends_on_the_thresholds_that_a_figure_has_reached() -> None:
    levels = [level(used, BUDGET) for used in (0, 144_000, 162_000)]
    assert levels == [Level.NORMAL, Level.WARNING, Level.CRITICAL]
    assert level(0, None) is Level.OFF


def test_decisions_follow_the_thresholds() -> None:
    actions = [decide(used, BUDGET) for used in (116_999, 117_000, 161_999, 162_000)]
    assert actions == [Action.NONE, Action.CLEAR, Action.CLEAR, Action.COMPACT]


def worth(saved: int, used: int, at_least: int = 20_000, repeats: int = 0, action: Action = Action.CLEAR) -> bool:
    return worth_clearing(action, Gain(before=used, after=used - saved, repeats=repeats), BUDGET, at_least)


def test_clearing_must_save_enough_or_reach_the_target() -> None:
    assert not worth(0, 120_000)
    assert not worth(19_999, 120_000)
    assert worth(20_000, 120_000)
    assert worth(28_000, 118_000, at_least=50_000)


def test_over_the_compaction_threshold_clearing_must_go_back_below_its_own() -> None:
    assert not worth(40_000, 163_000)
    assert worth(50_000, 163_000)


def test_repeated_reads_of_30_percent_spare_a_compaction_if_they_go_below_its_threshold() -> None:
    assert worth(49_000, 163_000, at_least=60_000, repeats=48_900)
    assert not worth(49_000, 163_000, at_least=60_000, repeats=48_899)
    assert not worth(60_000, 230_000, repeats=69_000)


def test_many_tool_uses_are_cleared_wherever_that_saves_enough_and_no_less() -> None:
    actions = [decide(50_000, BUDGET, uses, 30) for uses in (30, 31)]
    assert actions == [Action.NONE, Action.CLEAR_TOOL_USES]
    assert decide(50_000, BUDGET, 1_000) is Action.NONE
    assert decide(117_000, BUDGET, 1_000, 30) is Action.CLEAR
    assert not worth(19_999, 50_000, action=Action.CLEAR_TOOL_USES)
    assert worth(20_000, 50_000, action=Action.CLEAR_TOOL_USES)


def test_the_target_leaves_room_in_addition_to_what_is_always_kept() -> None:
    assert target_for(BUDGET, 54_000) == BUDGET.target
    assert target_for(BUDGET, 60_000) == 111_000
    assert target_for(BUDGET, 150_000) == 156_000
    assert target_for(BUDGET, 170_000) == 175_000


def test_a_result_may_keep_a_share_of_the_window_unless_a_setting_says_otherwise() -> None:
    assert [result_tokens(budget, None) for budget in (make_budget(8_000, None, ContextSettings()), BUDGET)] == [
        1_000,
        9_000,
    ]
    assert result_tokens(BUDGET, 500) == 500


def test_the_breaker_opens_after_three_failures_in_a_row() -> None:
    breaker = after_failure(after_failure(Breaker()))
    assert not breaker.is_open
    assert not after_failure(after_success(breaker)).is_open
    assert after_failure(breaker).is_open


def test_the_breaker_opens_after_three_refills_within_three_turns_each() -> None:
    breaker = after_success(Breaker())
    for _ in range(3):
        assert not breaker.is_open
        breaker = after_success(after_turn(breaker, 150_000, BUDGET))
    assert breaker.is_open
    assert "3 times within 3 answers" in why(breaker)


def test_an_open_breaker_closes_after_three_answers_in_a_row_below_the_warning() -> None:
    breaker = after_failure(after_failure(after_failure(Breaker())))
    for used in (100_000, 100_000, 150_000, 100_000, 100_000):
        breaker = after_turn(breaker, used, BUDGET)
        assert breaker.is_open
    assert not after_turn(breaker, 100_000, BUDGET).is_open


def test_compactions_far_apart_are_no_refills() -> None:
    breaker = Breaker()
    for _ in range(10):
        breaker = after_success(breaker)
        for _ in range(3):
            breaker = after_turn(breaker, 100_000, BUDGET)
    assert not breaker.is_open


# How many calls are left: a range from recent growth, on made-up series whose answer is known


growths = st.lists(st.integers(1, 50_000), min_size=5, max_size=20).map(tuple)


def test_fewer_than_five_calls_say_nothing() -> None:
    assert calls_left(10_000, (500, 500, 500, 500)) is None


def test_at_the_threshold_no_call_is_left() -> None:
    assert calls_left(0, (500,) * 5) == CallsLeft(low=0, mean=0, high=0)


def test_the_range_holds_the_number_that_even_growth_leads_to() -> None:
    left = calls_left(50_000, (1_000,) * 12)
    assert left is not None
    assert left.low < 50 < left.high


def test_a_few_small_calls_promise_no_long_way() -> None:
    assert mean_growth((100,) * 5) > 500


def test_large_calls_bring_the_compaction_nearer() -> None:
    small, large = calls_left(100_000, (500,) * 12), calls_left(100_000, (8_000,) * 12)
    assert small is not None
    assert large is not None
    assert large.high < small.mean


def test_a_large_call_among_small_ones_widens_the_range() -> None:
    even, uneven = calls_left(20_000, (1_000,) * 10), calls_left(20_000, (*(100,) * 9, 9_100))
    assert even is not None
    assert uneven is not None
    assert uneven.mean == even.mean
    assert uneven.low < even.low
    assert uneven.high > even.high


@given(st.integers(0, 1_000_000), growths)
def test_the_mean_lies_in_the_range_and_a_longer_way_takes_no_fewer_calls(left: int, grown: tuple[int, ...]) -> None:
    near, far = (calls_left(distance, grown) for distance in (left, left + 5_000))
    assert near is not None
    assert far is not None
    assert 0 <= near.low <= near.mean <= near.high
    assert far.mean >= near.mean
    assert far.high >= near.high
    assert (near.high == 0) == (left == 0)


FAR, NEAR, IMMINENT = Nearness.FAR, Nearness.NEAR, Nearness.IMMINENT


@pytest.mark.parametrize(
    ("used", "calls", "expected"),
    [
        (92_000, 20, FAR),
        (126_000, 9, FAR),
        (126_000, 8, NEAR),
        (126_000, 2, IMMINENT),
        (120_000, 2, NEAR),
        (22_000, 2, FAR),
        (167_000, 20, IMMINENT),
        (140_000, None, FAR),
        (152_000, None, NEAR),
        (163_000, None, IMMINENT),
    ],
)
def test_a_compaction_is_near_by_the_share_and_by_the_calls_that_are_left(
    used: int, calls: int | None, expected: Nearness
) -> None:
    assert nearness(used, 167_000, calls) is expected


TOKENS = "It has passed your own limit of {:,} tokens."


def said(
    *limits: Limit, agent: str = "Claude Code", cwd: str = "/home/ada/app", used: int = 0, cost: float | None = 0
) -> list[str]:
    remarks = passed(limits, agent, cwd, used, cost)
    assert all(remark.kind is RemarkKind.LIMIT for remark in remarks)
    return [remark.text for remark in remarks]


def test_a_limit_is_passed_once_its_tokens_are_reached() -> None:
    limit = Limit(tokens=300_000)
    assert said(limit, used=299_999) == []
    assert said(limit, used=300_000) == [TOKENS.format(300_000)]
    assert said(used=10**9) == []


def test_a_limit_of_money_counts_what_the_conversation_has_cost() -> None:
    limit = Limit(cost=5)
    assert said(limit, cost=4.99) == []
    assert said(limit, cost=5) == ["It has cost more than your own limit of $5.00."]
    # Without a price nothing is said of it.
    assert said(limit, cost=None) == []
    assert len(said(Limit(cost=5, tokens=10), used=10, cost=6)) == 2


@pytest.mark.parametrize(
    ("agent", "cwd", "expected"),
    [
        ("Claude Code", "/home/ada/app", 300_000),
        ("Codex", "/home/ada/app", 200_000),
        ("Codex", "/home/ada/big", 600_000),
        ("Codex", "/home/ada/big/web", 600_000),
        ("Claude Code", "/home/ada/bigger", 300_000),
        ("", "", 300_000),
    ],
)
def test_the_innermost_folder_counts_and_then_the_agent(agent: str, cwd: str, expected: int) -> None:
    limits = (
        Limit(folder="/home/ada/big/", tokens=600_000),
        Limit(agent="codex", tokens=200_000),
        Limit(tokens=300_000),
    )
    assert said(*limits, agent=agent, cwd=cwd, used=10**6) == [TOKENS.format(expected)]


def test_an_agent_is_named_by_its_name_or_its_word() -> None:
    for name in ("Claude Code", "claude-code", "CLAUDE-CODE"):
        assert said(Limit(agent=name, tokens=1), used=1) == [TOKENS.format(1)]
    assert said(Limit(agent="claude", tokens=1), used=1) == []


def test_a_folder_of_windows_is_written_with_either_slash() -> None:
    for folder in ("C:\\work\\app", "C:/work/app/"):
        assert said(Limit(folder=folder, tokens=1), cwd="C:\\work\\app\\web", used=1) == [TOKENS.format(1)]


def test_a_limit_without_a_kind_leaves_the_wider_one_in_force() -> None:
    assert said(Limit(tokens=9), Limit(folder="/home/ada/app", cost=5), used=9, cost=1) == [TOKENS.format(9)]
