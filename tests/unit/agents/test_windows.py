"""The windows of Claude Code's models, by its versions and settings, and of Kimi Code's, by its requests."""

from typing import Any

import pytest

from support.foreign import read_lines
from ullage.agents.claude_code.compaction import SETTINGS, usual_window
from ullage.agents.own_context import Given, Setup, Texts
from ullage.model.events import WindowReported

OLDER = ("claude-opus-4-6", "claude-opus-4-5-20251101", "claude-sonnet-4-6", "claude-sonnet-4-20250514")
NEWER = ("claude-opus-5-5", "claude-opus-4-8", "claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5")


def window(model: str, version: str) -> int:
    return usual_window(Setup(model=model, version=version)).tokens


@pytest.mark.parametrize("model", [*OLDER, *NEWER])
def test_until_2_1_283_every_model_has_200k_unless_its_name_says_more(model: str) -> None:
    assert window(model, "2.1.197") == window(model, "2.1.283") == window(model, "") == 200_000
    assert window(f"{model}[1m]", "2.1.197") == 1_000_000


def test_from_2_1_291_on_newer_models_have_a_million() -> None:
    assert {window(model, "2.1.291") for model in NEWER} == {1_000_000}
    assert {window(model, "2.1.316") for model in (*OLDER, "claude-haiku-4-5", "glm-4.6", "")} == {200_000}
    assert {window(model, "2.1.332") for model in (*OLDER, "claude-haiku-4-5", "")} == {200_000}


def test_from_2_1_325_on_a_model_that_the_program_does_not_know_has_a_million() -> None:
    assert [window("glm-4.6", version) for version in ("2.1.324", "2.1.325")] == [200_000, 1_000_000]


@pytest.mark.parametrize(
    ("named", "version", "tokens"),
    [
        ("", "2.1.197", 1_000_000),
        ("", "2.1.283", 1_000_000),
        ("opus", "2.1.197", 200_000),
        ("claude-opus-4-8", "2.1.197", 200_000),
        ("opus[1m]", "2.1.197", 1_000_000),
        ("claude-opus-4-8[1m]", "2.1.197", 1_000_000),
        ("sonnet[1m]", "2.1.197", 200_000),
        ("", "2.1.42", 200_000),
        (None, "2.1.197", 200_000),
    ],
)
def test_the_default_model_of_2_1_197_has_a_million_unless_a_setting_names_one(
    named: str | None, version: str, tokens: int
) -> None:
    assert usual_window(Setup(model="claude-opus-4-8", version=version, given=Given(model=named))).tokens == tokens


@pytest.mark.parametrize(
    ("user", "project", "variable", "named"),
    [
        ("opus", "sonnet", "", "sonnet"),
        ("opus", "", "haiku", "haiku"),
        ("default", "", "", ""),
        ("", "", "", ""),
    ],
)
def test_the_settings_name_the_model(user: str, project: str, variable: str, named: str) -> None:
    files = [{"model": user}, {"model": project}]
    assert SETTINGS.given(Texts(files=files, variables={"ANTHROPIC_MODEL": variable})).model == named
    in_file = [*files, {"env": {"ANTHROPIC_MODEL": variable}}]
    assert SETTINGS.given(Texts(files=in_file)).model == named


def kimi_windows(*asked: int) -> list[int | None]:
    """The windows that a log says whose requests ask for these tokens. Each answer leaves 162, 262 and so on."""
    lines: list[dict[str, Any]] = [{"type": "metadata", "protocol_version": "1.5"}]
    for number, tokens in enumerate(asked):
        usage = {"inputOther": 100 * (number + 1), "output": 9, "inputCacheRead": 50, "inputCacheCreation": 3}
        text = {"stepUuid": f"s{number}", "part": {"type": "text", "text": "Yes."}}
        lines += [
            {"type": "context.append_loop_event", "event": {"type": "step.begin", "uuid": f"s{number}"}},
            {"type": "llm.request", "kind": "loop", "model": "k2", "maxTokens": tokens},
            {"type": "context.append_loop_event", "event": {"type": "content.part"} | text},
            {"type": "context.append_loop_event", "event": {"type": "step.end", "uuid": f"s{number}", "usage": usage}},
            {"type": "usage.record", "usage": usage, "usageScope": "turn"},
        ]
    events = read_lines(*({"agentId": "main", "time": 1_790_000_000_000} | one for one in lines)).events
    return [event.size for event in events if isinstance(event, WindowReported)]


def test_requests_of_kimi_code_that_ask_for_what_is_left_show_the_window() -> None:
    assert kimi_windows(262_144, 262_144 - 162, 262_144 - 262)[-1] == 262_144


def test_a_limit_of_kimi_codes_answers_alone_is_no_window() -> None:
    assert kimi_windows(100_000, 100_000, 100_000) == []
    assert kimi_windows(262_144, 99_000, 98_000) == []
