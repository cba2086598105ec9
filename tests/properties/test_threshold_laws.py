"""Laws of where an agent compacts, and of the warning before it, on made-up evidence."""

from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.agents.own_context import Setup
from ullage.agents.table import AGENTS, agent_of_format
from ullage.model.events import CompactionCause
from ullage.model.settings import ContextSettings
from ullage.model.usage import RemarkKind
from ullage.policy.budget import Alarm, after_update, after_warning, is_warning_due, make_budget, warns_at
from ullage.policy.evidence import RECENT_CALLS, Compacted, Evidence
from ullage.policy.threshold import ABOVE, Finding, find_threshold

CLAUDE, WINDOW, MODEL = agent_of_format("claude-code"), 200_000, "claude-opus-4-6"
tokens = st.integers(1_000, 195_000)
compactions = st.lists(
    st.builds(
        Compacted,
        tokens=tokens,
        version=st.sampled_from(["2.1.1", "2.1.39"]),
        model=st.just(MODEL),
        cause=st.just(CompactionCause.THRESHOLD),
    ),
    max_size=6,
)
growths = st.lists(st.integers(1, 50_000), max_size=RECENT_CALLS)


def found(seen: Sequence[Compacted], beyond: int = 0, window: int = WINDOW, *, ruled: bool = True) -> Finding:
    setup = Setup(version="2.1.39", model=MODEL, window=window)
    evidence = Evidence(compactions=tuple(seen), beyond=beyond, version="2.1.39")
    return find_threshold(evidence, (), CLAUDE if ruled else None, setup)


OTHER_CAUSES = st.sampled_from([cause for cause in CompactionCause if cause is not CompactionCause.THRESHOLD])


@given(compactions, tokens, st.integers(0, 6), OTHER_CAUSES, st.booleans())
def test_compactions_of_any_other_cause_teach_nothing(
    seen: list[Compacted], size: int, place: int, cause: CompactionCause, ruled: bool
) -> None:
    other = Compacted(tokens=size, version="2.1.39", model=MODEL, cause=cause)
    more = [*seen[:place], other, *seen[place:]]
    assert found(more, ruled=ruled).threshold == found(seen, ruled=ruled).threshold


@given(compactions, st.integers(0, 195_000), st.booleans())
def test_a_threshold_lies_in_the_window_and_not_above_every_compaction_that_taught_it(
    seen: list[Compacted], beyond: int, ruled: bool
) -> None:
    threshold = found(seen, beyond, ruled=ruled).threshold
    if threshold is not None:
        assert 0 < threshold.tokens < WINDOW
        if threshold.times:
            newest = [one.tokens for one in reversed(seen) if one.version == "2.1.39"]
            assert threshold.tokens <= max(newest or [WINDOW]) * 1.02
        assert beyond <= threshold.tokens * 1.01 or threshold.times


# Windows above which these agents have another rule.
OTHER_RULES = {"Crush": 200_000, "Hermes": 512_000}


@given(st.integers(40_000, 900_000), st.integers(0, 100_000))
def test_a_larger_window_never_lowers_the_threshold(window: int, more: int) -> None:
    for agent in AGENTS:
        rules = [
            agent.own_context.threshold(Setup(version="2.1.39", model=MODEL, window=size, max_output=32_000))
            for size in (window, window + more)
        ]
        sizes = [getattr(rule, "tokens", 0) for rule in rules]
        # Codex reports a share of its window.
        is_other_rule = window <= OTHER_RULES.get(agent.name, 0) <= window + more
        assert sizes[0] <= sizes[1] * 1.06 or is_other_rule


@given(tokens, st.floats(0, 0.009), st.floats(0, 0.009), st.booleans())
def test_a_change_is_noticed_at_the_first_compaction_after_it_and_at_the_second_if_it_is_large(
    threshold: int, above: float, below: float, ruled: bool
) -> None:
    old = 167_000
    # Of an agent without a rule, compactions that lie closer may each have been made late at one threshold.
    assume(threshold < old * 0.9 if ruled else threshold * 1.01 * ABOVE < old)
    run = [
        Compacted(tokens=old + extra, version="2.1.39", model=MODEL, cause=CompactionCause.THRESHOLD, beyond=old - 90)
        for extra in (50, 70, 90)
    ]
    size = int(threshold * (1 + above)) + 1
    new = Compacted(
        tokens=size,
        version="2.1.39",
        model=MODEL,
        cause=CompactionCause.THRESHOLD,
        beyond=int(threshold * (1 - below)) - 1,
    )
    finding = found([*run, *[new] * (2 if ruled and size < old * 0.8 else 1)], ruled=ruled)
    assert finding.threshold is not None
    assert abs(finding.threshold.tokens - threshold) <= threshold * 0.01 + 2
    assert [remark.kind for remark in finding.remarks] == [RemarkKind.CHANGED]


@given(growths, st.integers(1_000, 1_000_000), st.integers(0, 1_000_000))
def test_the_warning_comes_before_the_threshold_and_not_before_its_earliest_point(
    grown: list[int], threshold: int, earliest: int
) -> None:
    earliest = min(earliest, threshold)
    assert earliest <= warns_at(threshold, grown, earliest) <= threshold


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=60))
def test_an_approach_is_warned_of_once(steps: list[int]) -> None:
    budget, alarm, used, warned = make_budget(WINDOW, 20_000, ContextSettings()), Alarm(), 60_000, 0
    grown: list[int] = []
    for step in steps:
        used, grown = used + step, [*grown, step][-RECENT_CALLS:]
        if used >= 167_000:
            break
        now = replace(budget, warn_at=warns_at(167_000, grown, 148_000), compact_at=167_000)
        alarm = after_update(alarm, used)
        if is_warning_due(alarm, used, now):
            warned += 1
            alarm = after_warning(used, now)
    assert warned <= 1
    # After a compaction the next approach is warned of again.
    assert after_update(alarm, 40_000).again_below is None
