"""Tables fit the terminal: columns are left out before titles are cut, and no line is wider than asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.draw.parts import Column, table
from ullage.cli.draw.text import ASCII, UNICODE, wrap

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


@pytest.mark.parametrize("width", range(30, 120))
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
