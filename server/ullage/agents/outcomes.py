"""Reads from a command's output whether the command passed or failed."""

import re
from itertools import islice

from ullage.model.expressions import expression
from ullage.model.message import Outcome

# Characters. Test runners report at the end; wrappers print an exit code at the beginning.
_HEAD, _TAIL = 1_500, 5_000
# Lines after one that ends with a colon, each of which may end with one.
_MOST_FOLLOWING = 2
# Line breaks that a program printed as its text has them, before what begins a line.
_BREAKS = expression(r"(?:\\n)+(?=[^\w.]|[A-Z]|$)")
_EXIT_CODE = expression(
    r"<returncode>\s*(-?\d+)|\bexit(?:ed)?[ _](?:with )?(?:code|status)[\"']?[:= ]{1,3}(-?\d+)"
    r"|return ?code[:= ]{1,3}(-?\d+)",
    re.IGNORECASE,
)
# Words in lower case, one of which every such line has. To search for them costs a tenth of the pattern.
_ENDS = ("exit", "returncode", "return code")
_SUMMARIES = expression(
    # One `^` for all, because it is tried at every character.
    r"^(?:=+ ?((?:\d+ \w+, )*\d+ (?:passed|failed|errors?|skipped|xfailed|warnings?)[^=\n]*?) ?=+$"  # pytest
    r"|(Tests?:\s.*\d total.*)$"  # jest
    r"|[^\S\n]*(test result: (?:ok|FAILED)\..*)$"  # cargo
    r"|((?:ok|FAIL)\s+\S+\s+(?:[\d.(]|\[build failed).*)$"  # go
    r"|[^\S\n]*(\d+ (?:tests?|doctests?|examples?).{0,40}\d+ failures?.*)$"  # exunit, rspec
    r"|[^\S\n]*(\d+ (?:passing|failing).*)$"  # mocha
    r"|((?:FAILED \(|OK(?: \(|$)).*)$"  # unittest
    r"|(\d+ (?:passed|failed|errors?)(?:, \d+ \w+)* in [\d.]+s.*)$"  # pytest -q
    r"|[^\S\n]*(Tests?  +\d.*\(\d+\).*)$"  # vitest
    r"|[^\S\n]*(✖ \d+ problems? .*)$"  # eslint
    r"|(Found \d+ errors?\b.*|Success: no issues found.*|All checks passed!.*)$"  # mypy, ruff, tsc
    r"|[^\S\n]*(\d+ errors?, \d+ warnings?.*)$"  # pyright
    r"|(BUILD (?:SUCCESSFUL|FAILED)\b.*)$"  # gradle
    r"|[^\S\n]*(\d+ issues[.:]|1 issue:|1 issues:)[^\S\n]*$"  # golangci-lint
    r"|[^\S\n]*(\d+ mods?/funs?, found .*)$"  # credo
    r"|[^\S\n]*(\d+ files? inspected, .*)$"  # rubocop
    r"|(?:\[INFO\] )?(BUILD SUCCESS|BUILD FAILURE)$"  # maven
    r"|(Build succeeded\.|Build FAILED\.)$"  # dotnet
    r"|[^\S\n]*(Finished `?\w+`? (?:profile )?\[.*)$"  # cargo build
    r"|(All matched files use Prettier code style!|\[OK\] No errors|No errors found!)$"  # prettier, phpstan, psalm
    r"|(Output written on \S+\.pdf \(\d+ pages?.*)$)",  # latex
    re.MULTILINE,
)
_NO_FAILURE = expression(r"\b0 (?:failed|failures?|failing|errors?)\b")
_FAILURE = expression(
    r"\bFAIL(?:ED|URE)?\b|\b[1-9]\d* (?:failed|failures?|failing|errors?|offenses?)\b|^[1-9]\d* issues?\b"
    r"|, found [1-9]\d* "
)
_NAMES_FAILURE = expression(
    r"^(?!Exit code|.{0,3}<)"
    r"(.*\b(?:[Ff]ail(?:ed|ure|s)?|FAILED|[Ii]nvalid|[Dd]enied|[Uu]ndefined|not found|ERROR)\b.*)$",
    re.MULTILINE,
)
# Lines that are about the command and not from it.
_FRAME = expression(r"\s*(?:<|Exit code \d+\s*$|Error\s*$|Command exited with code)")
# Lines with which a command ends only if it failed. They show it where a filter hides the exit code.
_BROKE = expression(
    r"^(?:Traceback \(most recent call last\)|error: could not compile |make(?:\[\d+\])?: \*\*\* "
    r"|npm (?:ERR!|error) code |The last command .{1,200} timed out\b"
    r"|\*\* \((?:\w+\.)*(?:CompileError|SyntaxError|TokenMissingError|Mix)\)|.{1,200}: error TS\d+: )",
    re.MULTILINE,
)
_ERROR_LINE = expression(
    # pytest marks its lines with an `E`.
    r"^(?!Error: \(none\))[ >|]{0,6}(?:E {1,12})?((?:[\w.]*(?:Error|Exception|Interrupt)\b(?::| \().*)"
    r"|(?:(?:fatal|error|ERROR|panic|panicked)\b.*)"
    r"|(?:[^\s:(]{1,200}(?:\(\d+,\d+\)|:\d+(?::\d+)?): (?:fatal )?error\b.*)"
    r"|(?:The last command .* timed out\b.*)|(?:\*\* \(.*\).*)"
    r"|(?:.*(?:[Nn]o such file or directory|command not found|Permission denied|cannot find|[Cc]ould not|SyntaxError)"
    r".*))$",
    re.MULTILINE,
)
# What agents return for a command that the user or a rule did not let run.
_REFUSED = expression(
    # Cline's is JSON, and Hermes Agent's has an exit code.
    r"\s*(?:\{\"error\":\"|Exit code -1\nBLOCKED: )?"
    r"(?:The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user|<tool_use_error>"
    r"|Permission (?:to use \w+|for this tool use was denied)|(?:The )?User (?:rejected|declined|denied)"
    r"|Tool execution (?:was )?(?:rejected|cancel)|Th(?:e|is) tool call (?:is|was) rejected by the user"
    r"|Plan (?:rejected|not approved)\.|Tool \"[^\"\n]{1,200}\" was not run because the user rejected"
    r"|(?:Wall time: [\d.]+ seconds\s+)?(?:rejected|aborted|cancelled) by (?:the )?user|\[Operation Cancelled\]"
    r"|Command (?:blocked|aborted)|Hook .{0,60}denied)",
    re.IGNORECASE,
)
# What agents return for a call that the user refused, or let run, with words. It begins the result: what comes later
# may be of a file or a page that imitates it. Claude Code, Kimi Code and opencode mark a refused call as failed.
_REFUSING = (
    expression(
        r"\s*(?:The user doesn't want to (?:proceed|take this action)|Permission for this tool use was denied)\b"
        r".{0,600}?\b[Tt]he user said:"
        r"\s*(\S.*?)(?:\n\nNote: .*)?$",
        re.DOTALL,
    ),
    expression(
        r"\s*The (?:tool call is rejected by the user|user rejected)\b[^\n]{0,200}?\bfeedback:\s*(\S.*)", re.DOTALL
    ),
    expression(
        r"\s*Tool \"[^\"\n]{1,200}\" was not run because the user rejected the approval request\. Reason:\s*(\S.*)",
        re.DOTALL,
    ),
)
# Gemini CLI, Copilot CLI and Kimi Code, for a plan, of which Kimi Code lets the user choose one; Cline and Roo Code.
_SAYING = (
    expression(r"\s*User rejected the plan\. Feedback:\s+(\S.*)", re.DOTALL),
    expression(r"\s*Exited plan mode\. Selected approach: ([^\n]+)"),
    expression(
        r"\s*Plan (?:rejected|not approved)\. User feedback:\s+(\S.*?)"
        r"(?:\n\nThe plan is stored at: [^\n]*\n[^\n]*|\n\nPlease update the plan based on this feedback[^\n]*)?$",
        re.DOTALL,
    ),
    expression(
        r"\s*The user (?:denied|approved) this operation and provided the following (?:feedback|context):\n<feedback>\n"
        r"(.*)\n</feedback>",
        re.DOTALL,
    ),
    # To a command that goes on. Its output, which comes before, may imitate the frame.
    expression(
        r"\s*Command is still running in .*\nThe user provided the following feedback:\n<feedback>\n(.*)\n</feedback>$",
        re.DOTALL,
    ),
)
# What agents return for a command that still runs.
_GOES_ON = expression(
    r"\s*(?:Background process started|Command (?:running|was (?:manually )?(?:backgrounded|moved)).{0,40}background"
    r"|.{0,200}?(?:Process|Command) (?:is )?(?:still )?running (?:with|in) "
    r"(?:session|background|(?:the user's )?terminal))",
    re.IGNORECASE | re.DOTALL,
)


