"""The windows of Claude Code's models, by its versions and by what its log says."""

from collections.abc import Sequence

import pytest

from support.foreign import read_lines
from support.session_log import JsonObject, line, say
from ullage.agents.claude_code.compaction import usual_window
from ullage.agents.own_context import Setup
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import WindowReported

OLDER = ("claude-opus-4-6", "claude-opus-4-5-20251101", "claude-sonnet-4-6", "claude-sonnet-4-20250514")
NEWER = ("claude-opus-5-5", "claude-opus-4-8", "claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5")
# Lines of the text that `/context` leaves in the log of 2.1.316.
TOLD = "## Context Usage\n\n**Model:** claude-sonnet-4-5  \n**Tokens:** 13.3k / {} (1%)\n\n### Estimated usage\n"


def window(model: str, version: str) -> int:
    return usual_window(Setup(model=model, version=version)).tokens


@pytest.mark.parametrize("model", [*OLDER, *NEWER])
def test_until_2_1_283_every_model_has_200k_unless_its_name_says_more(model: str) -> None:
    assert window(model, "2.1.197") == window(model, "2.1.283") == window(model, "") == 200_000
    assert window(f"{model}[1m]", "2.1.197") == 1_000_000


def test_from_2_1_291_on_newer_models_have_a_million() -> None:
    assert {window(model, "2.1.291") for model in NEWER} == {1_000_000}
    assert {window(model, "2.1.316") for model in (*OLDER, "claude-haiku-4-5", "glm-4.6", "")} == {200_000}


def turn(number: int, requested: str) -> list[JsonObject]:
    parent = f"a{number - 1}" if number else None
    question = line("user", f"u{number}", parent, f"Question {number}?")
    answer = line("assistant", f"a{number}", f"u{number}", [say("Yes.")], model="claude-sonnet-4-5")
    return [question, answer | {"requestedModel": requested, "version": "2.1.316"}]


def windows(lines: Sequence[JsonObject]) -> list[int | None]:
    transcript: ImportedTranscript = read_lines(*lines)
    return [event.size for event in transcript.events if isinstance(event, WindowReported)]


def test_the_model_that_was_asked_says_that_a_million_was_chosen() -> None:
    wide, usual = "claude-sonnet-4-5[1m]", "claude-sonnet-4-5"
    assert windows(turn(0, wide) + turn(1, wide)) == [1_000_000]
    assert windows(turn(0, wide) + turn(1, usual)) == [1_000_000, 200_000]
    assert windows(turn(0, usual)) == []


def test_what_the_context_command_prints_says_the_window() -> None:
    def asked(size: str) -> JsonObject:
        return line("user", f"c{size}", "a0", TOLD.format(size), isMeta=True)

    begin = turn(0, "")
    assert windows([*begin, asked("1m")]) == [1_000_000]
    assert windows([*begin, asked("200k")]) == [200_000]
    # Rounded, and so no figure of a window.
    assert windows([*begin, asked("967k")]) == []


def test_what_a_user_types_says_nothing_about_the_window() -> None:
    assert windows([*turn(0, ""), line("user", "u1", "a0", TOLD.format("1m"))]) == []
