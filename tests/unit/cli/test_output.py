"""Colours, prose and the pager follow the conventions of the terminal."""

import json
import os
import stat
import sys
import unicodedata
from argparse import Namespace
from collections.abc import Mapping
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.live import Live

from support.systems import needs_modes
from support.tables import every
from support.usages import make_usage
from ullage.agents.inserted import speaker_of
from ullage.cli.commands.demo import compacted_line, compacting_line, status_line
from ullage.cli.commands.messages import Openings
from ullage.cli.commands.search import IndexingShown
from ullage.cli.drawing import (
    ASCII,
    UNCUT,
    UNICODE,
    WIDEST,
    Column,
    Glyphs,
    Screen,
    agreed,
    choose_glyphs,
    clean,
    escaped,
    table,
    to_json,
    working,
    wrap,
    write_output,
)
from ullage.cli.main import main
from ullage.cli.terminal import show_in_pager, visible, wants_color
from ullage.model.message import (
    Block,
    CompactionBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.usage import UsageSource
from ullage.service.ports.models import Indexing
from ullage.system.shared_files import FileLease


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


def test_prose_is_never_broken_inside_a_path() -> None:
    path = f"/home/ada/{'deep/' * 20}settings.json"
    screen = Screen(UNICODE, 60, 60, color=False, pager=False)
    assert [*screen.prose(f"The agent has it in\n  {path} and goes on.")] == [
        "The agent has it in",
        f"  {path}",
        "  and goes on.",
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
    options, _, text = shown.read_text().partition("$")
    assert options.startswith("FRX-Ps")
    assert "leave" in options
    assert text == "long text\n"
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


def test_work_is_shown_in_ascii_where_nothing_else_can_be_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("LC_ALL", "C")
    with working("Counting") as show:
        show("Reading 日本")
    shown = capsys.readouterr().err
    assert "Reading ??" in shown
    assert shown.isascii()


# The characters that are drawn on a terminal


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", None, "no-such-encoding"])
def test_encoding_without_the_characters_gets_ascii(encoding: str | None) -> None:
    assert choose_glyphs(encoding, {}) is ASCII


def test_utf8_gets_unicode_unless_asked_otherwise() -> None:
    assert choose_glyphs("utf-8", {}) is UNICODE
    assert choose_glyphs("utf-8", {}, ascii_only=True) is ASCII
    assert choose_glyphs("utf-8", {"TERM": "dumb"}) is ASCII


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, ASCII),
        ({"LANG": "POSIX"}, ASCII),
        ({"LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"}, UNICODE),
        ({"LC_ALL": "C.UTF-8"}, UNICODE),
    ],
)
def test_the_c_locale_gets_ascii_although_python_prints_utf8_in_it(
    environment: dict[str, str], expected: Glyphs
) -> None:
    assert choose_glyphs("utf-8", environment) is expected


@pytest.mark.parametrize(
    "text",
    [
        "Kept \x1b[1mOpus\x1b[22m",
        "Kept \x1b[38;5;208mOpus\x1b[0m",
        "Kept \x1b]8;;https://example.org\x1b\\Opus\x1b]8;;\x1b\\",
        "Kept \x1b]0;a title\x07Opus",
        "Kept \x9b31mOpus",
        "Kept \x1b(BOpus",
    ],
)
def test_escape_sequences_leave_nothing_behind(text: str) -> None:
    assert clean(text, UNICODE) == "Kept Opus"


# Tables fit the terminal: columns are left out before titles are cut, and no line is wider than asked


COLUMNS = (
    Column(name="Session", style="bold"),
    Column(name="Title", flexible=True),
    Column(name="Model", rank=2),
    Column(name="Messages", rank=1, right=True),
)
ROWS = [
    ("s_1a20", "Fix the login", "claude-opus-4-6", "12"),
    ("s_1a21", "日本語のとても長い題名がここにあります。もっともっと長い題名です。", "gpt-5", "1,200"),
]


def lines(width: int) -> list[str]:
    return [line.plain for line in table(COLUMNS, ROWS, width, UNICODE)]


@every("width", range(30, 120))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert all(line.cell_len <= width for line in table(COLUMNS, ROWS, width, UNICODE))


