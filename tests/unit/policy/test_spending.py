"""What the requests of a log cost, and for what that was paid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.build import assistant
from ullage.model.events import CompactionEdit, ContextEdited, Event, ModelChanged, SummaryReported, UsageReported
from ullage.model.usage import CacheMissCause, Pass, Usage
from ullage.policy.spending import PaidRequest, Spent, paid_requests, spent_on

AT, MINUTE = 1_763_805_600_000, 60_000
COMPACTION = ContextEdited(
    edit=CompactionEdit(
        id="e1", timestamp=AT, tokens_saved=0, start=0, end=1, marker=assistant("m1", "Summary."), by_agent=True
    )
)
# Dollars for a token by model: an input token costs one, reading it from the cache a tenth, writing it one and a
# quarter, for an hour two, and a token of the answer five.
MODELS = {"small": 1.0, "large": 10.0}


def cost(model: str, usage: Usage) -> float | None:
    if model not in MODELS:
        return None
    hour = usage.cache_creation_1h_input_tokens
    tokens = usage.input_tokens + usage.cache_read_input_tokens / 10 + hour * 2
    return MODELS[model] * (tokens + (usage.cache_creation_input_tokens - hour) * 1.25 + usage.output_tokens * 5)


def report(
    answer: str, *, new: int = 0, read: int = 0, wrote: int = 0, hour: int = 0, output: int = 0
) -> UsageReported:
    usage = Usage(
        input_tokens=new,
        cache_read_input_tokens=read,
        cache_creation_input_tokens=wrote + hour,
        cache_creation_1h_input_tokens=hour,
        output_tokens=output,
    )
    return UsageReported(usage=usage, message_id=answer)


def paid(*events: tuple[Event, int], model: str = "small") -> list[PaidRequest]:
    return list(paid_requests(events, model, cost))


def test_requests_that_find_the_last_prompt_are_all_work() -> None:
    first, second = paid((report("a1", wrote=100, output=2), AT), (report("a2", read=100, wrote=10), AT + MINUTE))
    assert (first.at, first.answer, first.model, first.tokens) == (AT, "a1", "small", 102)
    assert (first.amount, first.again, first.cause) == (135.0, 0.0, None)
    assert (second.amount, second.again) == (22.5, 0.0)


def test_after_a_long_pause_what_a_warm_cache_would_have_saved_is_told_apart() -> None:
    _, cold = paid((report("a1", wrote=100), AT), (report("a2", wrote=120), AT + 6 * MINUTE))
    assert cold.cause is CacheMissCause.IDLE
    # A hundred tokens were written again in place of being read.
    assert cold.amount == 150.0
    assert cold.again == pytest.approx(100 * (1.25 - 0.1))
    assert spent_on(cold, is_side=False) == Spent(work=150 - cold.again, cold=cold.again, requests=1, tokens=120)


def test_an_answer_that_was_cut_off_is_paid_for_and_leaves_what_is_known_of_the_cache() -> None:
    cut = UsageReported(usage=Usage(), message_id="a2", passes=(Pass(usage=Usage(input_tokens=70, output_tokens=2)),))
    _, second, third = paid((report("a1", wrote=100), AT), (cut, AT + 1), (report("a3", read=100), AT + MINUTE))
    assert (second.tokens, second.amount, second.again) == (72, 80.0, 0.0)
    assert (third.amount, third.cause) == (10.0, None)


def test_the_hour_s_price_is_paid_again_for_what_was_kept_for_an_hour() -> None:
    _, cold = paid((report("a1", hour=100), AT), (report("a2", hour=100), AT + 61 * MINUTE))
    assert cold.again == pytest.approx(100 * (2 - 0.1))


def test_after_a_compaction_it_is_the_compaction_that_is_paid_and_so_is_a_summary() -> None:
    summary = SummaryReported(usage=Usage(input_tokens=50, output_tokens=10), model="large")
    requests = paid(
        (report("a1", wrote=100), AT), (summary, AT + 1), (COMPACTION, AT + 2), (report("a2", wrote=40), AT + MINUTE)
    )
    spent = sum((spent_on(one, is_side=False) for one in requests), Spent())
    assert [one.cause for one in requests if one.cause] == [CacheMissCause.COMPACTION] * 2
    assert spent.compactions == pytest.approx(1_000 + 40 * (1.25 - 0.1))
    assert spent.cold == 0
    assert spent.total == pytest.approx(125 + 1_000 + 50)


def test_all_of_what_a_sub_agent_does_is_the_sub_agent_s() -> None:
    requests = paid((report("a1", wrote=100), AT), (report("a2", wrote=120), AT + 6 * MINUTE))
    spent = sum((spent_on(one, is_side=True) for one in requests), Spent())
    assert (spent.sub_agents, spent.work, spent.cold) == (275.0, 0.0, 0.0)


def test_a_later_report_of_an_answer_replaces_the_first_and_keeps_why_it_was_cold() -> None:
    events = [(report("a1", wrote=100), AT), (report("a2", wrote=100), AT + 6 * MINUTE)]
    later = report("a2", wrote=100, output=3)
    (_, cold) = paid(*events, (later, AT + 6 * MINUTE))
    assert cold.amount == 140.0
    assert cold.cause is CacheMissCause.IDLE
    assert cold.again == pytest.approx(115.0)


def test_what_another_conversation_has_paid_is_not_paid_again() -> None:
    copied = UsageReported(usage=Usage(input_tokens=9), message_id="a0", is_copied=True)
    assert [one.answer for one in paid((copied, AT), (report("a1", new=1), AT))] == ["a1"]


def test_each_pass_has_its_model_s_price_and_so_has_each_model_of_the_conversation() -> None:
    passes = (Pass(usage=Usage(input_tokens=1)), Pass(usage=Usage(input_tokens=1), model="large"))
    advised = UsageReported(usage=Usage(input_tokens=1), message_id="a1", passes=passes)
    one, other = paid((advised, AT), (ModelChanged(model="large"), AT), (report("a2", new=1), AT))
    assert (one.amount, one.tokens, other.amount, other.model) == (11.0, 2, 10.0, "large")


def test_without_a_list_price_the_amount_is_not_known_and_that_is_counted() -> None:
    (one,) = paid((report("a1", new=5), AT), model="homemade")
    assert one.amount is None
    assert spent_on(one, is_side=False) == Spent(requests=1, tokens=5, unpriced=1)


usages = st.builds(
    report,
    st.sampled_from(["a1", "a2", "a3", "a4"]),
    new=st.integers(0, 50),
    read=st.integers(0, 500),
    wrote=st.integers(0, 500),
    hour=st.integers(0, 500),
    output=st.integers(0, 50),
)


@given(st.lists(st.tuples(usages | st.just(COMPACTION), st.integers(0, 10**8)), max_size=12))
def test_what_is_told_apart_adds_up_to_what_was_paid(events: list[tuple[Event, int]]) -> None:
    requests = paid(*((event, AT + after) for event, after in events))
    spent = sum((spent_on(one, is_side=False) for one in requests), Spent())
    assert spent.total == pytest.approx(sum(one.amount or 0 for one in requests))
    assert all(0 <= one.again <= (one.amount or 0) + 1e-6 for one in requests)
    assert spent.requests == len(requests)
