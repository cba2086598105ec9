"""The outcomes of commands, by what they printed."""

import pytest

from ullage.agents.outcomes import judge
from ullage.model.message import Outcome


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
        ("[lint] golangci-lint run\n0 issues.", None, Outcome.PASSED, "0 issues."),
        ("a.go:3:1: x (errcheck)\n2 issues:\n* errcheck: 2", None, Outcome.FAILED, "2 issues:"),
        ("12 mods/funs, found 1 warning.", None, Outcome.FAILED, "12 mods/funs, found 1 warning."),
        ("12 mods/funs, found no issues.", None, Outcome.PASSED, "12 mods/funs, found no issues."),
        ("9 files inspected, no offenses detected", None, Outcome.PASSED, "9 files inspected, no offenses detected"),
        ("9 files inspected, 3 offenses detected", None, Outcome.FAILED, "9 files inspected, 3 offenses detected"),
        ("[INFO] BUILD SUCCESS", None, Outcome.PASSED, "BUILD SUCCESS"),
        ("[INFO] BUILD FAILURE", None, Outcome.FAILED, "BUILD FAILURE"),
        ("Build succeeded.\n    0 Warning(s)", None, Outcome.PASSED, "Build succeeded."),
        ("There are 3 issues.", None, Outcome.UNKNOWN, ""),
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


def test_the_line_in_which_an_agent_says_that_there_was_no_error_is_no_error() -> None:
    output = "Command: pytest\nOutput: FAILED tests/test_a.py::test_x\nError: (none)\nExit Code: 1"
    assert judge(output)[1] == "Output: FAILED tests/test_a.py::test_x"
