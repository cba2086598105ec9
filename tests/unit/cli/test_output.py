"""Colours, prose and the pager follow the conventions of the terminal."""

import sys
from argparse import Namespace
from collections.abc import Mapping
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from ullage.cli.draw.text import ASCII, UNICODE
from ullage.cli.output import UNCUT, WIDEST, Screen, agreed, show_in_pager, working
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


def test_a_drawing_that_changes_in_place_has_the_characters_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm")
    args = Namespace(ascii=False, color="never", no_pager=True)
    for encoding, glyphs in (("utf-8", UNICODE), ("ascii", ASCII)):
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding))
        with Live(console=Console(force_terminal=True), auto_refresh=False):
            assert Screen.of(args).glyphs is glyphs


class Typing(StringIO):
    """What a user types on a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "shown", "agrees"), [("y\n", 0, True), ("d\ny\n", 1, True), ("d\nd\n\n", 2, False), ("", 0, False)]
)
def test_a_question_shows_its_details_as_often_as_they_are_asked_for(
    typed: str, shown: int, *, agrees: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Typing(typed))
    details: list[str] = []
    assert agreed("Add this?", details=lambda: details.append("+ a line")) is agrees
    assert len(details) == shown
    assert capsys.readouterr().err == "Add this? [y/N, d: details] " * (shown + 1)


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
