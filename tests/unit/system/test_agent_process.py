"""Which line of an agent's standard error says why the agent ended."""

import pytest

from ullage.system.processes import last_words


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["out of memory"], "out of memory"),
        (["Error: no such model", "    at open (index.js:3)".strip(), "Node.js v22.1.0"], "Error: no such model"),
        (["Traceback (most recent call last):", 'File "a.py", line 1, in f', "ValueError: 3"], "ValueError: 3"),
        (["thread 'main' panicked at a.rs:1", "note: run with `RUST_BACKTRACE=1`"], "thread 'main' panicked at a.rs:1"),
        (["Goodbye.", "[session/create] session=1 phase=register"], "Goodbye."),
        (["[session/create] session=1 phase=register"], ""),
        ([], ""),
    ],
)
def test_the_line_with_the_reason_is_quoted_and_no_entry_of_a_log(lines: list[str], why: str) -> None:
    assert last_words(lines) == why
