"""The outcomes of commands, by what they printed."""

import pytest

from ullage.agents.outcomes import judge
from ullage.model.artifacts import Outcome


@pytest.mark.parametrize(
    ("output", "failed", "outcome", "detail"),
    [
        ("==== 3 passed in 0.1s ====", None, Outcome.PASSED, "3 passed in 0.1s"),
        ("==== 1 failed, 3 passed in 0.1s ====", None, Outcome.FAILED, "1 failed, 3 passed in 0.1s"),
        ("Tests: 0 failed, 4 passed, 4 total", None, Outcome.PASSED, "Tests: 0 failed, 4 passed, 4 total"),
        ("<returncode>1</returncode>\nmake: *** Error 1\nfatal: no rule", None, Outcome.FAILED, "fatal: no rule"),
        ("Process exited with code 0", None, Outcome.PASSED, ""),
        ("Traceback (most recent call last)\nValueError: x", None, Outcome.FAILED, "ValueError: x"),
        ("Error: /bin/sh: 3: finish: not found", True, Outcome.FAILED, "Error: /bin/sh: 3: finish: not found"),
        ("E   ValueError: x\n1 frame", True, Outcome.FAILED, "ValueError: x"),
        ("a.ts(2,4): error TS1: no x\nWaiting ...", True, Outcome.FAILED, "a.ts(2,4): error TS1: no x"),
        ("src/a.c:3:1: fatal error: no b.h\nstopped.", True, Outcome.FAILED, "src/a.c:3:1: fatal error: no b.h"),
        (
            "error: would be overwritten by:\n\n\ta.py\nStop.",
            True,
            Outcome.FAILED,
            "error: would be overwritten by: a.py",
        ),
        ("** (EXIT) raised:\n  ** (BadMapError) got:\n  []", True, Outcome.FAILED, "** (BadMapError) got: []"),
        ("error: EXIT:\n  a map, got:\n  []\n  more", True, Outcome.FAILED, "error: EXIT: a map, got: []"),
        ("Checks failed:", True, Outcome.FAILED, "Checks failed:"),
        (
            "The last command <command>make x</command> timed out and has been killed.\nPlease try another command.",
            None,
            Outcome.FAILED,
            "The last command <command>make x</command> timed out and has been killed.",
        ),
        ("some text", None, Outcome.UNKNOWN, ""),
        ("some text", True, Outcome.FAILED, "some text"),
        ("some text", False, Outcome.PASSED, ""),
        ("", None, Outcome.UNKNOWN, ""),
    ],
)
def test_the_outcome_and_the_line_that_shows_it(
    output: str, failed: bool | None, outcome: Outcome, detail: str
) -> None:
    assert judge(output, failed) == (outcome, detail)


def test_escaped_line_breaks_are_no_part_of_an_error_line() -> None:
    output = "pre-commit\nfast checks\nError: the hook said\\n\\n[LINT] 3 warnings\\nSee the log\\n"
    assert judge(output, failed=True) == (Outcome.FAILED, "Error: the hook said [LINT] 3 warnings See the log")
