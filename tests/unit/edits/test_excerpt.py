"""Excerpts of long outputs."""

import time

from ullage.edits.excerpt import excerpt, names


def test_names_have_a_digit_a_separator_or_a_capital_inside() -> None:
    text = "Please open src/app.py, call setUp and read_all at hello-world; v1.2.3 fails plainly"
    assert names(text) == {"src/app.py", "setUp", "read_all", "v1.2.3", "hello-world"}


def test_a_long_run_of_letters_costs_no_more_than_its_length() -> None:
    def seconds(text: str) -> float:
        # Processor time: other work on the machine must not decide.
        began = time.process_time()
        names(text)
        excerpt(text, 60_000)
        return time.process_time() - began

    short, long = (min(seconds("x" * size) for _ in range(5)) for size in (100_000, 1_000_000))
    assert long < 40 * short
