"""The tracker: the size of a context between usages."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.message import Role
from ullage.model.usage import Breakdown, HiddenKind, HiddenPart, Usage, UsageSource
from ullage.model.words import hidden_rows
from ullage.tokens.calibration import HIGHEST, LOWEST, Calibration, Step
from ullage.tokens.tracker import REMEMBERED, ContextTracker, Ending, split_hidden


def text(tokens: int) -> Breakdown:
    return Breakdown(messages=tokens)


def prompt(tokens: int, output: int = 0) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=output)


def asked_and_answered() -> ContextTracker:
    """Returns a tracker after a question of 1,000 tokens, an answer of 100, and a usage of 31,000 in and 100 out."""
    tracker = ContextTracker()
    tracker.append("u1", Role.USER, text(1_000))
    tracker.append("a1", Role.ASSISTANT, text(100))
    tracker.report(prompt(31_000, 100), "a1", at=5)
    return tracker


def test_without_a_report_the_context_is_estimated_from_local_counts() -> None:
    tracker = ContextTracker()
    tracker.declare_tools(300)
    tracker.append("s", Role.SYSTEM, Breakdown(system_prompt=50))
    tracker.append("u", Role.USER, text(150))
    reading = tracker.reading
    assert (reading.used, reading.source, reading.pending_messages) == (500, UsageSource.ESTIMATED, 2)
    assert reading.breakdown == Breakdown(system_prompt=50, tools=300, messages=150)
    assert reading.error_share > 0


def test_a_report_is_taken_as_it_is_and_what_it_has_more_is_overhead() -> None:
    reading = asked_and_answered().reading
    assert (reading.used, reading.source) == (31_100, UsageSource.REPORTED)
    assert reading.breakdown == Breakdown(messages=1_100, overhead=30_000)
    assert (reading.pending_messages, reading.reported_at, reading.error_share) == (0, 5, 0.0)


def test_messages_after_a_report_are_added_and_make_it_stale() -> None:
    tracker = asked_and_answered()
    tracker.append("u2", Role.USER, Breakdown(tool_results=400))
    reading = tracker.reading
    assert (reading.used, reading.source, reading.pending_messages) == (31_500, UsageSource.STALE, 1)
    assert 0 < reading.error_share < 0.01


def test_a_report_may_come_after_further_messages() -> None:
    tracker = ContextTracker()
    tracker.append("u1", Role.USER, text(1_000))
    tracker.append("a1", Role.ASSISTANT, text(100))
    tracker.append("u2", Role.USER, text(700))
    tracker.report(prompt(2_000, 100), "a1", at=5)
    assert (tracker.reading.used, tracker.reading.pending_messages) == (2_800, 1)


def test_other_tools_after_a_report_count_with_their_difference() -> None:
    tracker = asked_and_answered()
    tracker.declare_tools(500)
    assert (tracker.reading.used, tracker.reading.source) == (31_600, UsageSource.STALE)


def test_a_second_report_of_an_answer_replaces_the_first() -> None:
    tracker = asked_and_answered()
    tracker.report(prompt(31_000, 120), "a1", at=6)
    assert tracker.reading.used == 31_120
    assert tracker.totals == prompt(31_000, 120)


def test_an_edit_drops_the_report_and_keeps_the_learned_overhead() -> None:
    tracker = asked_and_answered()
    tracker.edited([("marker", Role.USER, Breakdown(summary=200))])
    reading = tracker.reading
    assert (reading.used, reading.source) == (30_200, UsageSource.ESTIMATED)
    assert reading.breakdown == Breakdown(summary=200, overhead=30_000)


def test_a_report_of_an_answer_before_the_edit_counts_for_the_totals_alone() -> None:
    tracker = asked_and_answered()
    tracker.append("u2", Role.USER, text(10))
    tracker.append("a2", Role.ASSISTANT, text(10))
    tracker.edited([("marker", Role.USER, Breakdown(summary=200))])
    tracker.report(prompt(31_110, 10), "a2", at=7)
    assert tracker.reading.source is UsageSource.ESTIMATED
    assert tracker.totals == prompt(62_110, 110)


def resumed_and_compacted(ending: Ending | None = None) -> ContextTracker:
    """Returns a tracker of a conversation whose log begins in the middle, after its agent's compaction."""
    tracker = ContextTracker()
    tracker.append("u1", Role.USER, text(20))
    tracker.append("a1", Role.ASSISTANT, text(100))
    tracker.report(prompt(112_020), "a1", at=5)
    tracker.edited([("marker", Role.USER, Breakdown(summary=3_000))])
    tracker.compacted(None, ending)
    return tracker


