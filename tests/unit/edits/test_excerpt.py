"""Excerpts of long outputs."""

from collections.abc import Callable
from functools import partial

import pytest

from support.bounded import ends
from ullage.edits.shorten import excerpt, names


def test_names_have_a_digit_a_separator_or_a_capital_inside() -> None:
    text = "Please open src/app.py, call setUp and read_all at hello-world; v1.2.3 fails plainly"
    assert names(text) == {"src/app.py", "setUp", "read_all", "v1.2.3", "hello-world"}


@pytest.mark.parametrize("read", [names, partial(excerpt, chars=60_000)], ids=["names", "excerpt"])
def test_a_long_run_of_letters_takes_no_quadratic_work(read: Callable[[str], object]) -> None:
    assert ends(read, "x" * 3_000_000)
