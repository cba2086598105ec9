"""The table of conversations: what it shows at which width, and by which name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from ullage.agents.discovery import UnreadFile
from ullage.cli.drawing import UNICODE, Screen, ago, clean, fit_end, step_lines
from ullage.cli.session_source import Shortened, conversation_table, unread_lines
from ullage.model.usage import FollowedRow

NOW = 1_795_000_000_000
ROW = FollowedRow(
    session_id="s",
    agent="Claude Code",
    agent_short="CC",
    title="永远不要修改 migrations 目录 🚀" * 4,
    cwd="/home/ada/shop",
    used=100_000,
    window=200_000,
    percent=50,
    compacts_at=167_000,
    calls_left=(9, 20),
    live=True,
    updated_at=NOW,
)
OTHER = replace(ROW, title="Which port? " * 9, live=False, cwd="/home/ada/api", updated_at=NOW - 7_200_000)


def drawn(width: int) -> list[str]:
    named = [(ROW, "0c1f7a2e"), (OTHER, "b93d5e60")]
    return [line.plain for line in conversation_table(named, NOW, width, UNICODE, "/home/ada/shop")]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, "Full Title Agent When Id"),
        (80, "Full Tokens Compacts Title Agent When Id"),
        (120, "Full Tokens Compacts Title Agent When Id"),
    ],
)
def test_what_runs_and_when_it_compacts_is_shown_before_what_else_is_known(width: int, shown: str) -> None:
    lines = drawn(width)
    assert lines[0].split() == shown.split()
    assert all(cell_len(line) <= width for line in lines)
    # Wide characters take two cells each.
    places = {cell_len(line[: line.index(word)]) for line, word in zip(lines, ("Id", "0c1f7", "b93d5"), strict=True)}
    assert len(places) == 1
    assert " now " in lines[1]
    assert "api: Which port?" in lines[2]
    assert "shop" not in lines[1]


def test_a_long_folder_leaves_room_for_the_title_and_a_row_without_one_says_so() -> None:
    far = replace(OTHER, cwd="/home/ada/a-monorepo-with-a-long-name")
    rows = [(far, "b93d5e60"), (replace(ROW, title=""), "0c1f7a2e")]
    lines = [line.plain for line in conversation_table(rows, NOW, 60, UNICODE, "/home/ada/shop")]
    assert "a-monorepo-…: Which port?" in lines[1]
    assert "(no message that can be read)" in lines[2]


def test_a_file_that_was_not_read_is_named_once_with_the_reason() -> None:
    files = [UnreadFile(path="/a.jsonl", reason="/a.jsonl is empty"), UnreadFile(path="/b.jsonl", reason="too large")]
    shown = list(unread_lines(files, Screen(UNICODE, 60, 60, color=False, pager=False)))
    assert shown == ["Not read: /a.jsonl is empty", "Not read: /b.jsonl (too large)"]


@given(st.text(), st.integers(2, 40))
def test_a_path_that_is_too_long_keeps_its_end(path: str, width: int) -> None:
    whole, kept = clean(path, UNICODE), fit_end(path, width, UNICODE)
    assert cell_len(kept) <= width
    assert kept == whole or (kept[0] == "…" and whole.endswith(kept[1:]) and cell_len(whole) > width)


def test_the_calls_left_are_shown_where_there_is_room() -> None:
    assert ["9+ calls" in drawn(width)[1] for width in (80, 120)] == [False, True]


def test_ages_are_one_word_where_there_is_little_room() -> None:
    ages = [0, 90_000, 7_200_000, 3 * 86_400_000, 40 * 86_400_000, 800 * 86_400_000]
    assert [ago(NOW - age, NOW, is_short=True) for age in ages] == ["0s", "1m", "2h", "3d", "1mo", "2y"]


@given(st.sets(st.text("ab", min_size=9, max_size=14), min_size=1, max_size=30), st.data())
def test_a_shortened_id_means_one_conversation(ids: set[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ids)))
    short = Shortened(ids, 80)(name)
    assert [one for one in ids if one.startswith(short)] == [name] or short == name
    assert len(short) >= 8
    assert Shortened(ids, 200)(name) == name


def test_next_commands_are_in_columns_only_if_nothing_is_cut_then() -> None:
    steps = [("ullage lost 0c1f7a2e", "all that it left out"), ("ullage continue 0c1f7a2e --before-compaction", "as")]
    wide, narrow = (next(iter(step_lines(steps, width, UNICODE))) for width in (80, 60))
    assert wide.index("all") == 48
    assert narrow == "  ullage lost 0c1f7a2e  all that it left out"