def test_the_hidden_part_is_at_most_what_the_smallest_prompt_leaves_for_it() -> None:
    tracker = resumed_and_compacted()
    tracker.append("a2", Role.ASSISTANT, text(100))
    tracker.report(prompt(50_000), "a2", at=6)
    assert tracker.overhead == 47_000
    tracker.edited([("marker", Role.USER, Breakdown(summary=2_000))])
    assert tracker.reading.used == 49_000


def test_a_large_prompt_whose_text_explains_more_of_it_than_the_first_leaves_the_hidden_part() -> None:
    tracker = asked_and_answered()
    tracker.append("u2", Role.USER, text(100_000))
    tracker.append("a2", Role.ASSISTANT, text(100))
    # The text has 0.95 tokens for each counted one.
    tracker.report(prompt(31_100 + 95_000), "a2", at=6)
    assert 30_000 <= tracker.overhead < 30_100


def test_after_the_compaction_of_a_resumed_conversation_the_figure_is_what_others_ended_at_and_less_sure() -> None:
    seen = Ending(hidden=40_000, added=8_000, deviation=5_100)
    reading = resumed_and_compacted(seen).reading
    assert (reading.used, reading.error_share) == (51_000, 0.3)


def test_after_a_compaction_a_hidden_part_like_that_of_others_is_the_conversations_own() -> None:
    tracker = asked_and_answered()
    tracker.edited([("marker", Role.USER, Breakdown(summary=2_000))])
    tracker.compacted(None, Ending(hidden=26_000, added=8_000, deviation=4_000))
    assert (tracker.reading.used, tracker.reading.error_share) == (40_000, 0.25)
    tracker.compacted(3_000, Ending(hidden=26_000, added=8_000, deviation=0))
    assert tracker.reading.used == 43_000
    tracker.append("a2", Role.ASSISTANT, text(100))
    tracker.report(prompt(38_000), "a2", at=6)
    assert tracker.reading.used == 38_000


def test_a_report_still_holds_if_the_user_goes_back_to_a_message_after_it() -> None:
    tracker = asked_and_answered()
    view = [("u1", Role.USER, text(1_000)), ("a1", Role.ASSISTANT, text(100)), ("u2", Role.USER, text(10))]
    tracker.append(*view[2])
    tracker.append("a2", Role.ASSISTANT, text(7_000))
    tracker.edited(view, by_going_back=True)
    assert (tracker.reading.used, tracker.reading.source) == (31_110, UsageSource.STALE)
    tracker.append("a3", Role.ASSISTANT, text(50))
    tracker.report(prompt(31_112, 50), "a3", at=8)
    assert (tracker.reading.used, tracker.reading.source) == (31_162, UsageSource.REPORTED)


def test_the_report_of_an_earlier_turn_holds_once_more_if_the_user_goes_back_to_its_end() -> None:
    tracker, view = asked_and_answered(), [("u1", Role.USER, text(1_000)), ("a1", Role.ASSISTANT, text(100))]
    for turn in range(2, 6):
        tracker.append(f"u{turn}", Role.USER, text(7_000))
        tracker.append(f"a{turn}", Role.ASSISTANT, text(100))
        tracker.report(prompt(31_100 + 7_100 * turn, 100), f"a{turn}", at=turn)
        view += [(f"u{turn}", Role.USER, text(7_000)), (f"a{turn}", Role.ASSISTANT, text(100))]
    tracker.edited(view[:6], by_going_back=True)
    assert (tracker.reading.used, tracker.reading.source) == (52_500, UsageSource.REPORTED)
    tracker.edited(view[:2], by_going_back=True)
    assert (tracker.reading.used, tracker.reading.source) == (31_100, UsageSource.REPORTED)
    # What was left is there once more.
    tracker.edited(view, by_going_back=True)
    assert (tracker.reading.used, tracker.reading.source) == (66_700, UsageSource.REPORTED)


def test_nothing_is_learned_across_an_edit() -> None:
    tracker = asked_and_answered()
    tracker.edited([("u1", Role.USER, text(1_000))])
    tracker.append("u2", Role.USER, text(5_000))
    tracker.append("a2", Role.ASSISTANT, text(50))
    tracker.report(prompt(60_000, 50), "a2", at=8)
    assert tracker.calibration.ratio == Calibration().ratio


