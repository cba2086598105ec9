"""Each strategy on written-out histories, and the ranges by which coding agents truncate."""

from collections.abc import Sequence

import msgspec
import pytest

from support.build import assistant, results, system, thinking, user, uses, words
from support.steps import python_steps
from ullage.edits.counted import Stamp, count_view
from ullage.edits.drop import (
    NOTICE,
    Keep,
    RangeTruncationStrategy,
    SelectiveStrategy,
    SlidingWindowStrategy,
    SmartTruncationStrategy,
    StrategyChain,
    TokenBudgetStrategy,
    TruncationStrategy,
    drop,
    next_truncation_range,
    plan_drop,
)
from ullage.model.message import Message, Role
from ullage.model.settings import ContextSettings, RangeKeep, SlidingWindow, Speaker, TruncateRange
from ullage.tokens.counter import get_counter

COUNTER = get_counter("gpt-4o")
# Ten messages of about 100 tokens each: 1,000 in all.
TEN = [
    message(f"m{i}", words(100))
    for i, message in enumerate((user, assistant, user, assistant, user, assistant, user, assistant, user, assistant))
]
ALL = [message.id for message in TEN]
ALTERNATING = [Role.USER, Role.ASSISTANT] * 10


def left_by(strategy: TruncationStrategy, messages: Sequence[Message], tokens: int, *pinned: str) -> list[str]:
    """Returns the ids of the messages that are left, with `…` for the gap."""
    left = strategy.truncate(messages, tokens, COUNTER, pinned=pinned)
    return ["…" if message.text == NOTICE else message.id for message in left]


@pytest.mark.parametrize(
    ("strategy", "tokens", "expected"),
    [
        (TokenBudgetStrategy(), 2_000, ALL),
        (TokenBudgetStrategy(), 500, ["m0", "…", "m7", "m8", "m9"]),
        (TokenBudgetStrategy(), 0, ["m0", "…", "m8", "m9"]),
        (SlidingWindowStrategy(max_messages=4), 2_000, ["m0", "…", "m6", "m7", "m8", "m9"]),
        (SlidingWindowStrategy(max_messages=4), 400, ["m0", "…", "m8", "m9"]),
        (SlidingWindowStrategy(max_messages=0), 2_000, ["m0", "…", "m8", "m9"]),
        (SlidingWindowStrategy(max_messages=10), 2_000, ALL),
        (SmartTruncationStrategy(keep_first=3, keep_last=2), 700, ["m0", "m1", "m2", "…", "m7", "m8", "m9"]),
        (SmartTruncationStrategy(keep_first=3, keep_last=2), 600, ["m0", "m1", "m2", "…", "m8", "m9"]),
        (SmartTruncationStrategy(keep_first=3, keep_last=2), 400, ["m0", "…", "m8", "m9"]),
        (SelectiveStrategy(order=(Speaker.ASSISTANT,)), 750, ["m0", "…", "m2", "m4", "m6", "m7", "m8", "m9"]),
        (SelectiveStrategy(order=(Speaker.USER,)), 650, ["m0", "…", "m3", "m5", "m7", "m8", "m9"]),
        (RangeTruncationStrategy(keep=RangeKeep.HALF), 900, ["m0", "m1", "…", "m6", "m7", "m8", "m9"]),
        (RangeTruncationStrategy(keep=RangeKeep.QUARTER), 900, ["m0", "m1", "…", "m8", "m9"]),
        (RangeTruncationStrategy(keep=RangeKeep.LAST_TWO), 900, ["m0", "m1", "…", "m8", "m9"]),
        (RangeTruncationStrategy(keep=RangeKeep.NONE), 900, ["m0", "m1", "…", "m8", "m9"]),
        (RangeTruncationStrategy(keep=RangeKeep.HALF), 550, ["m0", "m1", "…", "m8", "m9"]),
        (RangeTruncationStrategy(keep=RangeKeep.HALF), 2_000, ALL),
    ],
)
def test_a_strategy_leaves_what_its_name_says(strategy: TruncationStrategy, tokens: int, expected: list[str]) -> None:
    assert left_by(strategy, TEN, tokens) == expected


def test_a_chain_goes_on_only_until_the_target_is_met() -> None:
    assistants_then_window = StrategyChain(
        (SelectiveStrategy(order=(Speaker.ASSISTANT,)), SlidingWindowStrategy(max_messages=2))
    )
    assert left_by(assistants_then_window, TEN, 750) == ["m0", "…", "m2", "m4", "m6", "m7", "m8", "m9"]
    assert left_by(assistants_then_window, TEN, 500) == ["m0", "…", "m8", "m9"]


