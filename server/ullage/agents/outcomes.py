"""Reads from a command's output whether the command passed or failed."""

import re

from ullage.model.artifacts import Outcome

# Characters. Test runners report at the end; wrappers print an exit code at the beginning.
_HEAD, _TAIL = 1_500, 5_000
_EXIT_CODE = re.compile(
    r"<returncode>\s*(-?\d+)|\bexit(?:ed)?[ _](?:with )?(?:code|status)[\"']?[:= ]{1,3}(-?\d+)"
    r"|return ?code[:= ]{1,3}(-?\d+)",
    re.IGNORECASE,
)
_SUMMARIES = re.compile(
    r"^=+ ?((?:\d+ \w+, )*\d+ (?:passed|failed|errors?|skipped|xfailed|warnings?)[^=\n]*?) ?=+$"  # pytest
    r"|^(Tests?:\s+.*\d+ total.*)$"  # jest
    r"|^\s*(test result: (?:ok|FAILED)\..*)$"  # cargo
    r"|^((?:ok|FAIL)\s+\S+\s+[\d.(].*)$"  # go
    r"|^\s*(\d+ (?:tests?|doctests?|examples?).{0,40}\d+ failures?.*)$"  # exunit, rspec
    r"|^\s*(\d+ (?:passing|failing).*)$"  # mocha
    r"|^((?:FAILED \(|OK(?: \(|$)).*)$"  # unittest
    r"|^(\d+ (?:passed|failed)(?:, \d+ \w+)* in [\d.]+s.*)$",  # pytest -q
    re.MULTILINE,
)
_NO_FAILURE = re.compile(r"\b0 (?:failed|failures?|failing|errors?)\b")
_FAILURE = re.compile(r"\bFAIL(?:ED)?\b|\b[1-9]\d* (?:failed|failures?|failing|errors?)\b")
_ERROR_LINE = re.compile(
    r"^[ >|E]{0,6}((?:[\w.]*(?:Error|Exception|Interrupt)\b(?::| \().*)|(?:(?:fatal|error|ERROR|panic|panicked)\b.*)"
    r"|(?:\*\* \(.*\).*)|(?:.*(?:[Nn]o such file or directory|command not found|Permission denied|cannot find|"
    r"[Cc]ould not|SyntaxError).*))$",
    re.MULTILINE,
)
_TRACEBACK = "Traceback (most recent call last)"


def judge(output: str, failed: bool | None = None) -> tuple[Outcome, str]:
    """Returns the outcome of a command and the most informative line of its output, or "" if there is none.

    The line is the test runner's summary, or for a failure the error. `failed` is the tool's own report, None if it
    made none.
    """
    looked_at = telling(output)
    summary = _last_summary(looked_at)
    outcome = _outcome(looked_at, summary, failed)
    if summary and not (outcome is Outcome.FAILED and not _FAILURE.search(summary)):
        return outcome, summary
    if outcome is Outcome.FAILED:
        return outcome, _error_line(looked_at)
    return outcome, ""


def telling(output: str) -> str:
    """Returns the beginning and the end of an output: the part that `judge` reads."""
    return output if len(output) <= _HEAD + _TAIL else f"{output[:_HEAD]}\n{output[-_TAIL:]}"


def _outcome(output: str, summary: str, failed: bool | None) -> Outcome:
    code = _EXIT_CODE.search(output)
    if failed or (code and next(group for group in code.groups() if group) != "0"):
        return Outcome.FAILED
    if summary:
        return Outcome.FAILED if _FAILURE.search(_NO_FAILURE.sub("", summary)) else Outcome.PASSED
    if _TRACEBACK in output:
        return Outcome.FAILED
    return Outcome.PASSED if code or failed is False else Outcome.UNKNOWN


def _last_summary(output: str) -> str:
    last = ""
    for match in _SUMMARIES.finditer(output):
        last = next(group for group in match.groups() if group)
    return last.strip()


def _error_line(output: str) -> str:
    """Returns the last line that names an error, or else the last line that isn't empty or a tag."""
    last = ""
    for match in _ERROR_LINE.finditer(output):
        last = match[1]
    if not last:
        last = next((line for line in reversed(output.splitlines()) if line.strip() and line[0] != "<"), "")
    return last.strip()