def test_growth_between_reports_teaches_the_ratio() -> None:
    tracker = asked_and_answered()
    used = 31_100
    for turn in range(2, 40):
        tracker.append(f"u{turn}", Role.USER, text(1_000))
        tracker.append(f"a{turn}", Role.ASSISTANT, text(100))
        used += 1_300
        tracker.report(prompt(used, 100), f"a{turn}", at=turn)
        used += 100
    assert abs(tracker.calibration.ratio - 1.3) < 0.015
    assert abs(tracker.overhead - 29_700) <= 15
    assert tracker.scale(1_000) in range(1_290, 1_301)


def test_a_placeholder_for_the_output_is_replaced_by_the_local_count_once_something_follows() -> None:
    tracker = ContextTracker()
    tracker.append("u1", Role.USER, text(1_000))
    tracker.append("a1", Role.ASSISTANT, text(600))
    tracker.report(prompt(1_000, 3), "a1", at=1)
    assert (tracker.reading.used, tracker.reading.source) == (1_003, UsageSource.REPORTED)
    tracker.append("u2", Role.USER, text(50))
    assert (tracker.reading.used, tracker.reading.source) == (1_650, UsageSource.STALE)


def test_output_that_never_returns_in_a_prompt_is_no_longer_added() -> None:
    tracker = ContextTracker()
    tracker.append("u0", Role.USER, text(1_000))
    used = 1_000
    for turn in range(5):
        tracker.append(f"a{turn}", Role.ASSISTANT, text(100))
        tracker.report(prompt(used, 900), f"a{turn}", at=turn)
        tracker.append(f"u{turn + 1}", Role.USER, text(300))
        used += 400
    assert tracker.reading.used == used


def test_a_few_tokens_of_framing_do_not_decide_whether_reasoning_returns() -> None:
    tracker = ContextTracker()
    tracker.append("u0", Role.USER, text(1_000))
    tracker.append("a0", Role.ASSISTANT, text(140))
    tracker.report(Usage(input_tokens=1_000, output_tokens=96, reasoning_tokens=64), "a0", at=1)
    # The result is 45 tokens larger than its text: the local count of the answer, 44 more, happens to fit.
    tracker.append("r0", Role.USER, Breakdown(tool_results=100))
    tracker.append("a1", Role.ASSISTANT, text(190))
    tracker.report(Usage(input_tokens=1_241, output_tokens=576, reasoning_tokens=320), "a1", at=2)
    tracker.append("r1", Role.USER, Breakdown(tool_results=40))
    assert abs(tracker.reading.used - (1_241 + 576 + 40)) < 5


def test_totals_are_kept_per_kind() -> None:
    tracker = asked_and_answered()
    tracker.append("a2", Role.ASSISTANT, text(50))
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_input_tokens=3, cache_creation_input_tokens=4)
    tracker.report(usage, "a2", at=6)
    assert tracker.totals == prompt(31_000, 100) + usage


def test_a_session_without_reports_remembers_no_more_than_a_few_messages() -> None:
    tracker = ContextTracker()
    for index in range(10 * REMEMBERED):
        tracker.append(f"m{index}", Role.USER, text(1))
    assert len(tracker.state.recent) == REMEMBERED
    assert tracker.reading.used == 10 * REMEMBERED


def test_hidden_part_of_one_session_is_no_part_of_the_next_and_only_widens_its_error() -> None:
    following = ContextTracker(asked_and_answered().calibration)
    assert (following.reading.used, following.reading.breakdown) == (0, Breakdown())
    following.append("u", Role.USER, text(100_000))
    assert (following.reading.used, following.reading.breakdown.overhead) == (100_000, 0)
    assert following.reading.source is UsageSource.ESTIMATED
    assert following.reading.error_share > 0.3
    following.append("a", Role.ASSISTANT, text(100))
    following.report(prompt(131_000, 100), "a", at=1)
    assert (following.reading.breakdown.overhead, following.reading.error_share) == (31_000, 0.0)


def test_hidden_part_widens_no_error_where_the_session_shows_its_system_prompt() -> None:
    following = ContextTracker(asked_and_answered().calibration)
    following.append("s", Role.SYSTEM, Breakdown(system_prompt=20))
    assert following.reading.used == 20
    assert following.reading.error_share <= 0.1


