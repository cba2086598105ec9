"""Where an agent compacts: its rule, its recorded compactions, and what they say of each other."""

from typing import Any

from ullage.agents.own_context import Setup
from ullage.agents.own_settings import Given
from ullage.agents.table import agent_of_format
from ullage.model.events import CompactionCause
from ullage.model.figure import RemarkKind, ThresholdSource
from ullage.policy.evidence import Compacted, Evidence
from ullage.policy.threshold import Finding, estimated, find_threshold

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
    for model in ("claude-opus-4-8", "claude-opus-5-5", "claude-haiku-5-5"):
        assert told(found(at=setup("2.1.316", 1_000_000, model)))[0] == 967_000
    assert told(found(at=setup("2.1.316")))[0] == 167_000
    for model, window in (("claude-sonnet-4-5", 200_000), ("claude-sonnet-4-6[1m]", 1_000_000)):
        assert remarks(found(at=setup("2.1.316", window, model))) == [RemarkKind.NO_THRESHOLD]


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
    assert told(found(compacted(90_100, beyond=89_700))) == (167_000, ThresholdSource.RULE, 0)
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
