"""The windows of Claude Code's models, by its versions and by what its log says."""

import pytest

from ullage.agents.claude_code.compaction import SETTINGS, usual_window
from ullage.agents.own_context import Setup
from ullage.agents.own_settings import Given, Texts

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
