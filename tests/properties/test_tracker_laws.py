"""Laws of the tracker, in whatever order things happen."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.model.message import Role
from ullage.model.usage import Breakdown, Usage, UsageSource
from ullage.tokens.tracker import ContextTracker

counts = st.integers(0, 10_000)
parts = st.builds(Breakdown, system_prompt=counts, memory=counts, messages=counts, tool_results=counts, summary=counts)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, cache_read_input_tokens=counts)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), parts),
        st.tuples(st.just("report"), usages),
        st.tuples(st.just("tools"), counts),
        st.tuples(st.just("edit"), parts),
    ),
    max_size=60,
)


def apply(tracker: ContextTracker, index: int, step: tuple[str, object]) -> None:
    match step:
        case ("append", Breakdown() as count):
            tracker.append(f"m{index}", Role.ASSISTANT, count)
        case ("report", Usage() as usage):
            last = tracker.state.recent[-1:]
            tracker.report(usage, last[0].message_id if last else "gone", at=index)
        case ("tools", int() as tokens):
            tracker.declare_tools(tokens)
        case ("edit", Breakdown() as count):
            tracker.edited([("marker", Role.USER, count)])
        case _:
            raise AssertionError(step)


@given(steps)
def test_breakdown_sums_to_used_and_nothing_is_negative(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        reading = tracker.reading
        assert reading.breakdown.total == reading.used >= 0
        assert min(reading.breakdown.overhead, reading.breakdown.messages, reading.breakdown.tools) >= 0
        assert reading.error_share >= 0


@given(steps)
def test_restoring_a_state_changes_nothing(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        tracker = ContextTracker.restore(tracker.state)
    straight = ContextTracker()
    for index, step in enumerate(script):
        apply(straight, index, step)
    assert tracker.state == straight.state


@given(steps)
def test_reported_means_that_nothing_came_after_the_report(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        if tracker.reading.source is UsageSource.REPORTED:
            assert tracker.reading.pending_messages == 0


@given(steps)
def test_a_reading_is_the_same_however_often_it_was_asked_for(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        assert tracker.reading == ContextTracker.restore(tracker.state).reading