def test_another_model_has_its_own_ratio_and_the_same_hidden_part() -> None:
    tracker = asked_and_answered()
    tracker.recalibrate(Calibration(tokens=3_000, counted=2_000), Calibration())
    assert (tracker.reading.used, tracker.reading.source) == (31_650, UsageSource.ESTIMATED)
    assert tracker.totals == prompt(31_000, 100)


def test_nothing_is_learned_from_the_first_report_of_another_model() -> None:
    tracker = asked_and_answered()
    tracker.change_model()
    assert (tracker.reading.used, tracker.reading.source) == (31_100, UsageSource.REPORTED)
    taught = tracker.calibration.ratio
    tracker.append("u2", Role.USER, text(4_000))
    tracker.append("a2", Role.ASSISTANT, text(100))
    tracker.report(prompt(25_000, 100), "a2", at=6)
    assert tracker.calibration.ratio == taught
    assert tracker.reading.used == 25_100


def test_reasoning_leaves_with_the_next_prompt_unless_experience_says_otherwise() -> None:
    tracker = ContextTracker()
    tracker.append("u0", Role.USER, text(1_000))
    tracker.append("a0", Role.ASSISTANT, text(100))
    tracker.report(prompt(1_000, 900), "a0", at=0)
    assert tracker.reading.used == 1_900
    tracker.append("r0", Role.USER, Breakdown(tool_results=50))
    assert tracker.reading.used == 1_950
    tracker.append("a1", Role.ASSISTANT, text(100))
    tracker.report(prompt(1_950, 600), "a1", at=1)
    tracker.append("u1", Role.USER, text(50))
    assert tracker.reading.used == 1_000 + 100 + 50 + 100 + 50
    used = 0
    for turn in range(2, 5):
        used = tracker.state.parts.total + 800 + 500 * (turn - 1)
        tracker.append(f"a{turn}", Role.ASSISTANT, text(100))
        tracker.report(prompt(used, 600), f"a{turn}", at=turn)
        tracker.append(f"u{turn}", Role.USER, text(50))
    assert tracker.reading.used == used + 600 + 50


def extrapolated(rounds: Sequence[tuple[int, int]], added: int, output: int = 200) -> tuple[int, int]:
    """Returns the figure after a last message of `added` tokens, and the size by the last report before it. Each round
    is a prompt and an answer with a report: the prompt's counted tokens, and the tokens that came with it and that no
    message explains."""
    tracker = ContextTracker(prior := Calibration.prior(0.06), prior)
    used = 20_000
    for number, (counted, unexplained) in enumerate(rounds):
        tracker.append(f"u{number}", Role.USER, text(counted))
        tracker.append(f"a{number}", Role.ASSISTANT, text(200))
        used += counted + unexplained
        tracker.report(prompt(used, output), f"a{number}", at=number)
        used += 200
    tracker.append("new", Role.USER, text(added))
    return tracker.reading.used, used


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param([(349, 0), (349, 20_500), (349, 35_300)], id="one surplus larger than the one before"),
        pytest.param([(349, 0), (349, 35_651)], id="one surplus"),
        pytest.param([(349, 0), (349, 3_400)], id="a surplus as small as a client's note"),
        pytest.param([(349, 0), (1_600, 1_590)], id="a picture that has as many tokens as the text beside it"),
        pytest.param([(349, 0), *[(349, 36_000)] * 3], id="several turns"),
        pytest.param([(349, 0), *[(349, 36_000)] * 10], id="ten turns"),
        pytest.param([(349, 0), *[(349, 2_400)] * 10], id="ten small notes"),
        pytest.param([(349, 0), *[(349, 36_000), (349, 0)] * 5], id="every second turn"),
        pytest.param([(349, 0), *[(349, 500 * 2**step) for step in range(8)]], id="each twice the one before"),
        pytest.param([(349, 60_000), (349, -40_000)], id="a context that the client made smaller"),
    ],
)
def test_growth_that_the_messages_do_not_explain_is_not_expected_again(rounds: Sequence[tuple[int, int]]) -> None:
    for output in (200, 1):
        figure, reported = extrapolated(rounds, added=349, output=output)
        assert figure == reported + 349


ROUNDS = st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 40_000), st.booleans()), min_size=1, max_size=12)


