"""Where an agent compacts: its window, its rule, its recorded compactions, and what they say of each other."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from support.build import user
from ullage.agents.own_context import Given, Rule, Setup
from ullage.agents.table import AGENTS, agent_of_format
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.events import (
    ClearThinkingEdit,
    CompactionCause,
    CompactionEdit,
    ContextEdited,
    ConversationImported,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    UsageReported,
    WindowReported,
)
from ullage.model.message import CompactionBlock, Message, Role, TextBlock
from ullage.model.usage import RemarkKind, ThresholdSource, Usage, WindowSource
from ullage.policy.evidence import RECENT_CALLS, Compacted, Evidence, ending
from ullage.policy.threshold import Candidates, Finding, estimated, find_threshold, find_window, of_same_window
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import get_counter
from ullage.tokens.tracker import Ending

CLAUDE, CODEX = agent_of_format("claude-code"), agent_of_format("codex-rollout")
MODEL = "claude-opus-4-6"


def setup(version: str = "2.1.39", window: int = 200_000, model: str = MODEL, **given: Any) -> Setup:
    return Setup(version=version, model=model, window=window, max_output=128_000, given=Given(**given))


def compacted(tokens: int, version: str = "2.1.39", model: str = MODEL, **more: Any) -> Compacted:
    more.setdefault("cause", CompactionCause.THRESHOLD)
    return Compacted(tokens=tokens, version=version, model=model, **more)


def found(*seen: Compacted | int, at: Setup | None = None, agent: Any = CLAUDE, **evidence: Any) -> Finding:
    at = at or setup()
    compactions = tuple(one if isinstance(one, Compacted) else compacted(one, at.version, at.model) for one in seen)
    return find_threshold(Evidence(compactions=compactions, version=at.version, **evidence), (), agent, at)


def told(finding: Finding) -> tuple[int, str, int]:
    threshold = finding.threshold
    assert threshold is not None
    return threshold.tokens, threshold.source, threshold.times


def remarks(finding: Finding) -> list[RemarkKind]:
    return [remark.kind for remark in finding.remarks]


def test_claude_codes_rule_changed_with_2_1_22() -> None:
    for version, tokens in (
        ("1.0.53", 154_560),
        ("2.0.76", 155_000),
        ("2.1.20", 155_000),
        ("2.1.22", 167_000),
        ("2.1.42", 167_000),
    ):
        assert told(found(at=setup(version))) == (tokens, ThresholdSource.RULE, 0)


def test_of_other_conversations_only_compactions_of_the_same_model_by_the_agent_itself_count() -> None:
    own = compacted(167_000)
    asked_for = compacted(90_000, cause=CompactionCause.BY_HAND)
    assert of_same_window((own, asked_for, compacted(120_000, model="claude-haiku-4-5")), CLAUDE, setup()) == (own,)


def test_of_a_version_never_measured_no_threshold_is_known() -> None:
    assert found(at=setup("1.0.40")) == Finding()
    assert found(at=setup("")) == Finding()


def test_a_model_that_is_compacted_only_when_the_provider_refuses_has_no_threshold_and_the_reason_is_told() -> None:
    for model, window in (("claude-opus-4-8", 200_000), ("claude-sonnet-4-5-20250929", 200_000), (MODEL, 1_000_000)):
        finding = found(at=setup("2.1.197", window, model))
        assert finding.threshold is None
        assert remarks(finding) == [RemarkKind.NO_THRESHOLD]
        assert "refused" in finding.remarks[0].text


def test_later_versions_of_claude_code_compact_newer_models_again() -> None:
    for model in ("claude-opus-4-7", "claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5", "claude-fable-5"):
        for version in ("2.1.316", "2.1.332"):
            assert told(found(at=setup(version, 1_000_000, model)))[0] == 967_000
    assert told(found(at=setup("2.1.316")))[0] == 167_000
    for model, window in (("claude-sonnet-4-5", 200_000), ("claude-sonnet-4-6[1m]", 1_000_000)):
        assert remarks(found(at=setup("2.1.316", window, model))) == [RemarkKind.NO_THRESHOLD]


def test_a_model_that_claude_code_does_not_know_is_compacted_within_the_window_that_it_assumes() -> None:
    for model, output in (("glm-5", 128_000), ("openai/gpt-6.1-sol", 4_096)):
        at = replace(setup("2.1.332", model=model), max_output=output)
        assert told(found(at=at)) == (167_000, ThresholdSource.RULE, 0)
        assert told(found(at=replace(at, window=1_000_000))) == (967_000, ThresholdSource.RULE, 0)
    assert told(found(at=setup("2.1.316", model="glm-5")))[0] == 167_000
    assert found(at=setup("2.1.315", model="glm-5")) == Finding()
    assert remarks(found(at=setup("2.1.332", 1_000_000, "glm-5[1m]"))) == [RemarkKind.NO_THRESHOLD]
    name = "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT"
    assert remarks(found(at=setup("2.1.332", model="glm-5", unknown=name))) == [RemarkKind.UNCERTAIN]


def test_the_compaction_after_a_refusal_teaches_nothing() -> None:
    forced = compacted(176_500, "2.1.197", "claude-opus-4-8", cause=CompactionCause.OVERFLOW)
    assert found(forced, forced, forced, at=setup("2.1.197", model="claude-opus-4-8")).threshold is None
    assert told(found(compacted(120_000, cause=CompactionCause.OVERFLOW))) == (167_000, ThresholdSource.RULE, 0)
    assert told(found(199_500)) == (167_000, ThresholdSource.RULE, 0)


def test_a_compaction_by_hand_teaches_nothing() -> None:
    assert told(found(compacted(90_000, cause=CompactionCause.BY_HAND))) == (167_000, ThresholdSource.RULE, 0)


def test_compactions_near_the_rule_confirm_its_figure() -> None:
    assert told(found(167_094)) == (167_000, ThresholdSource.LEARNED, 1)
    # One call brought much: the compaction lay 14 % above the threshold.
    assert told(found(176_700, at=setup("2.1.5"))) == (155_000, ThresholdSource.LEARNED, 1)
    assert told(found(169_010, 168_020, 174_247)) == (167_000, ThresholdSource.LEARNED, 3)


def test_compactions_that_all_lie_above_the_rule_move_the_threshold() -> None:
    assert told(found(173_010, 172_020, 174_247)) == (172_020, ThresholdSource.LEARNED, 3)


def test_a_compaction_far_below_the_rule_shows_a_setting_once_a_second_one_agrees() -> None:
    assert told(found(167_400, compacted(90_100, beyond=89_700))) == (167_000, ThresholdSource.LEARNED, 1)
    alone = found(compacted(90_100, beyond=89_700))
    assert (told(alone), remarks(alone)) == ((167_000, ThresholdSource.RULE, 0), [])
    assert told(found(120_100, compacted(90_100, beyond=89_700))) == (167_000, ThresholdSource.RULE, 0)
    assert told(found(167_400, 120_100, 90_100, 60_100)) == (167_000, ThresholdSource.LEARNED, 1)
    finding = found(167_400, compacted(90_100, beyond=89_700), compacted(90_080, beyond=89_500))
    assert told(finding) == (90_000, ThresholdSource.LEARNED, 2)
    assert remarks(finding) == [RemarkKind.CHANGED]
    assert "167,000" in finding.remarks[0].text


def test_a_threshold_of_another_version_is_told_until_the_new_one_is_well_known() -> None:
    old = [compacted(155_301, "2.1.1")] * 2
    finding = found(*old)
    assert told(finding) == (167_000, ThresholdSource.RULE, 0)
    assert remarks(finding) == [RemarkKind.CHANGED]
    assert "155,000 with 2.1.1" in finding.remarks[0].text
    assert remarks(found(*old, 167_100, 167_200, 167_300)) == []


def test_a_call_beyond_the_threshold_shows_that_the_agent_compacts_elsewhere() -> None:
    finding = found(beyond=170_000)
    assert finding.threshold is None
    assert remarks(finding) == [RemarkKind.PASSED]
    assert told(found(beyond=166_900)) == (167_000, ThresholdSource.RULE, 0)


def test_a_call_beyond_what_other_conversations_teach_leaves_the_rule() -> None:
    at = setup()
    elsewhere = [compacted(60_000), compacted(60_500)]
    assert told(find_threshold(Evidence(version=at.version), elsewhere, CLAUDE, at))[:2] == (60_000, "learned")
    larger = Evidence(version=at.version, largest={MODEL: 90_000})
    assert told(find_threshold(larger, elsewhere, CLAUDE, at)) == (167_000, ThresholdSource.RULE, 0)


def test_a_setting_of_the_agent_is_followed() -> None:
    half = setup(share=0.5, names={"share": "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50"})
    assert told(found(at=half)) == (90_000, ThresholdSource.SETTINGS, 0)
    names = {"window": "autoCompactWindow=400000"}
    wide = Setup(version="2.1.197", model="claude-opus-4-8", window=1_000_000, given=Given(window=400_000, names=names))
    assert told(found(at=wide)) == (367_000, ThresholdSource.SETTINGS, 0)


def test_a_setting_without_effect_is_told() -> None:
    third = setup(share=0.33, names={"share": "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=33"})
    finding = found(at=third, beyond=90_000)
    assert told(finding) == (167_000, ThresholdSource.RULE, 0)
    assert remarks(finding) == [RemarkKind.NO_EFFECT]
    assert "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=33" in finding.remarks[0].text
    high = setup(share=0.97, names={"share": "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=97"})
    assert (told(found(at=high))[0], remarks(found(at=high))) == (167_000, [RemarkKind.NO_EFFECT])


def test_a_switch_that_is_off_leaves_no_threshold() -> None:
    finding = found(at=setup(automatic=False, names={"automatic": "DISABLE_AUTO_COMPACT=1"}))
    assert finding.threshold is None
    assert finding.remarks[0].text == "DISABLE_AUTO_COMPACT=1 switches compaction off."


def test_what_the_agent_says_comes_first() -> None:
    assert told(found(167_100, compacts_at=120_000)) == (120_000, ThresholdSource.SETTINGS, 0)


def test_codex_compacts_at_nine_tenths_of_the_window_behind_the_one_that_it_reports() -> None:
    for shown, threshold in ((258_400, 244_800), (95_000, 90_000), (272_000, 244_800)):
        at = setup("0.169.0", shown, "gpt-5")
        assert told(found(at=at, agent=CODEX)) == (threshold, ThresholdSource.RULE, 0)


def test_without_a_rule_compactions_of_the_same_version_and_model_are_learned() -> None:
    seen = (
        compacted(80_000, "1", "m"),
        compacted(81_000, "1", "m"),
        compacted(40_000, "1", "other"),
        compacted(30_000, "1", "m", cause=CompactionCause.BY_HAND),
    )
    at = setup("1", 100_000, "m")
    assert told(found(*seen, at=at, agent=None)) == (80_000, ThresholdSource.LEARNED, 2)
    assert found(at=at, agent=None) == Finding()


def test_between_the_bounds_of_compactions_lies_the_roundest_number() -> None:
    run = [compacted(155_301, beyond=154_700), compacted(155_066, beyond=154_980)]
    assert estimated(run) == 155_000
    assert estimated(run, beyond=155_010) == 155_050
    assert estimated([compacted(174_247, beyond=138_600)]) == 174_247


def test_the_threshold_is_a_point_on_the_scale_of_the_window() -> None:
    threshold = found().threshold
    assert threshold is not None
    assert threshold.percent == 84


# What a log shows of window, compactions and growth, event by event


def report(prompt: int, answer: str, output: int = 10, *, is_copied: bool = False) -> UsageReported:
    usage = Usage(input_tokens=prompt, output_tokens=output)
    return UsageReported(usage=usage, message_id=answer, is_copied=is_copied)


def after(events: Sequence[Event], model: str = "m", version: str = "1.0") -> Evidence:
    evidence = Evidence()
    for event in events:
        evidence = evidence.after(event, model, version)
    return evidence


def compacted_at(before: int, cause: CompactionCause = CompactionCause.THRESHOLD) -> ContextEdited:
    builder = TranscriptBuilder("f", "n")
    builder.compact("All is well.", before=before, cause=cause)
    event = builder.events[-1]
    assert isinstance(event, ContextEdited)
    return event


def test_growth_is_what_one_call_added() -> None:
    events = [report(1_000, "a"), report(1_500, "b"), report(1_490, "c"), report(2_000, "d")]
    assert after(events).growths == (500, 510)


def test_a_usage_that_is_corrected_is_no_call_and_a_message_no_evidence() -> None:
    events = [report(1_000, "a"), MessageAppended(message=user("u")), report(1_500, "b"), report(1_501, "b")]
    assert after(events).growths == (500,)


def test_no_growth_is_measured_over_an_edit_or_a_change_of_model() -> None:
    clearing = ContextEdited(edit=ClearThinkingEdit(id="e", timestamp=0, replacements=()))
    assert after([report(1_000, "a"), clearing, report(1_500, "b")]).growths == ()
    assert after([report(1_000, "a"), ModelChanged(model="n"), report(1_500, "b")]).growths == ()
    assert after([report(1_000, "a"), compacted_at(900), report(1_500, "b")]).growths == ()


def test_only_recent_calls_are_remembered() -> None:
    assert len(after([report(1_000 * n, f"a{n}") for n in range(1, 100)]).growths) == RECENT_CALLS


def test_the_agents_compactions_are_kept_with_version_model_and_cause() -> None:
    evidence = after([report(150_000, "a"), compacted_at(167_094), compacted_at(90_000, CompactionCause.BY_HAND)])
    assert evidence.largest == {}
    assert evidence.compactions == (
        Compacted(tokens=167_094, version="1.0", model="m", cause=CompactionCause.THRESHOLD, id="compaction1"),
        Compacted(tokens=90_000, version="1.0", model="m", cause=CompactionCause.BY_HAND, id="compaction1"),
    )


def test_a_compaction_of_unknown_size_teaches_nothing() -> None:
    assert after([compacted_at(0)]).compactions == ()


def test_what_the_agent_said_of_one_model_is_not_said_of_another() -> None:
    said = WindowReported(size=258_400, compacts_at=200_000)
    assert after([said]).said == 258_400
    changed = after([said, ModelChanged(model="n")])
    assert (changed.said, changed.compacts_at) == (None, None)


def test_a_model_answers_since_its_first_report_after_another_model() -> None:
    first, second, third = (replace(report(1_000, f"a{at}"), timestamp=at) for at in (5, 6, 7))
    changed = ModelChanged(model="n")
    assert after([changed, first, second]).model_since == 0
    assert after([first, changed, second, third]).model_since == 6
    assert after([first, changed, second, changed, third]).model_since == 7


def test_a_window_that_the_agent_says_of_two_models_is_that_of_both() -> None:
    builder = TranscriptBuilder("f", "n")
    for model in ("m", "n"):
        builder.use_model(model)
        builder.window(258_400)
    assert after(builder.drain()).said == 258_400


def one_of(conversation: str, tokens: int = 167_094, at: int = 5, **more: Any) -> Compacted:
    return Compacted(tokens=tokens, model="m", cause=CompactionCause.THRESHOLD, id=conversation, at=at, **more)


def test_a_compaction_that_a_copied_log_repeats_under_another_id_counts_once() -> None:
    evidence = Evidence(compactions=(one_of("copy"),))
    assert evidence.joined((one_of("original"),)).compactions == (one_of("copy"),)
    other = one_of("elsewhere", at=6)
    assert evidence.joined((other,)).compactions == (other, one_of("copy"))
    # Agents that name no compactions all have a first one.
    assert len(evidence.joined((one_of("copy", at=9),)).compactions) == 2


def test_a_compaction_of_a_context_that_another_conversation_filled_is_no_second_piece_of_evidence() -> None:
    resumed = [report(166_800, "a", is_copied=True), compacted_at(167_100)]
    (one,) = after(resumed).compactions
    assert one.is_copied
    assert after(resumed).joined(()).compactions == (one,)
    assert after(resumed).joined((one_of("original"),)).compactions == (one_of("original"),)
    far = one_of("another", tokens=90_000)
    assert after(resumed).joined((far,)).compactions == (far, one)
    own = after([*resumed, report(150_000, "b"), compacted_at(167_300)]).compactions
    assert [each.is_copied for each in own] == [True, False]


# What contexts hold after an agent's compaction, by the compactions that are known


def seen(added: int, hidden: int = 40_000, *, version: str = "2", model: str = "m") -> Compacted:
    return Compacted(tokens=167_000, version=version, model=model, rest=hidden + added, hidden=hidden)


def test_the_median_of_three_compactions_of_the_same_version_and_model_is_expected() -> None:
    known = [seen(5_000), seen(8_000), seen(20_000, hidden=42_000), *[seen(1, version="1")] * 4]
    assert ending(known, "2", "m") == Ending(hidden=40_000, added=8_000, deviation=5_000)


def test_with_fewer_those_of_other_versions_then_of_other_models_count() -> None:
    versions = [seen(5_000), seen(6_000, version="1"), seen(7_000, version="1")]
    found = ending([*versions, *[seen(99, model="n")] * 9], "2", "m")
    assert found is not None
    assert found.added == 6_000
    models = ending([seen(5_000), seen(6_000, model="n"), seen(7_000, model="n")], "2", "m")
    assert models is not None
    assert models.added == 6_000


def test_nothing_is_expected_of_fewer_than_three_or_of_those_that_do_not_say_what_was_hidden() -> None:
    assert ending([seen(5_000), seen(6_000)], "2", "m") is None
    assert ending([seen(5_000), seen(6_000), seen(0), Compacted(tokens=1, version="2", model="m")], "2", "m") is None


def test_what_is_known_of_files_that_come_back_is_no_part_of_what_is_learned() -> None:
    files = (1_000, 4_000, 9_000)
    known = [replace(seen(2_000 + tokens), attached=tokens) for tokens in files]
    assert ending([*known, seen(90_000)], "2", "m", knows_files=True) == Ending(hidden=40_000, added=2_000, deviation=0)
    assert ending([*known[:2], seen(90_000)], "2", "m", knows_files=True) is None
    assert ending(known, "2", "m") == Ending(hidden=40_000, added=6_000, deviation=2_667)


def test_a_conversation_that_was_compacted_learns_what_others_end_at_until_its_next_report() -> None:
    others: list[Compacted] = []
    counter = get_counter("gpt-4o")
    projection = Projection(counter, Calibration.prior(counter.error_share), others=lambda _format: tuple(others))
    block = CompactionBlock(
        compaction_number=1, timestamp=1, summary="Done.", messages_archived=1, context_size_before=90_000
    )
    marker = Message(id="s", role=Role.USER, content=(block,))
    compaction = CompactionEdit(id="e", timestamp=1, start=0, end=1, marker=marker, by_agent=True)
    events = (
        ConversationImported(format="claude-code", agent="Claude Code", version="2"),
        ModelChanged(model="m"),
        MessageAppended(message=Message(id="a", role=Role.USER, content=(TextBlock(text="Fix the tax."),))),
        ContextEdited(edit=compaction),
    )
    projection.apply([Record(position=place, timestamp=0, event=event) for place, event in enumerate(events)])
    before = projection.used
    others += [seen(5_000), seen(5_000), seen(6_000)]
    assert projection.used == before + 5_000


OPUS = Candidates(model="claude-opus-4-6", catalog=1_000_000, agent=CLAUDE, holder="Claude Code")


def window_of(evidence: Evidence, known: Candidates = OPUS) -> tuple[int, str]:
    window = find_window(evidence, known)
    assert window is not None
    return window.size, window.source


def test_claude_code_has_200k_whatever_its_model_could_take() -> None:
    assert window_of(Evidence()) == (200_000, WindowSource.RULE)


def test_a_recorded_compaction_below_200k_proves_that_window() -> None:
    evidence = Evidence(
        compactions=(Compacted(tokens=167_094, model="claude-opus-4-6", cause=CompactionCause.THRESHOLD),)
    )
    assert window_of(evidence) == (200_000, WindowSource.LOG)
    window = find_window(evidence, OPUS)
    assert window is not None
    assert "167,094" in window.basis


def test_a_prompt_or_a_compaction_above_200k_proves_the_larger_window() -> None:
    assert window_of(Evidence(largest={"claude-opus-4-6": 312_000})) == (1_000_000, WindowSource.LOG)
    compacted = Compacted(tokens=312_000, model="claude-opus-4-6", cause=CompactionCause.BY_HAND)
    assert window_of(Evidence(compactions=(compacted,))) == (1_000_000, WindowSource.LOG)


def test_another_models_prompts_prove_nothing_for_this_one() -> None:
    evidence = Evidence(largest={"claude-sonnet-4-5": 312_000})
    assert window_of(evidence) == (200_000, WindowSource.RULE)


def test_a_models_name_may_say_that_it_has_a_million() -> None:
    known = Candidates(model="claude-opus-4-6[1m]", catalog=1_000_000, agent=CLAUDE, holder="Claude Code")
    assert window_of(Evidence(), known) == (1_000_000, WindowSource.AGENT)


def test_what_the_agent_says_comes_before_its_rule_and_the_catalog() -> None:
    known = Candidates(model="gpt-5-codex", catalog=272_000, agent=CODEX, holder="Codex")
    assert window_of(Evidence(said=258_400), known) == (258_400, WindowSource.AGENT)
    assert window_of(Evidence(), known) == (272_000, WindowSource.CATALOG)


def test_the_users_settings_come_first_and_what_speaks_against_them_is_said() -> None:
    known = Candidates(model="gpt-5", settings=128_000, agent=CODEX, holder="Codex")
    assert window_of(Evidence(said=258_400), known) == (128_000, WindowSource.SETTINGS)
    by_agent = find_window(Evidence(said=258_400), known)
    by_prompt = find_window(Evidence(largest={"gpt-5": 160_000}), known)
    assert by_agent is not None
    assert by_prompt is not None
    assert by_agent.contradiction == "Codex says 258,400"
    assert by_prompt.contradiction == "a prompt of 160,000 tokens was reported"


def test_without_any_evidence_against_it_nothing_contradicts() -> None:
    window = find_window(Evidence(said=258_400, largest={"": 200_000}), Candidates(model="", agent=CODEX))
    assert window is not None
    assert window.contradiction is None


def test_an_agents_larger_prompt_beats_the_catalog_and_our_clients_is_only_a_contradiction() -> None:
    evidence = Evidence(largest={"m": 50_000})
    assert window_of(evidence, Candidates(model="m", catalog=32_000, holder="the agent")) == (50_000, WindowSource.LOG)
    ours = find_window(evidence, Candidates(model="m", catalog=32_000))
    assert ours is not None
    assert (ours.size, ours.source) == (32_000, WindowSource.CATALOG)
    assert ours.contradiction is not None


def test_of_an_unknown_model_no_window_is_known() -> None:
    assert find_window(Evidence(), Candidates(model="m")) is None


def test_every_agents_rules_give_no_negative_tokens_for_any_window() -> None:
    for agent in AGENTS:
        for window in (1, 1_000, 33_000, 200_000, 1_000_000):
            for most in (None, 100, 64_000):
                setup = Setup(version="2.1.39", model="m", window=window, max_output=most)
                rule = agent.own_context.threshold(setup)
                assert not isinstance(rule, Rule) or 0 < rule.tokens <= window or window == 1