def judge(output: str, failed: bool | None = None) -> tuple[Outcome, str]:
    """Returns the outcome of a command and the most informative line of its output, which is empty if there is none.

    The line is the test runner's summary, or for a failure the error. `failed` is what the tool reported, None if it
    reported nothing.
    """
    looked_at = telling(output)
    # Some agents return output as JSON, or with its line breaks escaped.
    if looked_at.count("\\n") > 2 * looked_at.count("\n"):
        looked_at = looked_at.replace("\\n", "\n")
    summary = _last_summary(looked_at)
    outcome = _outcome(looked_at, summary, failed)
    if summary and not (outcome is Outcome.FAILED and not _FAILURE.search(summary)):
        return outcome, summary
    if outcome is Outcome.FAILED:
        return outcome, _error_line(looked_at)
    return outcome, ""


def telling(output: str) -> str:
    """Returns the part of an output that `judge` reads: its first 1,500 and last 5,000 characters, or all if it is
    shorter."""
    return output if len(output) <= _HEAD + _TAIL else f"{output[:_HEAD]}\n{output[-_TAIL:]}"


def was_refused(output: str) -> bool:
    """Returns whether a command was not run, because the user or a rule did not let it."""
    return _REFUSED.match(output[:400]) is not None or output[-60:].rstrip().endswith("Command aborted")


