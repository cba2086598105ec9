"""Colours, prose and the pager follow the conventions of the terminal."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ullage.cli.draw.text import UNICODE
from ullage.cli.output import UNCUT, WIDEST, Screen, show_in_pager, working
from ullage.cli.terminal import wants_color


@pytest.mark.parametrize(
    ("choice", "environment", "on_terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, False, False),
        ("auto", {"CLICOLOR": "0"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colours_follow_the_option_and_then_the_environment(
    choice: str, environment: Mapping[str, str], on_terminal: bool, expected: bool
) -> None:
    assert wants_color(choice, environment, on_terminal=on_terminal) is expected


def test_prose_is_broken_between_words_under_its_beginning_on_a_terminal_only() -> None:
    text = "## Task\n- #1 Fix the login and then write down what was wrong with it, please"
    assert list(Screen(UNICODE, 80, UNCUT, color=False, pager=False).prose(text)) == text.splitlines()
    assert list(Screen(UNICODE, 40, 40, color=False, pager=False).prose(text)) == [
        "## Task",
        "- #1 Fix the login and then write down",
        "  what was wrong with it, please",
    ]


def test_prose_is_broken_between_words_on_the_widest_terminal_too() -> None:
    lines = list(Screen(UNICODE, WIDEST, WIDEST, color=False, pager=False).prose("word " * 100))
    assert len(lines) > 1
    assert {word for line in lines for word in line.split()} == {"word"}


def pager_that_copies_to(path: Path) -> str:
    copies = f"import os, sys; open({str(path)!r}, 'w').write(os.environ['LESS'] + sys.stdin.read())"
    return f'"{sys.executable}" -c "{copies}"'


def test_the_pager_of_the_user_gets_the_text_and_lesss_usual_options(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    assert show_in_pager("long text\n", {"PAGER": pager_that_copies_to(shown)})
    assert shown.read_text() == "FRXlong text\n"
    assert show_in_pager("text\n", {"PAGER": pager_that_copies_to(shown), "LESS": "S"})
    assert shown.read_text() == "Stext\n"


@pytest.mark.parametrize("pager", ["", "cat", "no-such-program-anywhere"])
def test_without_a_pager_nothing_is_shown_by_one(pager: str) -> None:
    assert not show_in_pager("text", {"PAGER": pager})
    assert not show_in_pager("text", {"PAGER": sys.executable, "TERM": "dumb"})


def test_a_pager_that_is_left_early_is_no_error() -> None:
    assert show_in_pager("line\n" * 200_000, {"PAGER": f'"{sys.executable}" -c pass'})


def test_a_name_is_no_markup_where_work_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with working("Importing a[/b]\x1b[31m") as show:
        show("Importing [bold]c[/d]")
