"""Hooks and their worker share files: a brief is given for the summary that was asked for last, and once."""

from pathlib import Path

import pytest

from ullage.cli.hooks.hook_state import HookState

FIRST, SECOND = b'{"text": "first"}', b'{"text": "second"}'


@pytest.fixture
def kept(tmp_path: Path) -> HookState:
    return HookState(str(tmp_path / "sessions.db"), "s1")


def test_a_brief_is_given_once_and_then_only_again(kept: HookState) -> None:
    kept.ask("one")
    assert kept.take_summary() == "one"
    assert (kept.is_unanswered(), kept.has_brief()) == (True, False)
    kept.leave(FIRST)
    assert (kept.is_unanswered(), kept.has_brief()) == (False, True)
    assert kept.claim() == {"text": "first"}
    assert kept.claim() is None
    assert kept.given() == {"text": "first"}


def test_a_brief_that_is_left_after_the_next_summary_was_asked_for_is_not_given(kept: HookState) -> None:
    kept.ask("one")
    assert kept.take_summary() == "one"
    kept.ask("two")
    kept.leave(FIRST)
    assert not kept.has_brief()
    assert kept.claim() is None
    assert kept.take_summary() == "two"
    assert not kept.has_brief()
    kept.leave(SECOND)
    assert kept.claim() == {"text": "second"}


def test_looking_for_a_summary_leaves_a_brief_that_waits(kept: HookState) -> None:
    kept.ask("one")
    kept.take_summary()
    kept.leave(FIRST)
    assert kept.take_summary() is None
    assert kept.has_brief()
