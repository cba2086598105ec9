"""Tests that hold for every row of a long table."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any

import pytest

Test = Callable[..., None]
# What a test raises if it fails, also if `pytest.raises` or a table within the table fails it.
_FAILURES = (Exception, pytest.fail.Exception, BaseExceptionGroup)


def every(names: str, rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Decorates a test that holds for every row of a table; `names` and `rows` are as in `pytest.mark.parametrize`.

    All rows are one test: pytest takes milliseconds to list, begin and trace each test, which is longer than most rows
    of a long table take. All rows are tried, and those that fail are named.
    """
    columns, table = [name.strip() for name in names.split(",")], list(rows)
    assert table

    def decorate(test: Test) -> Test:
        @wraps(test)
        def tried(**others: Any) -> None:
            failed: list[BaseException] = []
            for row in table:
                values = (row,) if len(columns) == 1 else row
                try:
                    test(**dict(zip(columns, values, strict=True)), **others)
                except _FAILURES as error:
                    error.add_note(f"{names} = {row!r}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows", failed)

        known = signature(test)
        rest = [one for one in known.parameters.values() if one.name not in columns]
        # What pytest takes for fixtures.
        vars(tried)["__signature__"] = known.replace(parameters=rest)
        return tried

    return decorate