@given(ROUNDS, st.floats(-2.0, 40.0), st.lists(st.tuples(st.integers(0, 60_000), st.booleans()), max_size=5))
def test_a_figure_grows_by_what_is_counted_within_the_bounds_of_tokenizers(
    rounds: list[tuple[int, int, bool]], factor: float, since: list[tuple[int, bool]]
) -> None:
    """Whatever prompts grew by before, as long as they hold what is visible. The messages since a report's prompt are
    its answer and what followed it."""
    tracker, used, answer, visible = ContextTracker(), 50_000, 0, 0
    for number, (answer, counted, by_user) in enumerate(rounds):
        parts = text(counted) if by_user else Breakdown(tool_results=counted)
        tracker.append(f"m{number}", Role.USER, parts)
        tracker.append(f"a{number}", Role.ASSISTANT, text(answer))
        visible += counted
        # The tracker may scale its count by as much.
        used = max(1, used + int(factor * counted), int(visible * HIGHEST))
        visible += answer
        tracker.report(prompt(used, answer), f"a{number}", at=number)
    assert tracker.reading.used == used + answer
    for number, (counted, by_user) in enumerate(since):
        tracker.append(f"s{number}", Role.USER, text(counted) if by_user else Breakdown(tool_results=counted))
        answer += counted
    if since:
        assert LOWEST * answer - 1 <= tracker.reading.used - used <= HIGHEST * answer + 1


def test_a_ratio_that_no_tokenizer_has_is_not_believed() -> None:
    """An earlier version may have stored one."""
    assert (Calibration(tokens=9_000).scale(100), Calibration(tokens=10).scale(100)) == (100 * HIGHEST, 100 * LOWEST)


def test_an_exact_count_is_not_easily_unlearned() -> None:
    exact, estimated = Calibration.prior(0.0), Calibration.prior(0.1)
    step = Step(output=100, answer=100, added=2_000)
    assert exact.learn(step, 3_100).ratio < 1.03
    assert estimated.learn(step, 3_100).ratio > 1.2


def test_reasoning_that_a_report_names_and_that_never_returns_is_no_longer_added() -> None:
    """Gemini's thoughts stay in the log and are not sent again."""
    tracker = ContextTracker()
    tracker.append("u0", Role.USER, text(1_000))
    used = 1_000
    for turn in range(3):
        # The answer's local count includes the thoughts, which the session contains.
        tracker.append(f"a{turn}", Role.ASSISTANT, text(210))
        thought = Usage(input_tokens=used, output_tokens=200, reasoning_tokens=120)
        tracker.report(thought, f"a{turn}", at=turn)
        tracker.append(f"r{turn}", Role.USER, Breakdown(tool_results=50))
        if turn:
            assert tracker.reading.used == used + 80 + 50
        used += 80 + 50


def test_a_report_far_below_what_is_visible_is_not_believed_but_counts_in_the_totals() -> None:
    tracker = ContextTracker()
    tracker.append("u1", Role.USER, text(14_000))
    tracker.append("a1", Role.ASSISTANT, text(50))
    tracker.report(prompt(12, 50), "a1", at=5)
    reading = tracker.reading
    assert (reading.used, reading.source, reading.reported) == (14_050, UsageSource.ESTIMATED, None)
    assert (tracker.doubts, tracker.totals.prompt) == (True, 12)


def test_a_placeholder_after_true_reports_leaves_the_figure_based_on_the_last_true_one() -> None:
    tracker = asked_and_answered()
    for number in range(2, 5):
        tracker.append(f"u{number}", Role.USER, Breakdown(tool_results=4_000))
        tracker.append(f"a{number}", Role.ASSISTANT, text(100))
        tracker.report(prompt(100, 1), f"a{number}", at=number)
    reading = tracker.reading
    assert (reading.source, reading.reported) == (UsageSource.STALE, 31_100)
    assert 42_000 < reading.used < 45_000


def test_a_context_that_the_provider_has_cut_is_believed_once_a_second_report_grew_as_its_messages_did() -> None:
    tracker = ContextTracker()
    tracker.append("u1", Role.USER, text(100_000))
    tracker.append("a1", Role.ASSISTANT, text(1_000))
    tracker.report(prompt(30_000, 1_000), "a1", at=1)
    assert tracker.reading.source is UsageSource.ESTIMATED
    tracker.append("u2", Role.USER, text(2_000))
    tracker.append("a2", Role.ASSISTANT, text(10))
    tracker.report(prompt(33_000, 10), "a2", at=2)
    assert (tracker.reading.used, tracker.reading.source) == (33_010, UsageSource.REPORTED)


