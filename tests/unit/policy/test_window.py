"""The window of a conversation: which evidence wins, and what speaks against it."""

from ullage.agents.own_context import Rule, Setup
from ullage.agents.table import AGENTS, agent_of_format
from ullage.model.events import CompactionCause
from ullage.model.usage import WindowSource
from ullage.policy.evidence import Compacted, Evidence
from ullage.policy.threshold import Candidates, find_window

CLAUDE, CODEX = agent_of_format("claude-code"), agent_of_format("codex-rollout")
OPUS = Candidates(model="claude-opus-4-6", catalog=1_000_000, agent=CLAUDE, holder="Claude Code")


def found(evidence: Evidence, known: Candidates = OPUS) -> tuple[int, str]:
    window = find_window(evidence, known)
    assert window is not None
    return window.size, window.source


def test_claude_code_has_200k_whatever_its_model_could_take() -> None:
    assert found(Evidence()) == (200_000, WindowSource.RULE)


def test_a_recorded_compaction_below_200k_proves_that_window() -> None:
    evidence = Evidence(
        compactions=(Compacted(tokens=167_094, model="claude-opus-4-6", cause=CompactionCause.THRESHOLD),)
    )
    assert found(evidence) == (200_000, WindowSource.LOG)
    window = find_window(evidence, OPUS)
    assert window is not None
    assert "167,094" in window.basis


def test_a_prompt_or_a_compaction_above_200k_proves_the_larger_window() -> None:
    assert found(Evidence(largest={"claude-opus-4-6": 312_000})) == (1_000_000, WindowSource.LOG)
    compacted = Compacted(tokens=312_000, model="claude-opus-4-6", cause=CompactionCause.BY_HAND)
    assert found(Evidence(compactions=(compacted,))) == (1_000_000, WindowSource.LOG)


def test_another_models_prompts_prove_nothing_for_this_one() -> None:
    evidence = Evidence(largest={"claude-sonnet-4-5": 312_000})
    assert found(evidence) == (200_000, WindowSource.RULE)


def test_a_models_name_may_say_that_it_has_a_million() -> None:
    known = Candidates(model="claude-opus-4-6[1m]", catalog=1_000_000, agent=CLAUDE, holder="Claude Code")
    assert found(Evidence(), known) == (1_000_000, WindowSource.AGENT)


def test_what_the_agent_says_comes_before_its_rule_and_the_catalog() -> None:
    known = Candidates(model="gpt-5-codex", catalog=272_000, agent=CODEX, holder="Codex")
    assert found(Evidence(said=258_400), known) == (258_400, WindowSource.AGENT)
    assert found(Evidence(), known) == (272_000, WindowSource.CATALOG)


def test_the_users_settings_come_first_and_what_speaks_against_them_is_said() -> None:
    known = Candidates(model="gpt-5", settings=128_000, agent=CODEX, holder="Codex")
    assert found(Evidence(said=258_400), known) == (128_000, WindowSource.SETTINGS)
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
    assert found(evidence, Candidates(model="m", catalog=32_000, holder="the agent")) == (50_000, WindowSource.LOG)
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
