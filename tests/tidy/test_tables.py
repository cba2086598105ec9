"""A test that holds for every row of a table tries all of them (`support/tables.py`)."""

import pytest

from support.tables import every


@every("number, word", [(1, "one"), (2, "two"), (3, "three")])
@every("least", [0, 2])
def expect_long_words(number: int, word: str, least: int) -> None:
    with pytest.raises(ZeroDivisionError):
        divmod(1, number - 2 + least)
    assert len(word) > 3


def test_all_rows_are_tried_and_those_that_fail_are_named() -> None:
    with pytest.raises(BaseExceptionGroup) as failed:
        expect_long_words()
    rows = {note for error in failed.value.exceptions for note in error.__notes__}
    assert rows == {"number, word = (1, 'one')", "number, word = (2, 'two')", "number, word = (3, 'three')"}