def test_columns_of_the_highest_rank_are_left_out_first() -> None:
    assert lines(110)[0].split() == ["Session", "Title", "Model", "Messages"]
    assert lines(60)[0].split() == ["Session", "Title", "Messages"]
    assert lines(40)[0].split() == ["Session", "Title"]
    assert lines(60)[1].split()[-1] == "12"


def test_a_column_without_any_text_is_left_out() -> None:
    assert lines(100)[0].count("Model") == 1
    empty = [(name, title, "", messages) for name, title, _, messages in ROWS]
    assert "Model" not in table(COLUMNS, empty, 100, UNICODE)[0].plain


def test_no_line_ends_with_blanks() -> None:
    assert all(line == line.rstrip() for line in lines(100))


@given(st.text(max_size=200), st.integers(min_value=4, max_value=50))
def test_wrapped_lines_fit_and_keep_every_word(text: str, width: int) -> None:
    wrapped = wrap(text, width, ASCII)
    assert all(len(line) <= width for line in wrapped)
    assert "".join("".join(wrapped).split()) == "".join("".join(wrap(text, 10_000, ASCII)).split())


# Errors show the names of files as text


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert visible("a\x1b[31m\x9b\u202e\r\n é 漢 \udc9b") == "a\\x1b[31m\\x9b\\u202e\\r\\n é 漢 \\udc9b"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_for_programs_says_the_same_without_a_character_that_deceives(text: str) -> None:
    encoded = msgspec.json.encode({"title": text})
    assert json.loads(escaped(encoded)) == {"title": text}
    seen = {unicodedata.bidirectional(one) for one in escaped(encoded).decode()}
    assert not seen & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_marks_of_direction_controls_and_tags_are_escapes_and_emoji_are_whole() -> None:
    tag = "\U000e0041"
    encoded = escaped(msgspec.json.encode(f"a\u202eb\x9b1m\u200b{tag}"))
    assert encoded == rb'"a\u202eb\u009b1m\u200b\udb40\udc41"'
    emoji = "👩\u200d💻 ✔\ufe0f שלום"
    assert escaped(msgspec.json.encode(emoji)).decode() == f'"{emoji}"'


def test_json_of_a_name_that_is_not_utf_8_is_valid() -> None:
    assert json.loads(to_json({"folder": "/caf\udce9"}).decode()) == {"folder": "/caf\ufffd"}


def test_an_error_obeys_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", "none\x1b]52;c;aGk=\x07\x9b31m"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ullage: none\\x1b]52;c;aGk=\\x07\\x9b31m: there is no such file")
    assert said.removesuffix("\n").isprintable()


# The status line in each of its states


def test_normal_state_shows_share_and_figures() -> None:
    assert status_line(make_usage(), UNICODE) == "◑ 46% · 58K/128K"
    assert status_line(make_usage(), ASCII) == "46% - 58K/128K"


def test_estimated_figure_is_marked() -> None:
    assert status_line(make_usage(source=UsageSource.ESTIMATED), UNICODE) == "◑ ~46% · 58K/128K"


def test_warning_state_says_where_it_compacts() -> None:
    assert status_line(make_usage(90_000), UNICODE) == "◕ 70% · compacts at 97K"


def test_unknown_window_is_said() -> None:
    assert status_line(make_usage(size=None, compact_at=None), UNICODE) == "58K · limit unknown"


def test_compaction_has_its_own_states() -> None:
    assert compacting_line(12, 45, UNICODE) == "Compacting… 12 of 45 messages"
    assert compacted_line(164_000, 31_000, UNICODE) == "✓ 164K → 31K"
    assert compacted_line(164_000, 31_000, ASCII) == "ok 164K -> 31K"


# One line says what a message is


def said(*blocks: Block) -> Message:
    return Message(id="m", role=Role.USER, content=blocks)


def result(text: str, *, is_error: bool = False) -> Message:
    return said(ToolResultBlock(tool_use_id="t1", content=(TextBlock(text=text),), is_error=is_error))


def test_a_message_is_described_by_the_first_line_that_is_not_blank() -> None:
    assert Openings().describe(said(TextBlock(text="\n  Fix it.\nPlease."))) == "Fix it."


