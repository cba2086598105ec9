"""What agents' settings say of their compaction: names, files, and what overrides what."""

import json
from pathlib import Path
from typing import Any

import pytest

from ullage.agents.agent import Agent
from ullage.agents.own_context import Rule, Setup, Without
from ullage.agents.own_settings import Given, Texts
from ullage.agents.table import AGENTS
from ullage.system.agent_settings import LocalAgentSettings, parse_settings

BY_NAME = {agent.name: agent for agent in AGENTS}
CLAUDE = BY_NAME["Claude Code"]


def given(name: str, *files: dict[str, Any], model: str = "m", **variables: str) -> Given:
    own = BY_NAME[name].own_settings
    assert own is not None
    return own.read(Texts(files=files, variables=variables, model=model))


def threshold(name: str, said: Given, window: int = 200_000, version: str = "2.1.39", model: str = "m") -> int | str:
    setup = Setup(version=version, model=model, window=window, max_output=64_000, given=said)
    rule = BY_NAME[name].own_context.threshold(setup)
    assert rule is not None
    return rule.tokens if isinstance(rule, Rule) else rule.basis


@pytest.mark.parametrize(
    ("model", "window", "variables", "tokens"),
    [
        ("claude-opus-4-6", 200_000, {}, 167_000),
        ("claude-sonnet-4-5", 200_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}, 167_000),
        ("claude-opus-4-8[1m]", 1_000_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "1000000"}, 967_000),
        ("claude-opus-4-8[1m]", 1_000_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "400000"}, 367_000),
        ("claude-opus-4-6", 200_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000"}, 117_000),
        ("claude-sonnet-4-5", 200_000, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "50000"}, 67_000),
        ("claude-opus-4-6", 200_000, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}, 90_000),
        ("claude-opus-4-6", 200_000, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "97"}, 167_000),
        ("claude-opus-4-6", 200_000, {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "0.5"}, 900),
        ("claude-opus-4-6", 200_000, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}, 179_000),
        ("claude-opus-4-6", 200_000, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "64000"}, 167_000),
    ],
)
def test_claude_code_compacts_where_its_real_program_was_seen_to(
    model: str, window: int, variables: dict[str, str], tokens: int
) -> None:
    said = given("Claude Code", **variables)
    assert threshold("Claude Code", said, window, "2.1.197", model) == tokens


def test_a_percentage_alone_gives_no_threshold_to_a_model_that_has_none() -> None:
    said = given("Claude Code", CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="50")
    rule = CLAUDE.own_context.threshold(Setup(version="2.1.197", model="claude-sonnet-4-5", window=200_000, given=said))
    assert isinstance(rule, Without)
    assert rule.ignored == "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50"


def test_claude_codes_settings_files_override_the_environment() -> None:
    user = {"autoCompactWindow": 400_000, "env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "60"}}
    said = given("Claude Code", user, {"autoCompactEnabled": False}, CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="50")
    assert (said.window, said.share, said.automatic) == (400_000, 0.6, False)
    assert said.name("automatic") == "autoCompactEnabled=false"


def test_codex_follows_a_limit_only_downwards() -> None:
    for limit, tokens in ((50_000, 50_000), (260_000, 244_800)):
        said = given("Codex", {"model_auto_compact_token_limit": limit})
        assert threshold("Codex", said, 258_400) == tokens


def test_other_agents_follow_their_settings() -> None:
    assert threshold("Gemini CLI", given("Gemini CLI", {"model": {"compressionThreshold": 0.2}}), 1_048_576) == 209_715
    assert threshold("pi", given("pi", {"compaction": {"reserveTokens": 30_000}})) == 170_000
    overrides = {"modelOverrides": {"p/m": {"reserveTokens": 40_000}, "p/other": {"reserveTokens": 50_000}}}
    said = given("pi", {"compaction": overrides}, {"compaction": {"reserveTokens": 30_000}})
    assert (threshold("pi", said), said.name("reserve")) == (
        160_000,
        "compaction.modelOverrides.p/m.reserveTokens=40000",
    )
    assert threshold("goose", given("goose", {"GOOSE_AUTO_COMPACT_THRESHOLD": "0.5"})) == 100_000
    assert (
        threshold("goose", given("goose", {"GOOSE_AUTO_COMPACT_THRESHOLD": "0.5"}, GOOSE_AUTO_COMPACT_THRESHOLD="0.6"))
        == 120_000
    )
    limit = {"provider": {"own": {"models": {"m": {"limit": {"context": 100_000, "input": 90_000, "output": 8_000}}}}}}
    assert threshold("opencode", given("opencode", limit)) == 70_000
    assert threshold("opencode", given("opencode", limit, {"compaction": {"reserved": 10_000}})) == 80_000
    models = {"models": {"m": {"compaction_trigger_ratio": 0.5, "reserved_context_size": 20_000}}}
    assert threshold("Kimi Code", given("Kimi Code", models), 100_000) == 50_000


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("Claude Code", {"env": {"DISABLE_AUTO_COMPACT": "1"}}),
        ("opencode", {"compaction": {"auto": False}}),
        ("pi", {"compaction": {"enabled": False}}),
        ("Crush", {"options": {"disable_auto_summarize": True}}),
        ("goose", {"GOOSE_AUTO_COMPACT_THRESHOLD": 0}),
    ],
)
def test_a_switch_that_is_off_is_named(name: str, off: dict[str, Any]) -> None:
    assert str(threshold(name, given(name, off))).endswith("switches compaction off")


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent.own_settings], ids=lambda agent: agent.name)
@pytest.mark.parametrize("value", [None, "", [], {}, -1, "nan", True, {"a": []}, 1e400])
def test_settings_of_a_wrong_shape_say_nothing_and_break_nothing(agent: Agent, value: Any) -> None:
    names = (
        *("autoCompactWindow", "autoCompactEnabled", "env", "model", "models", "compaction", "options", "provider"),
        *("model_auto_compact_token_limit", "GOOSE_AUTO_COMPACT_THRESHOLD", "profile", "profiles"),
    )
    assert agent.own_settings is not None
    said = agent.own_settings.read(Texts(files=[dict.fromkeys(names, value)], model="m"))
    agent.own_context.threshold(Setup(version="2.1.39", model="m", window=200_000, max_output=8_000, given=said))