def said_in_result(output: str, *, failed: bool) -> str:
    """Returns what the user said in refusing a call, or in letting it run, empty if that is no such result. `failed`
    says whether the agent marked the call as failed."""
    found = (saying.match(output.rstrip()) for saying in (*(_REFUSING if failed else ()), *_SAYING))
    return next((said[1] for said in found if said), "")


def goes_on(output: str) -> bool:
    """Returns whether a command still ran in the background when its call returned."""
    return _GOES_ON.match(output[:400]) is not None


def _outcome(output: str, summary: str, failed: bool | None) -> Outcome:
    low = output.lower()
    code = _EXIT_CODE.search(output) if any(word in low for word in _ENDS) else None
    if failed or (code and next(group for group in code.groups() if group) != "0"):
        return Outcome.FAILED
    if summary:
        return Outcome.FAILED if _FAILURE.search(_NO_FAILURE.sub("", summary)) else Outcome.PASSED
    if _BROKE.search(output):
        return Outcome.FAILED
    return Outcome.PASSED if code or failed is False else Outcome.UNKNOWN


def _last_summary(output: str) -> str:
    found = [*_SUMMARIES.finditer(output)]
    return next(group for group in found[-1].groups() if group).strip() if found else ""


def _error_line(output: str) -> str:
    """Returns the last line that names an error, with the lines after it while it ends with a colon; or else the last
    line that is neither empty nor a tag nor an exit code."""
    found = [*_ERROR_LINE.finditer(output)] or [*_NAMES_FAILURE.finditer(output)]
    if not found:
        return next((line for line in reversed(output.splitlines()) if _says(line)), "").strip()
    told, following = _BREAKS.sub(" ", found[-1][1]).strip(), filter(_says, output[found[-1].end() :].splitlines())
    for line in islice(following, _MOST_FOLLOWING):
        if not told.endswith(":"):
            break
        told = f"{told} {line.strip()}"
    return told


def _says(line: str) -> bool:
    return bool(line.strip()) and not _FRAME.match(line)