def test_a_message_that_begins_with_a_bare_tag_is_described_by_what_the_tag_holds() -> None:
    text = "<system-reminder>\n\nThe file was changed.\n</system-reminder>"
    assert Openings().describe(said(TextBlock(text=text))) == "system-reminder: The file was changed."
    assert Openings().describe(said(TextBlock(text="<system-reminder>"))) == "<system-reminder>"


def test_a_result_is_named_after_its_call_with_the_path_from_the_sessions_folder() -> None:
    openings = Openings("/home/me/project")
    call = said(ToolUseBlock(id="t1", name="Read", input={"file_path": "/home/me/project/src/a.py"}))
    assert openings.describe(call) == "→ Read src/a.py"
    assert openings.describe(result("import os")) == "Read src/a.py: import os"
    assert openings.describe(result("no such file", is_error=True)) == "Read src/a.py: failed: no such file"


def test_several_results_are_all_named_and_what_failed_is_marked() -> None:
    openings = Openings()
    calls = [ToolUseBlock(id=name, name="Read", input={"file_path": f"{name}.py"}) for name in ("a", "b", "c")]
    openings.describe(said(*calls))
    results = [ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text="1 " * 400),)) for call in calls[:2]]
    message = said(*results, ToolResultBlock(tool_use_id="c", content=(), is_error=True))
    assert openings.describe(message) == "Read a.py · Read b.py · Read c.py (failed)"


def test_of_a_long_path_the_end_is_shown() -> None:
    call = said(ToolUseBlock(id="t1", name="Read", input={"path": "/opt/a/b/c/d.py"}))
    assert Openings().describe(call) == "→ Read …/b/c/d.py"
    command = said(ToolUseBlock(id="t2", name="Bash", input={"command": "ls /opt/a/b/c /opt/a"}))
    assert Openings().describe(command) == "→ Bash ls /opt/a/b/c /opt/a"


def test_a_command_given_as_words_is_shown_as_it_was_meant() -> None:
    wrapped = said(ToolUseBlock(id="t1", name="shell", input={"command": ["bash", "-lc", "npm test"]}))
    assert Openings().describe(wrapped) == "→ shell npm test"
    plain = said(ToolUseBlock(id="t1", name="shell", input={"timeout": 9, "command": ["git", "status"]}))
    assert Openings().describe(plain) == "→ shell git status"


def test_thinking_is_named_only_where_nothing_is_said() -> None:
    thought = ThinkingBlock(thinking="hmm")
    assert Openings().describe(said(thought, TextBlock(text="Done."))) == "Done."
    assert Openings().describe(said(thought)) == "(thinking)"


def test_a_marker_says_how_many_messages_it_stands_for() -> None:
    block = CompactionBlock(
        compaction_number=2, timestamp=0, summary="s", messages_archived=1_207, context_size_before=9
    )
    assert Openings().describe(said(block)) == "Compaction 2: a summary of 1,207 messages"


def test_a_message_with_results_alone_is_the_tools_and_one_with_the_users_words_is_the_users() -> None:
    assert result("12 passed").speaker == "tool"
    words = TextBlock(text="And now?")
    assert said(*result("12 passed").content, words).speaker == said(words).speaker == said().speaker == "user"
    reminder = said(TextBlock(text="<system-reminder>Be brief.</system-reminder>"))
    assert [speaker_of(one) for one in (result("12 passed"), reminder, said(words))] == ["tool", "agent", "user"]


# `ullage search` says how much is left while it waits for the index


def test_a_search_that_waits_for_the_index_shows_how_much_is_left() -> None:
    shown: list[str] = []
    listener = IndexingShown(shown.append)
    for left in (4_200, 0):
        listener.indexing(Indexing(id="index", left=left, total=12_000, cancel=lambda: None))
    assert shown == ["Preparing the search, once: 4,200 of 12,000 left", "Searching"]


@needs_modes
def test_a_new_file_is_for_its_owner_alone_and_another_keeps_its_mode(
    tmp_path: Path,
) -> None:
    new, shared = tmp_path / "new", tmp_path / "shared"
    shared.touch()
    shared.chmod(0o664)
    before = os.umask(0)
    try:
        for path in (new, shared):
            write_output(path, b"said")
        FileLease(tmp_path / "lease").take()
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"new": 0o600, "shared": 0o664, "lease": 0o600}