def test_tool_results_go_before_words_and_with_their_calls() -> None:
    history = [
        user("ask", words(100)),
        assistant("plan", words(100)),
        user("go", words(100)),
        thinking("think", words(50)),
        uses("call", "t1"),
        results("result", "t1", text=words(100)),
        assistant("done", words(100)),
        user("next", words(100)),
    ]
    assert left_by(SelectiveStrategy(), history, 600) == ["ask", "plan", "go", "…", "done", "next"]


def test_pins_and_the_system_prompt_stay_inside_the_gap() -> None:
    history = [system("s"), *TEN]
    assert left_by(TokenBudgetStrategy(), history, 500, "m4") == ["s", "m0", "…", "m4", "m8", "m9"]


def test_a_call_next_to_a_pinned_answer_is_dropped_although_only_an_old_notice_separated_them() -> None:
    messages = [
        user("m0", "Begin."),
        assistant("m2", "Keep this."),
        user("m3", words(300)),
        uses("m4", "t1"),
        results("m5", "t1", text=words(300)),
        user("m6", "And now?"),
    ]
    view, keep = count_view(messages, COUNTER), Keep(pinned=frozenset({"m2"}), first_user_id="m0")
    earlier = drop(view, ["m3"], Stamp(id="e1", timestamp=0))
    assert earlier is not None
    after = view.after(earlier)
    again = plan_drop(after, TokenBudgetStrategy(), 100, keep, Stamp(id="e2", timestamp=0))
    assert again is not None
    assert after.after(again).used <= 100


def test_the_first_exchange_of_an_agent_is_its_first_call_with_its_result() -> None:
    history = [user("ask"), uses("call", "t"), results("result", "t", text=words(100)), *TEN[3:]]
    assert left_by(RangeTruncationStrategy(keep=RangeKeep.LAST_TWO), history, 500)[:4] == [
        "ask",
        "call",
        "result",
        "…",
    ]


@pytest.mark.parametrize(
    ("keep", "messages", "start", "expected"),
    [
        (RangeKeep.NONE, 12, 2, range(2, 12)),
        (RangeKeep.LAST_TWO, 12, 2, range(2, 10)),
        (RangeKeep.HALF, 12, 2, range(2, 6)),
        (RangeKeep.QUARTER, 12, 2, range(2, 8)),
        # The last message, a user's, has no answer yet: it stays.
        (RangeKeep.NONE, 13, 2, range(2, 12)),
        (RangeKeep.LAST_TWO, 13, 2, range(2, 10)),
        (RangeKeep.HALF, 13, 2, range(2, 6)),
        (RangeKeep.QUARTER, 13, 2, range(2, 10)),
        # After the messages that an earlier truncation dropped.
        (RangeKeep.NONE, 12, 6, range(6, 12)),
        (RangeKeep.LAST_TWO, 12, 6, range(6, 10)),
        (RangeKeep.HALF, 12, 6, range(6, 8)),
        (RangeKeep.QUARTER, 12, 6, range(6, 10)),
        # Very short conversations lose no message.
        *((keep, messages, 2, range(2, 2)) for keep in RangeKeep for messages in (0, 1, 2, 3)),
    ],
)
def test_the_next_range_ends_where_roles_alternate(keep: RangeKeep, messages: int, start: int, expected: range) -> None:
    assert next_truncation_range(ALTERNATING[:messages], start, keep) == expected


def test_settings_name_a_strategy_by_its_type() -> None:
    given = {"mode": "smart", "strategies": [{"type": "truncate_range", "keep": "lastTwo"}, {"type": "sliding_window"}]}
    settings = msgspec.convert(given, ContextSettings)
    assert settings.strategies == (TruncateRange(keep=RangeKeep.LAST_TWO), SlidingWindow())


@pytest.mark.parametrize(
    "strategy",
    [
        TokenBudgetStrategy(),
        SlidingWindowStrategy(max_messages=20),
        SmartTruncationStrategy(),
        SelectiveStrategy(),
        RangeTruncationStrategy(),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_the_work_of_truncating_grows_as_the_messages_do(strategy: TruncationStrategy) -> None:
    def steps_for(count: int) -> int:
        history = [user(f"u{i}", words(90)) if i % 2 == 0 else assistant(f"a{i}", words(90)) for i in range(count)]
        with python_steps() as steps:
            assert len(strategy.truncate(history, 30 * count, COUNTER)) < count
        return steps.taken

    # The first time, the vocabulary is read.
    steps_for(10)
    # Quadratic work would be 16 times as much.
    assert steps_for(400) < 5 * steps_for(100)
