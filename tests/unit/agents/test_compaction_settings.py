"""What agents' settings say of their compaction: names, files, and what overrides what."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.tables import every
from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.own_context import Given, Rule, Setup, Texts, Without
from ullage.agents.table import AGENTS
from ullage.model.usage import RemarkKind, WindowSource
from ullage.policy.evidence import Evidence
from ullage.policy.threshold import Candidates, find_threshold, find_window
from ullage.system.settings_files import LocalAgentSettings, parse_settings

LIMIT, SCOPE = "model_auto_compact_token_limit", "model_auto_compact_token_limit_scope"
AFTER_TURN = "model_post_turn_compact_threshold_percent"
BY_NAME = {agent.name: agent for agent in AGENTS}
CLAUDE = BY_NAME["Claude Code"]


def given(name: str, *files: dict[str, Any], model: str = "m", **variables: str) -> Given:
    own = BY_NAME[name].own_settings
    assert own is not None
    return own.given(Texts(files=files, variables=variables, model=model))


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


@pytest.mark.parametrize("window", [float("inf"), float("nan"), 10**400])
def test_a_window_of_codexs_settings_that_is_no_number_is_ignored(window: float) -> None:
    assert given("Codex", {"model_context_window": window}).model_window is None


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
    assert threshold("Hermes", given("Hermes", {"compression": {"threshold": "0.8"}})) == 160_000
    limit = {"provider": {"own": {"models": {"m": {"limit": {"context": 100_000, "input": 90_000, "output": 8_000}}}}}}
    assert threshold("opencode", given("opencode", limit)) == 70_000
    # Before version 2, no more is kept free than the longest answer has.
    assert threshold("opencode", given("opencode", limit), version="1.18.33") == 82_000
    assert threshold("opencode", given("opencode", limit, {"compaction": {"reserved": 10_000}})) == 80_000
    inline = json.dumps({"compaction": {"reserved": 5_000}})
    assert threshold("opencode", given("opencode", limit, OPENCODE_CONFIG_CONTENT=inline)) == 85_000
    assert threshold("opencode", given("opencode", limit, OPENCODE_CONFIG_CONTENT="{")) == 70_000
    models = {"models": {"m": {"compaction_trigger_ratio": 0.5, "reserved_context_size": 20_000}}}
    assert threshold("Kimi Code", given("Kimi Code", models), 100_000) == 50_000


def test_hermes_compacts_at_a_larger_share_of_a_small_window() -> None:
    def at(window: int, share: str = "", output: str = "") -> int | str:
        model = {"default": "m", "max_tokens": output} if output else {}
        return threshold("Hermes", given("Hermes", {"compression": {"threshold": share}, "model": model}), window)

    assert [at(window) for window in (1_000_000, 512_000, 511_999, 100_000)] == [500_000, 256_000, 383_999, 75_000]
    # At least 64,000, as long as that is less than the window.
    assert [at(window) for window in (80_000, 64_000, 50_000)] == [64_000, 54_400, 42_500]
    assert (at(100_000, "0.9"), at(100_000, "0.2"), at(600_000, "0.05")) == (90_000, 75_000, 64_000)
    said = given("Hermes", {"compression": {"threshold": "0.2"}})
    rule = BY_NAME["Hermes"].own_context.threshold(Setup(window=100_000, given=said))
    assert isinstance(rule, Rule) and (rule.setting, rule.ignored) == ("", "compression.threshold=0.2")
    assert at(200_000, output="20000") == 135_000


@pytest.mark.parametrize(
    ("name", "off"),
    [
        ("Claude Code", {"env": {"DISABLE_AUTO_COMPACT": "1"}}),
        ("opencode", {"compaction": {"auto": False}}),
        ("pi", {"compaction": {"enabled": False}}),
        ("Crush", {"options": {"disable_auto_summarize": True}}),
        ("goose", {"GOOSE_AUTO_COMPACT_THRESHOLD": 0}),
        ("Hermes", {"compression": {"enabled": False}}),
    ],
)
def test_a_switch_that_is_off_is_named(name: str, off: dict[str, Any]) -> None:
    assert str(threshold(name, given(name, off))).endswith("switches compaction off")


@pytest.mark.parametrize(("name", "other"), [("opencode", "KILO"), ("Kilo Code", "OPENCODE")])
def test_the_variable_that_switches_compaction_off_is_that_of_the_program(name: str, other: str) -> None:
    own = {"OPENCODE": "KILO", "KILO": "OPENCODE"}[other] + "_DISABLE_AUTOCOMPACT"
    switched = str(threshold(name, given(name, {"compaction": {"auto": True}}, **{own: "true"})))
    assert own in switched and switched.endswith("switches compaction off")
    on = threshold(name, given(name))
    for off in ({own: ""}, {own: "0"}, {f"{other}_DISABLE_AUTOCOMPACT": "1"}):
        said = given(name, **off)
        assert (threshold(name, said), said.unknown) == (on, "")


@every("agent", [agent for agent in AGENTS if agent.own_settings])
@every("value", [None, "", [], {}, -1, "nan", True, {"a": []}, 1e400])
def test_settings_of_a_wrong_shape_say_nothing_and_break_nothing(agent: Agent, value: Any) -> None:
    names = (
        *("autoCompactWindow", "autoCompactEnabled", "env", "model", "models", "compaction", "options", "provider"),
        *("model_auto_compact_token_limit", "GOOSE_AUTO_COMPACT_THRESHOLD", "profile", "profiles"),
    )
    assert agent.own_settings is not None
    said = agent.own_settings.given(Texts(files=[dict.fromkeys(names, value)], model="m"))
    agent.own_context.threshold(Setup(version="2.1.39", model="m", window=200_000, max_output=8_000, given=said))


def test_kimi_code_takes_the_window_of_a_model_that_a_variable_adds_from_another() -> None:
    added = {"KIMI_MODEL_NAME": "m", "KIMI_MODEL_MAX_CONTEXT_SIZE": "128000"}
    listed = {"models": {"m": {"max_context_size": 100_000}}}
    assert given("Kimi Code", listed, **added).model_window == 128_000
    assert given("Kimi Code", KIMI_MODEL_NAME="m").model_window == 262_144
    assert given("Kimi Code", listed, **added | {"KIMI_MODEL_NAME": "other"}).model_window == 100_000
    assert given("Kimi Code", KIMI_MODEL_MAX_CONTEXT_SIZE="128000").model_window is None


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (50_000, "model.sessionTokenLimit=50000 ends the session before it compacts at 167,000"),
        *((limit, 167_000) for limit in (-1, 0, 167_000, 900_000, None, "many")),
    ],
)
def test_qwen_code_does_not_compact_where_its_session_ends_before(limit: object, expected: int | str) -> None:
    said = given("Qwen Code", {"model": {"sessionTokenLimit": limit}})
    assert (threshold("Qwen Code", said, 200_000), said.unknown) == (expected, "")


def test_cline_compacts_unless_its_setting_switches_that_off() -> None:
    for settings in ({}, {"compactionEnabled": True, "compactionStrategy": "basic"}, {"compactionEnabled": None}):
        said = given("Cline", settings)
        assert (threshold("Cline", said, 100_000), said.unknown) == (81_000, "")
    said = given("Cline", {"compactionEnabled": False})
    assert threshold("Cline", said) == "compactionEnabled=false switches compaction off"
    own = BY_NAME["Cline"].own_settings
    assert own is not None
    usual, moved = (
        own.files(Machine(system="linux", home="/home/dev", variables=variables))
        for variables in ({}, {"CLINE_DATA_DIR": "/data"})
    )
    assert (usual, moved) == (
        ("/home/dev/.cline/data/settings/global-settings.json",),
        ("/data/settings/global-settings.json",),
    )


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


def test_the_file_that_defines_a_sub_agent_of_claude_code_lowers_its_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", raising=False)
    project = tmp_path / "project"
    for folder, size in ((tmp_path / "home", 120_000), (project / ".claude", 150_000)):
        (folder / "agents").mkdir(parents=True)
        text = f"---\nname: diver\nmodel: haiku\nautoCompactWindow: {size}\n---\nautoCompactWindow: 7\n"
        (folder / "agents" / "diver.md").write_text(text)
    reader = LocalAgentSettings()

    def window(definition: str, cwd: Path = project) -> int | None:
        return reader.read(CLAUDE, str(cwd), "claude-haiku-5-5", definition).window

    assert (window("diver"), window("diver", tmp_path), window("digger"), window("")) == (150_000, 120_000, None, None)
    (project / ".claude" / "settings.json").write_text(json.dumps({"autoCompactWindow": 110_000}))
    # It only lowers the window.
    assert window("diver") == 110_000
    (tmp_path / "secret.md").write_text("---\nautoCompactWindow: 100000\n---\n")
    assert window("../../../secret") == 110_000
    said = reader.read(CLAUDE, str(tmp_path), "claude-haiku-5-5", "diver")
    assert threshold("Claude Code", said, 1_000_000, "2.1.332", "claude-haiku-5-5") == 87_000


def test_toml_and_the_keys_of_yaml_are_read() -> None:
    assert parse_settings("config.toml", "model_auto_compact_token_limit = 5\n") == {
        "model_auto_compact_token_limit": 5
    }
    text = "# c\nGOOSE_MODEL: 'x'\nGOOSE_AUTO_COMPACT_THRESHOLD: 0.6  # mine\nextensions:\n  a: 1\n"
    assert parse_settings("config.yaml", text)["GOOSE_AUTO_COMPACT_THRESHOLD"] == "0.6"
    text = "a:\n  b: x\n  c:\n    d: true\n    - e\n\nf:\n  - g\n  h: 1\ni: text\n  j: more\nk:\nl: 'yes'\n"
    assert parse_settings("config.yaml", text) == {
        "a": {"b": "x", "c": {"d": True}},
        "f": {"h": "1"},
        "i": "text",
        "k": "",
        "l": "yes",
    }
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


# Of a model that Claude Code does not know.
NOT_WITHIN = "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT"
UNKNOWN: list[tuple[str, list[dict[str, Any]], dict[str, str], str]] = [
    ("Codex", [{}, {LIMIT: 60_000, SCOPE: "body_after_prefix"}], {}, f"{SCOPE}=body_after_prefix"),
    ("Codex", [{"profile": "p", "profiles": {"p": {SCOPE: "x"}}}], {}, f"{SCOPE}=x"),
    ("Codex", [{}, {LIMIT: 60_000, SCOPE: "total", "compact_prompt": "Be brief."}], {}, ""),
    ("Codex", [{AFTER_TURN: 50}], {}, f"{AFTER_TURN}=50"),
    ("Codex", [{}, {"features": {"token_budget": True}}], {}, "features.token_budget"),
    ("Codex", [{}, {"features": {"token_budget": {"enabled": False}}}], {}, ""),
    ("Claude Code", [{}, {"autoCompactWindow": 300_000, "autoCompactGrace": 5}], {}, "autoCompactGrace=5"),
    ("Claude Code", [{"autoCompactTipShown": 3}, {"idleCompaction": True}], {}, ""),
    ("Claude Code", [{}, {"env": {"CLAUDE_CODE_COMPACT_LATER": "1"}}], {}, "CLAUDE_CODE_COMPACT_LATER"),
    ("Claude Code", [], {"CLAUDE_CODE_COMPACT_LATER": "1"}, "CLAUDE_CODE_COMPACT_LATER"),
    ("Claude Code", [], {"OTHER_COMPACT_LATER": "1"}, ""),
    ("Claude Code", [{"env": {NOT_WITHIN: "1"}}], {}, NOT_WITHIN),
    ("Claude Code", [], {NOT_WITHIN: "0"}, ""),
    ("opencode", [{}, {"compaction": {"auto": True, "reserved": 9_000, "keep": {"tokens": 5}}}], {}, ""),
    ("opencode", [{}, {"compaction": {"reserved": 9_000, "ratio": 0.5}}], {}, "compaction.ratio=0.5"),
    ("pi", [{}, {"compaction": {"enabled": True, "when": "idle"}}], {}, "compaction.when"),
    ("Gemini CLI", [{"experimental": {}, "autoCompressAfter": 3}], {}, "autoCompressAfter=3"),
]


@pytest.mark.parametrize(("name", "files", "variables", "unknown"), UNKNOWN)
def test_a_setting_about_compaction_that_is_not_known_is_named_and_leaves_no_threshold(
    name: str, files: list[dict[str, Any]], variables: dict[str, str], unknown: str
) -> None:
    said = given(name, *files, **variables)
    assert said.unknown.startswith(unknown) and bool(said.unknown) == bool(unknown)
    setup = Setup(version="2.1.316", model="claude-opus-5-5", window=258_400, max_output=8_000, given=said)
    found = find_threshold(Evidence(), (), BY_NAME[name], setup)
    assert (found.threshold is None) == bool(unknown)
    assert [remark.kind for remark in found.remarks] == [RemarkKind.UNCERTAIN] * bool(unknown)


CATALOGUE = {"p": {"models": {"m": {"limit": {"context": 128_000, "output": 8_000}}}}}
OTHERS = {"q": {"models": {"m": {"limit": {"context": 200_000, "output": 8_000}}}}}


GPT_X = {"models": [{"slug": "gpt-x", "context_window": 400_000}]}
OPUS_5_5 = "claude-opus-5-5"
MOST = {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "400000"}


SIZE = {"contextWindowSize": 131_072}
QWEN_MODELS = {"modelProviders": {"openai": [{"id": "m", "generationConfig": {"contextWindowSize": 65_536}}]}}


def of_pi(**provider: Any) -> dict[str, Any]:
    return {"providers": {"p": provider}}


@pytest.mark.parametrize(
    ("name", "model", "files", "window", "basis"),
    [
        ("Claude Code", "my-model", [{}, {"env": MOST}], 400_000, "CLAUDE_CODE_MAX_CONTEXT_TOKENS=400000"),
        ("Claude Code", OPUS_5_5, [{}, {"env": MOST}], None, ""),
        ("Claude Code", OPUS_5_5, [{"env": {"DISABLE_COMPACT": "1"}}, {"env": MOST}], 400_000, "CONTEXT_TOKENS=400000"),
        ("Claude Code", OPUS_5_5, [{"env": {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}}], 200_000, "DISABLE_1M_CONTEXT=1"),
        ("Codex", "gpt-x", [GPT_X], 380_000, "models_cache.json: context_window=400000"),
        ("Codex", "gpt-x", [GPT_X, {"model_context_window": 1e5}], 95_000, "model_context_window=100000"),
        ("opencode", "m", [CATALOGUE], 128_000, "limit.context=128000"),
        ("opencode", "m", [CATALOGUE | OTHERS], None, ""),
        ("opencode", "m", [CATALOGUE | OTHERS, {"provider": OTHERS}], 200_000, "limit.context=200000"),
        ("Kilo Code", "m", [{}, {"provider": CATALOGUE}], 128_000, "limit.context=128000"),
        ("pi", "m", [of_pi(models=[{"id": "m", "contextWindow": 100_000}])], 100_000, "contextWindow=100000"),
        ("pi", "m", [of_pi(modelOverrides={"m": {"contextWindow": 90_000}})], 90_000, "contextWindow=90000"),
        ("Kimi Code", "m", [{"models": {"m": {"max_context_size": 131_072}}}], 131_072, "max_context_size=131072"),
        ("Crush", "m", [of_pi(models=[{"id": "m", "context_window": 64_000}])], 64_000, "context_window=64000"),
        (
            "Codex",
            "gpt-x",
            [GPT_X, {}, {"model_catalog_json": "x"}],
            380_000,
            "model_catalog_json: context_w",
        ),
        ("Codex", "gpt-x", [{}, GPT_X, {"model_catalog_json": "x"}], None, ""),
        ("Qwen Code", "m", [{"model": {"generationConfig": SIZE}}], 131_072, "model.contextWindowSize=131072"),
        ("Qwen Code", "m", [QWEN_MODELS, {"model": {"generationConfig": SIZE}}], 65_536, "contextWindowSize=65536"),
        (
            "Droid",
            "m",
            [{"customModels": [{"model": "m", "maxContextLimit": 90_000}]}],
            90_000,
            "maxContextLimit=90000",
        ),
        (
            "Droid",
            "custom:My-model-1",
            [
                {
                    "customModels": [
                        {"model": "a"},
                        {"model": "m", "displayName": " My  model", "maxContextLimit": 90_000},
                    ]
                }
            ],
            90_000,
            "maxContextLimit=90000",
        ),
        ("goose", "m", [{"GOOSE_CONTEXT_LIMIT": "50000"}], 50_000, "GOOSE_CONTEXT_LIMIT=50000"),
        ("Hermes", "m", [{"model": {"default": "m", "context_length": "70000"}}], 70_000, "model.context_length=70000"),
        ("Hermes", "other", [{"model": {"default": "m", "context_length": "70000"}}], None, ""),
    ],
)
def test_a_window_comes_from_where_the_agent_takes_it(
    name: str, model: str, files: list[dict[str, Any]], window: int | None, basis: str
) -> None:
    said = given(name, *files, model=model)
    assert said.model_window == window
    if window:
        known = Candidates(model=model, catalog=777_000, agent=BY_NAME[name], version="2.1.316", given=said)
        found = find_window(Evidence(), known)
        assert found is not None
        assert (found.size, found.source) == (window, WindowSource.SETTINGS)
        assert basis in found.basis
        # What the log shows counts more.
        larger = find_window(Evidence(largest={model: window + 50_000}), known)
        assert larger is not None and larger.size >= window + 50_000
        told = find_window(Evidence(said=123_000), known)
        assert told is not None and told.size == 123_000


@pytest.mark.parametrize(
    ("model", "window"), [("gpt-6.2-sol", 475_000), ("gpt-6.1-terra", 475_000), ("gpt-5.6-sol", 258_400)]
)
def test_a_log_of_codex_that_names_no_window_has_that_of_its_own_list(model: str, window: int) -> None:
    found = find_window(Evidence(), Candidates(model=model, catalog=922_000, agent=BY_NAME["Codex"], version="0.171.0"))
    assert found is not None
    assert (found.size, found.source) == (window, WindowSource.RULE)


@pytest.mark.parametrize(
    ("limits", "compaction", "tokens"),
    [
        ({"context": 200_000, "output": 8_000}, {}, 180_000),
        ({"context": 200_000, "output": 64_000}, {}, 168_000),
        ({"context": 200_000, "output": 8_000}, {"buffer": 50_000}, 150_000),
        ({"context": 200_000, "input": 150_000, "output": 8_000}, {"buffer": 30_000}, 120_000),
        ({"context": 200_000, "input": 190_000, "output": 64_000}, {}, 168_000),
    ],
)
def test_opencode_2_keeps_a_buffer_free_of_the_window_and_of_the_largest_prompt(
    limits: dict[str, int], compaction: dict[str, int], tokens: int
) -> None:
    said = given("opencode", {}, {"provider": {"p": {"models": {"m": {"limit": limits}}}}, "compaction": compaction})
    assert threshold("opencode", said, 200_000, version="2.0.3") == tokens


@pytest.mark.parametrize(
    ("model", "cached", "settings", "tokens"),
    [
        ("claude-opus-5-5", {"tengu_jaunty_breeze": 300_000}, {}, 267_000),
        ("claude-opus-4-8", {"tengu_amber_redwood2": "500k"}, {}, 467_000),
        ("claude-opus-4-8", {"tengu_amber_redwood2": "", "tengu_amber_redwood3": "600k"}, {}, 567_000),
        ("claude-opus-5-5", {"tengu_amber_redwood2": "500k"}, {}, 967_000),
        ("claude-opus-5-5", {"tengu_jaunty_breeze": 300_000}, {"autoCompactWindow": 700_000}, 667_000),
        ("claude-opus-5-5", {"tengu_jaunty_breeze": 300_000}, {"autoCompactWindow": "auto"}, 267_000),
    ],
)
def test_a_window_that_claude_codes_server_sets_comes_after_the_users_settings(
    model: str, cached: dict[str, Any], settings: dict[str, Any], tokens: int
) -> None:
    said = given("Claude Code", {"cachedGrowthBookFeatures": cached}, settings, model=model)
    assert threshold("Claude Code", said, 1_000_000, "2.1.332", model) == tokens


@pytest.mark.parametrize(
    ("window", "part", "tokens"),
    [
        (1_000_000, None, 850_000),
        (200_000, None, 167_000),
        (1_000_000, 0.5, 500_000),
        (200_000, 0.95, 167_000),
        (200_000, 1.5, 167_000),
        (32_768, None, 27_852),
    ],
)
def test_qwen_code_compacts_at_the_share_of_its_settings_or_before_the_end(
    window: int, part: float | None, tokens: int
) -> None:
    said = given("Qwen Code", {"context": {"autoCompactThreshold": part}} if part else {})
    assert threshold("Qwen Code", said, window) == tokens


@pytest.mark.parametrize(
    ("settings", "window", "version", "tokens"),
    [
        ({}, 1_000_000, "0.225.2", 250_000),
        ({"compactionTokenLimit": 120_000}, 200_000, "0.81.0", 120_000),
        ({"general": {"compactionTokenLimit": 900_000}}, 400_000, "0.225.2", 400_000),
        ({"compactionTokenLimit": 120_000, "compactionTokenLimitPerModel": {"m": 90_000}}, 200_000, "0.225.2", 90_000),
        (
            {"compactionThresholdCheckEnabled": False},
            1_000_000,
            "0.225.2",
            "compactionThresholdCheckEnabled=false switches compaction off",
        ),
    ],
)
def test_droid_compacts_at_the_limit_of_its_settings(
    settings: dict[str, Any], window: int, version: str, tokens: int | str
) -> None:
    assert threshold("Droid", given("Droid", settings), window, version=version) == tokens


@pytest.mark.parametrize(("window", "version"), [(200_000, "0.225.2"), (1_000_000, "0.200.0")])
def test_without_a_setting_droids_threshold_of_a_small_window_or_an_old_version_is_not_known(
    window: int, version: str
) -> None:
    assert BY_NAME["Droid"].own_context.threshold(Setup(version=version, model="m", window=window)) is None


def test_the_largest_prompt_of_a_model_of_ones_own_is_its_window_in_copilot_cli() -> None:
    assert given("Copilot CLI", COPILOT_PROVIDER_MAX_PROMPT_TOKENS="30000").model_window == 30_000


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({}, 170_000),
        ({"session": {"auto_compact_threshold_percent": 70}}, 140_000),
        (
            {
                "session": {"auto_compact_threshold_percent": 70},
                "model": {"mine": {"model": "m", "auto_compact_threshold_percent": 50}, "x": {"context_window": 9}},
            },
            100_000,
        ),
        ({"model": {"m": {"auto_compact_threshold_percent": "high"}}}, 170_000),
    ],
)
def test_grok_compacts_at_the_percentage_of_the_model_or_of_all(settings: dict[str, Any], tokens: int) -> None:
    assert threshold("Grok CLI", given("Grok CLI", settings)) == tokens


def test_the_window_of_a_model_of_ones_own_is_in_groks_settings() -> None:
    settings = {"model": {"mine": {"model": "m", "context_window": 128_000}, "other": {"context_window": 9_000}}}
    assert [given("Grok CLI", settings, model=name).model_window for name in ("m", "mine", "x")] == [
        128_000,
        128_000,
        None,
    ]


def test_droids_servers_are_in_a_file_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    project = tmp_path / "shop"
    for folder, name in ((tmp_path, "github"), (project, "jira")):
        (folder / ".factory").mkdir(parents=True)
        (folder / ".factory" / "mcp.json").write_text(json.dumps({"mcpServers": {name: {"command": name}}}))
    assert LocalAgentSettings().read(BY_NAME["Droid"], str(project), "m").servers == ("github", "jira")


def test_an_agent_whose_settings_are_not_known_says_nothing() -> None:
    others = [agent for agent in AGENTS if agent.own_settings is None]
    assert others
    assert all(LocalAgentSettings().read(agent, "", "") == Given() for agent in others)


def test_a_list_of_models_that_codexs_settings_name_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    (tmp_path / "models.json").write_text(json.dumps(GPT_X))
    (tmp_path / "config.toml").write_text(f'model_catalog_json = "{tmp_path / "models.json"}"')
    assert LocalAgentSettings().read(BY_NAME["Codex"], "", "gpt-x").model_window == 380_000


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Codex", "mcp_servers"),
        ("Gemini CLI", "mcpServers"),
        ("Qwen Code", "mcpServers"),
        ("opencode", "mcp"),
        ("Kilo Code", "mcp"),
        ("Crush", "mcp"),
        ("goose", "extensions"),
        ("Hermes", "mcp_servers"),
        ("Droid", "mcpServers"),
    ],
)
def test_the_servers_of_settings_are_named_unless_they_are_switched_off(name: str, key: str) -> None:
    servers = {"github": {"command": "gh"}, "jira": {"enabled": False}, "lsp": {"disabled": True}, "odd": None}
    assert given(name, {key: servers}, {key: {"github": {"enabled": True}}}).servers == ("github", "odd")
    # A later file overrides.
    assert given(name, {key: {"github": {}}}, {key: {"github": {"enabled": False}}}).servers == ()
    wrong: tuple[Any, ...] = (None, [], "github", {})
    assert [given(name, {key: odd}).servers for odd in wrong] == [()] * 4
