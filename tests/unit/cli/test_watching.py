"""The live table: keys, and what it shows at any size."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from ullage.cli.commands.watch import Board, What, Wish, key_names
from ullage.cli.drawing import ASCII, UNICODE, Glyphs
from ullage.cli.session_source import limits_of
from ullage.model.usage import CacheSource, FollowedRow, Nearness, PromptCache, RateLimit
from ullage.service.follow.reminders import DueNotice

NOW = 1_795_000_000_000


def row(name: str, percent: int | None = 50, **more: object) -> FollowedRow:
    used = None if percent is None else percent * 2_000
    known = {"session_id": name, "agent": "Claude Code", "title": name, "live": True, "updated_at": NOW - 5_000}
    figures = {"used": used, "percent": percent, "window": 200_000, "compacts_at": 167_000}
    return FollowedRow(**(known | figures | more))  # type: ignore[arg-type]


def board(*rows: FollowedRow) -> Board:
    shown = Board()
    for one in rows:
        shown.take(one)
    return shown


def drawn(shown: Board, width: int = 120, height: int = 24, glyphs: Glyphs = UNICODE) -> list[str]:
    return [line if isinstance(line, str) else line.plain for line in shown.lines(width, height, NOW, glyphs)]


def styles(shown: Board, name: str) -> set[str]:
    """Returns the styles in the row of this conversation."""
    lines = [line for line in shown.lines(120, 24, NOW, UNICODE) if isinstance(line, Text) and name in line.plain]
    return {str(span.style) for span in lines[0].spans}


def press(shown: Board, keys: Sequence[str]) -> list[Wish | None]:
    return [shown.press(key) for key in keys]


def test_keys_are_named_and_unknown_sequences_are_no_keys() -> None:
    assert key_names("j\x1b[A\x1bOB\r\x1b[6~ q") == ["j", "up", "down", "enter", "page down", " ", "q"]
    assert key_names("\x1b") == ["escape"]
    assert key_names("\x1b\x1b[B") == ["escape", "down"]
    assert key_names("\x1b[1;5C\x1b[200~\x00\x03é") == ["é"]


@given(st.text())
def test_whatever_a_terminal_sends_is_read(text: str) -> None:
    assert all(key and (len(key) == 1 or key.isascii()) for key in key_names(text))


def test_a_file_that_was_written_again_with_another_conversation_is_one_row() -> None:
    before, after = row("a", path="/logs/one.jsonl", agent_session_id="x"), row("b", path="/logs/one.jsonl")
    other = row("c", path="/logs/two.jsonl")
    assert [line for line in drawn(board(before, other, after)) if " a " in line] == []
    paused = board(before, other)
    press(paused, "p")
    paused.take(after)
    press(paused, "p")
    assert [line for line in drawn(paused) if " a " in line] == []
    # The rows of a database are conversations of their own.
    rows = [row(name, path="/data/agent.db", agent_session_id=name) for name in ("d", "e")]
    assert len([line for line in drawn(board(*rows)) if " d " in line or " e " in line]) == 2


def test_the_fullest_is_first_and_unknown_figures_are_question_marks_and_last() -> None:
    lines = drawn(board(row("b", 10), row("c", None), row("a", 90)))
    assert [line.split()[0].strip("▲") or line.split()[1] for line in lines[1:4]][1:] == ["10%", "?"]
    assert "90%" in lines[1]


def test_a_due_compaction_is_marked_by_a_sign_and_an_ended_conversation_is_after_those_that_run() -> None:
    soon = row("soon", 70, nearness=Nearness.IMMINENT)
    shown = board(row("full", 84), row("ended", 83, live=False), soon, row("other", 1, nearness=Nearness.NEAR))
    assert "▲ 84%" in drawn(shown)[1]
    assert "▲ 70%" in drawn(shown)[2]
    assert "▲" not in drawn(shown)[3]
    assert "bold red" in styles(shown, "full")
    assert "ended" in drawn(shown)[4]
    assert [" now " in line for line in drawn(shown)[1:5]] == [True, True, True, False]


def test_an_estimate_above_the_threshold_alone_is_not_marked() -> None:
    shown = board(row("full", 84, nearness=Nearness.NEAR), row("due", 83, nearness=Nearness.IMMINENT))
    assert "▲" not in drawn(shown)[1]
    assert "▲ 83%" in drawn(shown)[2]
    assert "bold red" not in styles(shown, "full")


def test_the_calls_left_are_shown_while_the_conversation_is_live() -> None:
    shown = board(row("a", calls_left=(12, 30)), row("b", 40, calls_left=(3, 3)), row("c", 30, live=False))
    lines = drawn(shown)
    assert "167K, 12+ calls" in lines[1]
    assert "167K, 3 calls" in lines[2]
    assert "in" not in lines[3].split("167K")[1].split()[0]


def test_a_compaction_that_runs_stands_in_place_of_where_it_will_be() -> None:
    shown = board(row("a", 84, calls_left=(1, 1), nearness=Nearness.COMPACTING))
    assert "  compacting…  " in drawn(shown)[1]
    assert "167K" not in drawn(shown)[1]
    assert "▲" not in drawn(shown)[1]


def test_a_live_conversation_says_how_long_its_prompt_is_kept_in_120_columns() -> None:
    cache = PromptCache(
        until=NOW + 23 * 60_000, keeps=3_600_000, source=CacheSource.PROMISED, tokens=9, warm=0.1, cold=1.9
    )
    kept = row(
        "kept",
        cache=cache,
        title="Which port does the server take? " * 4,
        cwd="/home/ada/app",
        messages=531,
        calls_left=(80, 120),
    )
    lines = drawn(
        board(kept, row("gone", 40, cache=replace(cache, until=NOW)), row("ended", 30, cache=cache, live=False))
    )
    # One that has ended can be continued, too.
    assert ["warm 23 min" in line for line in lines[1:4]] == [True, False, True]
    assert ["cold" in line for line in lines[1:4]] == [False, True, False]


def test_a_notice_is_below_the_table_until_a_key_is_pressed() -> None:
    notice = DueNotice(key="moment", text="Now is a good moment.", at=NOW - 1, until=NOW + 1)
    late, early = replace(notice, key="b", until=NOW), replace(notice, key="c", at=NOW + 1)
    shown = Board(lambda row, _: (notice, late, early) if row.session_id == "b" else ())
    shown.take(row("a", 60, warnings=("The threshold has changed.",)))
    shown.take(row("b", 50))
    assert "▲ Now is a good moment." in drawn(shown)
    shown.press("x")
    assert "▲ Now is a good moment." not in drawn(shown)
    assert "▲ The threshold has changed." in drawn(shown)


def test_rate_limits_are_told_once_for_each_agent_by_its_newest_word() -> None:
    old, new = (RateLimit(name="5h", percent=percent, until=NOW + 1) for percent in (40, 42))
    over = RateLimit(name="7d", percent=90, until=NOW)
    shown = board(
        row("a", rate_limits=(new, over)),
        row("b", rate_limits=(old,), updated_at=NOW - 9_000),
        row("c", agent="Codex", rate_limits=(old,)),
    )
    shown.kept = "Kept: 3 conversations"
    assert "Claude Code 5h 42%; Codex 5h 40% · Kept: 3 conversations" in drawn(shown)


def test_a_limit_whose_time_is_over_hides_none_that_another_conversation_said() -> None:
    older = (RateLimit(name="5h", percent=42, until=NOW + 1), RateLimit(name="7d", percent=79))
    newer = (RateLimit(name="5h", percent=97, until=NOW - 1), RateLimit(name="7d", percent=80))
    rows = [row("a", rate_limits=newer), row("b", rate_limits=older, updated_at=NOW - 9_000)]
    assert limits_of(rows, NOW) == "Claude Code 5h 42%, 7d 80%"
    assert limits_of([row("a", rate_limits=newer[:1])], NOW) == ""


def test_the_chosen_rows_warning_is_below_the_table() -> None:
    shown = board(row("a", 60, warnings=("The threshold has changed.",)), row("b", 50))
    assert "▲ The threshold has changed." in drawn(shown)
    shown.press("j")
    assert "▲ The threshold has changed." not in drawn(shown)


def test_keys_choose_a_row_and_open_it() -> None:
    shown = board(*(row(f"s{number}", 90 - number) for number in range(30)))
    press(shown, ["j", "down", "k"])
    assert press(shown, ["enter"]) == [Wish(what=What.MESSAGES, session_id="s1")]
    assert drawn(shown)[0] == "Reading …"
    shown.show([f"line {number}" for number in range(100)])
    assert "line 99" in drawn(shown)
    press(shown, ["g"])
    assert drawn(shown)[0] == "line 0"
    press(shown, ["page down", "down"])
    assert drawn(shown)[0] == "line 11"
    press(shown, ["escape", "G"])
    assert press(shown, ["c"]) == [Wish(what=What.CONTEXT, session_id="s29")]
    assert not shown.is_over
    press(shown, ["q", "q"])
    assert shown.is_over


def test_the_choice_stays_with_its_conversation_when_the_order_changes() -> None:
    shown = board(row("a", 60), row("b", 50))
    shown.press("j")
    shown.take(row("b", 70))
    assert press(shown, ["enter"]) == [Wish(what=What.MESSAGES, session_id="b")]


def test_a_search_is_typed_corrected_and_left() -> None:
    shown = board(row("a"))
    press(shown, ["/", "j", "q", "backspace"])
    assert drawn(shown)[-1] == "Search: j_"
    assert press(shown, ["enter"]) == [Wish(what=What.HITS, session_id="a", query="j")]
    press(shown, ["q", "/", "x", "escape"])
    assert not shown.is_over
    assert shown.wish is None


def test_a_paused_table_changes_only_when_it_continues() -> None:
    shown = board(row("a", 10))
    shown.press("p")
    before = drawn(shown)
    shown.take(row("a", 20))
    shown.take(row("b", 30))
    assert drawn(shown) == before
    assert before[-1].startswith("paused")
    shown.press("p")
    assert "30%" in drawn(shown)[1]


def test_a_conversation_that_was_deleted_is_in_no_table() -> None:
    shown = board(row("a"), row("b"))
    press(shown, "p")
    shown.take(row("a", 60))
    shown.drop("a")
    assert not any("60%" in line or " a " in line for line in drawn(shown))
    press(shown, "p")
    assert not any("60%" in line or " a " in line for line in drawn(shown))


def test_without_a_conversation_no_key_opens_anything() -> None:
    shown = Board()
    assert press(shown, ["enter", "c", "/", "j", "p"]) == [None] * 5
    assert drawn(shown)[0] == "Looking for conversations"
    shown.empty = "No agent has written anything"
    assert drawn(shown)[0] == shown.empty
    press(shown, ["q"])
    assert shown.is_over


@pytest.mark.parametrize("glyphs", [ASCII, UNICODE], ids=["ascii", "unicode"])
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_table_fits_every_terminal(width: int, glyphs: Glyphs) -> None:
    names = ["a" * 300, "日本語のとても長いタイトル" * 9, "emoji 🎉 \x1b[31mred\x1b[0m", ""]
    rows = [
        row(f"s{number}", 80, title=name, cwd=f"/home/{name}", calls_left=(1, 999)) for number, name in enumerate(names)
    ]
    shown = board(*rows, row("w", 99, warnings=("w" * 500,)))
    for height in (5, 8, 50):
        lines = drawn(shown, width, height, glyphs)
        assert len(lines) <= height
        assert max(map(cell_len, lines)) <= width
    assert "quit" in drawn(shown, width, 8, glyphs)[-1]


def test_the_chosen_row_is_always_in_sight() -> None:
    shown = board(*(row(f"session{number:02d}", 90 - number) for number in range(40)))
    for number in range(40):
        assert any(f"session{number:02d}" in line for line in drawn(shown, 80, 9)), number
        shown.press("j")