def test_files_with_comments_are_read_and_read_again_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    for name in ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"):
        monkeypatch.delenv(name, raising=False)
    settings, reader = tmp_path / "settings.json", LocalAgentSettings()
    assert reader.read(CLAUDE, "", "m").window is None
    settings.write_text('{\n  // mine\n  "url": "http://a/*b*/", "autoCompactWindow": 150000,\n}')
    assert reader.read(CLAUDE, "", "m").window == 150_000
    settings.write_text(json.dumps({"autoCompactWindow": 1_200_000}))
    assert reader.read(CLAUDE, "", "m").window == 1_200_000
    settings.write_text("{ torn")
    assert reader.read(CLAUDE, "", "m").window is None


def test_toml_and_flat_yaml_are_read() -> None:
    assert parse_settings("config.toml", "model_auto_compact_token_limit = 5\n") == {
        "model_auto_compact_token_limit": 5
    }
    text = "# c\nGOOSE_MODEL: 'x'\nGOOSE_AUTO_COMPACT_THRESHOLD: 0.6  # mine\nextensions:\n  a: 1\n"
    assert parse_settings("config.yaml", text)["GOOSE_AUTO_COMPACT_THRESHOLD"] == "0.6"
    assert parse_settings("config.toml", "= broken") == {}


OPUS, OTHER = "claude-opus-5-5", "claude-sonnet-5-5"


def for_model(model: str, size: object) -> dict[str, Any]:
    return {"modelSettings": {model: {"autoCompactWindow": size}}}


@pytest.mark.parametrize(
    ("files", "tokens"),
    [
        ([for_model(OPUS, 300_000)], 267_000),
        ([for_model(OTHER, 300_000)], 967_000),
        ([{"autoCompactWindow": 400_000} | for_model(OPUS, 300_000)], 267_000),
        ([{"autoCompactWindow": 400_000} | for_model(OTHER, 300_000)], 367_000),
        ([{"autoCompactWindow": 400_000} | for_model(OPUS, "auto")], 967_000),
        ([for_model(OPUS, 300_000), {"autoCompactWindow": 500_000}], 467_000),
        ([{"autoCompactWindow": 500_000}, for_model(OPUS, 300_000)], 267_000),
        ([for_model(OPUS, 300_000), for_model(OTHER, 500_000)], 267_000),
        ([for_model(OPUS, 300_000), for_model(OPUS, "auto")], 967_000),
        ([for_model(f"us.anthropic.{OPUS}-20990101-v1:0", 300_000)], 267_000),
        ([for_model(f"{OPUS}[1m]", 300_000)], 267_000),
        ([{"modelSettings": {OPUS: 7}}], 967_000),
        ([{"modelSettings": "all"}], 967_000),
        ([{"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "350000"}}, for_model(OPUS, 300_000)], 317_000),
    ],
)
def test_claude_codes_window_of_one_model_comes_before_that_of_all(files: list[dict[str, Any]], tokens: int) -> None:
    said = given("Claude Code", *files, model=OPUS)
    assert threshold("Claude Code", said, 1_000_000, "2.1.332", OPUS) == tokens


def test_a_limit_of_codex_whose_scope_is_not_the_whole_context_gives_no_rule() -> None:
    limit, scope = "model_auto_compact_token_limit", "model_auto_compact_token_limit_scope"
    for file, known in (
        ({limit: 60_000, scope: "body_after_prefix"}, False),
        ({limit: 60_000, "profile": "p", "profiles": {"p": {scope: "body_after_prefix"}}}, False),
        ({limit: 60_000, scope: "total"}, True),
    ):
        setup = Setup(version="0.171.0", model="m", window=258_400, given=given("Codex", file))
        rule = BY_NAME["Codex"].own_context.threshold(setup)
        assert (rule is not None) is known