def test_an_agents_own_estimate_is_the_figure_until_the_next_report_and_teaches_nothing() -> None:
    tracker = asked_and_answered()
    taught = tracker.calibration
    tracker.edited([("s", Role.USER, text(200))])
    tracker.assume(9_000, 7)
    reading = tracker.reading
    assert (reading.used, reading.source, reading.reported, reading.reported_at) == (
        9_000,
        UsageSource.ESTIMATED,
        None,
        None,
    )
    tracker.append("u2", Role.USER, text(500))
    assert (tracker.reading.used, tracker.reading.source) == (9_500, UsageSource.ESTIMATED)
    tracker.append("a2", Role.ASSISTANT, text(10))
    tracker.report(prompt(11_000, 10), "a2", at=9)
    assert (tracker.reading.used, tracker.reading.source) == (11_010, UsageSource.REPORTED)
    assert tracker.calibration.ratio == taught.ratio


@given(st.lists(st.integers(0, 50_000), max_size=6), st.floats(LOWEST, HIGHEST), st.integers(0, 200_000))
def test_the_parts_of_a_hidden_prompt_sum_to_it(listed: list[int], ratio: float, hidden: int) -> None:
    counted = [HiddenPart(kind=HiddenKind.MEMORY, name=str(place), tokens=one) for place, one in enumerate(listed)]
    parts = split_hidden(counted, ratio, hidden)
    assert all(part.tokens >= 0 for part in parts)
    assert sum(part.tokens for part in parts) == (hidden if sum(listed) and hidden else 0)


def test_what_a_log_lists_is_named_and_the_rest_is_not_in_the_log() -> None:
    listed = [HiddenPart(kind=HiddenKind.SYSTEM_PROMPT, tokens=2_000), HiddenPart(kind=HiddenKind.TOOLS, tokens=8_000)]
    assert [(part.kind, part.tokens) for part in split_hidden(listed, 1.2, 15_000)] == [
        (HiddenKind.SYSTEM_PROMPT, 2_400),
        (HiddenKind.TOOLS, 9_600),
        (HiddenKind.UNKNOWN, 3_000),
    ]
    # More is listed than can be in it: the parts share what there is.
    assert [part.tokens for part in split_hidden(listed, 1.2, 5_000)] == [1_000, 4_000]


def test_servers_in_the_settings_are_named_with_what_is_not_in_the_log() -> None:
    assert split_hidden([], 1.2, 15_000) == ()
    (rest,) = parts = split_hidden([], 1.2, 15_000, ("github", "jira"))
    assert (rest.kind, rest.tokens, rest.name) == (HiddenKind.UNKNOWN, 15_000, "github, jira")
    assert hidden_rows(parts) == [("not in the log", 15_000)]
    # Tools that are listed are no part of the rest.
    listed = [HiddenPart(kind=HiddenKind.MCP, name="github", tokens=2_000)]
    assert hidden_rows(split_hidden(listed, 1, 5_000, ("github",))) == [
        ("~MCP github", 2_000),
        ("not in the log", 3_000),
    ]
    assert split_hidden([], 1.2, 0, ("github",)) == ()


def test_what_an_agent_says_of_its_tools_is_not_scaled() -> None:
    own = HiddenPart(kind=HiddenKind.TOOLS, tokens=5_000, estimated=False)
    memory = HiddenPart(kind=HiddenKind.MEMORY, name="/home/ada/shop/AGENTS.md", tokens=1_000)
    assert hidden_rows(split_hidden([own, memory], 1.5, 9_000)) == [
        ("tools", 5_000),
        ("~shop/AGENTS.md", 1_500),
        ("not in the log", 2_500),
    ]
    assert [part.tokens for part in split_hidden([own, memory], 1.5, 5_600)] == [5_000, 600]
    assert [part.tokens for part in split_hidden([own, memory], 1.5, 4_000)] == [4_000, 0]


def test_after_a_compaction_a_log_without_its_beginning_may_have_lost_none_or_all_of_the_hidden_part() -> None:
    tracker = asked_and_answered()
    whole = asked_and_answered()
    for each, lacks_history in ((tracker, True), (whole, False)):
        each.edited([("summary", Role.USER, text(2_000))])
        each.compacted(3_000, lacks_history=lacks_history)
    hidden = tracker.overhead
    assert whole.reading.used - tracker.reading.used == hidden // 2
    # Its error includes both ends.
    reading = tracker.reading
    assert reading.used * reading.error_share == pytest.approx(hidden / 2, abs=2)
    assert whole.reading.error_share < 0.2 < reading.error_share
