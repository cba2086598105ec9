"""Checks with their newest outcome, and problems with what mended them, folded over commands."""

import posixpath
import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.calls import ToolCall
from ullage.agents.outcomes import goes_on, judge, telling, was_refused
from ullage.agents.shell import SUBSTITUTED, is_test, only_looks, parts_of, without_cd
from ullage.agents.shell_purpose import Purpose, covers, purpose_of, without_options
from ullage.ledger.changed_files import FileFold
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.ledger.prose import on_one_line
from ullage.model.expressions import expression
from ullage.model.message import Outcome
from ullage.redaction.clean import clean, redact

# Words of a command that compiles, lints or checks types, by what it then says of the code.
_LINTS = expression(
    r"\b(?:\w*lint(?:er|s|ing)?|ruff check|flake8|clippy|rubocop|shellcheck|biome|pre-commit run|typos|codespell|vale"
    r"|credo|checkstyle|(?:black|prettier|ruff format|cargo fmt) .*--check)\b"
)
_TYPES = expression(
    r"\b(?:mypy|pyright|basedpyright|typecheck|type-check|types|(?:tsc|tsgo) .*--noEmit|dialyzer|sorbet"
    r"|psalm|phpstan)\b"
)
_BUILDS = expression(
    r"\b(?:go (?:build|vet|install)|cargo (?:build|check)|tsc|tsgo|(?:npm|pnpm|yarn|bun)(?: run)? build\S*"
    r"|make(?: all| build)?$|mvn (?:compile|package|install)|gradlew? (?:build|assemble)"
    r"|dotnet build|swift build|zig build|mix compile"
    r"|cmake --build|ninja|webpack|vite build|py_compile|compileall|xcodebuild|bazel build"
    r"|(?:pdf|xe|lua)latex\b|latexmk\b|tectonic\b|typst compile)"
)
# Programs of one language: what passes in one has compiled what the others compile.
_FAMILIES = (
    {"go"}, {"cargo", "rustc"},
    {"npm", "pnpm", "yarn", "bun", "tsc", "tsgo", "vitest", "jest", "vite", "webpack", "node", "mocha"},
    {"mvn", "gradle", "gradlew", "javac"}, {"make", "cmake", "ctest", "ninja", "gcc", "g++", "cc"},
    {"python", "python3", "pytest", "unittest", "py_compile", "tox", "nox"}, {"dotnet"}, {"swift"}, {"zig"}, {"mix"},
)  # fmt: skip
# Programs whose exit code 1 is an answer: nothing found, or a difference.
_ANSWERS = {"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "pgrep", "which", "command", "fd"}
# What a shell or a program prints if it was called wrongly, so that nothing was checked.
_NOT_RUN = expression(
    r"\bcd: |command not found|No such file or directory|\[setup failed\]|\[no tests to run\]|no tests ran"
    r"|collected 0 items|unrecognized (?:arguments?|option)|unknown (?:flag|option|command|shorthand)"
    r"|[Uu]sage: |Missing script|accepts (?:at most|at least|between|exactly|\d+) .{0,20}arg|too many arguments"
    r"|missing required argument",
)
# A task of a runner without a selection: it checks the whole project.
_RUNS_ALL = expression(
    r"(?:mise run|make|just|task|tox|nox|(?:npm|pnpm|yarn|bun)(?: run)?|\./?[\w./-]*/)(?: ?[\w:.-]+)?"
    r"|(?:go|cargo) \w+(?: \./\.\.\.)?|pytest"
)
# What names the first thing that failed, most exact first: a test, a place in a file, an error.
_CAUSES = tuple(
    expression(pattern, re.MULTILINE)
    for pattern in (
        r"^[ \t]*(?:--- FAIL: \S+|FAILED \S+::\S.*|not ok \d.*|[✗✘×●✖] \S.*|\d{1,3}\) test \S.*"
        r"|test \S+ \.\.\. FAILED|Test Case .{1,200}' failed.*|Failed \S+ \[.*|\[  FAILED  \] \S+|\S.* > \S.* FAILED"
        r"|rspec \./\S+.*|(?:FAIL|ERROR): \S.*|\d{1,3}\) \w+(?:::|#)\w+.*)",
        r"^[ \t]*[\w./@-]*\w\.\w{1,5}(?::\d+(?::\d+)?:|\(\d+,\d+\):) (?!in \S+$)\S.*",
        r"^[ \t]*(?:E[ \t]+)?(?:[\w.]*(?:Error|Exception)\b|error(?:\[\w+\])?:|panic:|\*\* \().*",
    )
)
# Characters of a command and of its cause.
_CAUSE = 160
# A place in a file with what is wrong there.
_PLACE = expression(
    r"^[ \t]*[\w./@-]*\w\.\w{1,5}(?::\d+(?::\d+)?:|\(\d+,\d+\):) (?!warning|note|info|in \S+$)\S",
    re.MULTILINE | re.IGNORECASE,
)
# Failures that may be open at once. Older ones are of commands that were given up.
_MOST_OPEN = 100
_ONE_PACKAGE = expression(r"ok\s+\S+\s")
_SHOWS_FAILURE = expression(r"error|fail|panic|undefined|exception|not found|cannot|denied|traceback", re.IGNORECASE)
# Commands of git that stop at a conflict, and those that end them.
_JOINS = expression(r"git (?:merge|rebase|cherry-pick|pull|revert|am|stash)\b")
_CONFLICT = expression(r"conflict|automatic merge failed|could not apply", re.IGNORECASE)
_ENDS_JOINING = expression(
    r"git (?:commit$|(?:merge|rebase|cherry-pick|revert|am) .*--(?:continue|abort|skip|quit)|reset .*--hard)"
)
# How runners print the commands of a script: npm and pnpm, yarn and just, mise; and npm of one that failed.
_SCRIPT_LINE = expression(
    r"^(?:> |\$ |\[[\w:.-]{1,40}\] \$ |npm (?:error|ERR!) command sh -c )(.{1,300})$", re.MULTILINE
)
# The compiler of a language by its other names.
_COMPILERS = {"tsgo": "tsc", "vue-tsc": "tsc"}
# Characters of a failed command's output that are read.
_MOST_READ = 20_000


class CheckKind(StrEnum):
    """What a command checks."""

    TESTS = "tests"
    BUILD = "build"
    LINT = "lint"
    TYPES = "types"


# Checks that read code without running it.
_OF_CODE = (CheckKind.BUILD, CheckKind.LINT, CheckKind.TYPES)


class _Run(Struct, frozen=True, kw_only=True, gc=False):
    """A command that ran: what it checks (None if nothing), what it is run for, and how it ended. `is_unsure` says that
    its output shows no end, `folder` is where its command line went first, empty if nowhere; `left` are those
    of its commands that no later run has shown to be mended. Of a check that passed, `text` is its own command."""

    purpose: Purpose
    index: int
    folder: str
    checks: CheckKind | None = None
    failed: bool = False
    detail: str = ""
    was_set_up: bool = True
    is_unsure: bool = False
    left: tuple[str, ...] = ()
    mended: int = -1
    mended_by: str = ""
    text: str = ""


class CheckFold:
    """The checks and problems after the calls that were taken. `files` are those that were changed meanwhile."""

    def __init__(self, files: FileFold) -> None:
        self._files = files
        # Failures that nothing has mended yet, those that were mended, and the newest success of each check's program.
        self._open: list[_Run] = []
        self._mended: list[_Run] = []
        self._passed: dict[tuple[CheckKind, str], _Run] = {}
        # The commands that a script ran, by its key, as far as its output shows them.
        self._scripts: dict[str, tuple[str, ...]] = {}
        # The failures that a later run no longer shows, although it does not show that it passed.
        self._unseen: set[int] = set()
        # Whether the agent reports failures, which is known after the first one.
        self._reports = False

    def take(self, call: ToolCall) -> None:
        """Applies how a command ended."""
        self._reports |= bool(call.failed)
        if was_refused(call.result) or only_looks(call.command):
            return
        purpose = purpose_of(call.command)
        if _is_answer(call):
            return
        checks = next((kind for command in purpose.keys if (kind := _kind(command))), None)
        hides_end = purpose.masked or goes_on(call.result) or call.result_index < 0
        # Where an agent reports failures, a command without a reported failure has passed.
        reported = call.failed if call.failed is not None or hides_end or not self._reports else False
        outcome, detail = judge(call.result, reported)
        if outcome is Outcome.UNKNOWN and checks in _OF_CODE and _PLACE.search(telling(call.result)):
            # A filter hides the exit code, but a compiler names places only where something is wrong.
            reported = True
            outcome, detail = judge(call.result, reported)
        is_unsure = outcome is Outcome.UNKNOWN
        # A check that printed nothing has passed if the agent reports failures, which is known after the first one.
        if is_unsure and (not checks or hides_end):
            if checks and self._open:
                self._look_again(call, purpose)
            return
        failed = outcome is Outcome.FAILED
        self._reports |= failed
        if not failed and not checks and not self._open:
            # A success that mends nothing.
            return
        # The whole is redacted, because a secret may be known by the text before it on the command line.
        purpose = purpose_of(redact(call.command))
        was_set_up = not _NOT_RUN.search(f"{detail}\n{call.result[-600:]}")
        if not failed and checks and not was_set_up:
            # Nothing was tested, so nothing passed.
            return
        run = _Run(
            checks=checks,
            purpose=purpose,
            index=max(call.index, call.result_index),
            failed=failed,
            detail=_end_of_output(call.result, reported, detail, failed=failed) if failed or detail else "",
            was_set_up=was_set_up,
            is_unsure=is_unsure,
            folder=_folder(call),
            left=tuple(key for key in purpose.keys if _kind(key)) or purpose.keys,
        )
        self._note_script(run, call.result)
        self._settle(run)

    def _look_again(self, call: ToolCall, purpose: Purpose) -> None:
        """Takes note of the failures that a run of the same does not show any more. Its exit code is hidden by a filter
        that would show them, so that nothing says that it passed."""
        if _shows_none(call):
            all_certain = replace(purpose, certain=purpose.keys)
            run = _Run(purpose=all_certain, index=call.result_index, folder=_folder(call), is_unsure=True)
            self._note_script(run, call.result)
            self._unseen |= {before.index for before in self._open if before.checks and not self._left(run, before)}

    def _note_script(self, run: _Run, output: str) -> None:
        """Takes note of the commands that a script prints that it runs, if the command line runs nothing else."""
        if len(run.purpose.keys) == 1 and run.checks is not CheckKind.TESTS:
            ran = [
                _plain_program(key) for line in _SCRIPT_LINE.findall(telling(output)) for key in purpose_of(line).keys
            ]
            if ran:
                self._scripts[run.purpose.keys[0]] = tuple(dict.fromkeys(ran))

    def _settle(self, run: _Run) -> None:
        """Takes a run into account: a success mends what it covers, and a run of the same replaces an earlier one. It
        costs as much as there are open failures."""
        has_passed = not run.failed and (self._reports or not run.is_unsure)
        still_open: list[_Run] = []
        for before in self._open:
            left = self._left(run, before) if has_passed else before.left
            if not left:
                self._mended.append(replace(before, mended=run.index, mended_by=_shown(run)))
            elif not (run.failed and _is_again(run, before)):
                still_open.append(before if left == before.left else replace(before, left=left))
        if run.failed:
            still_open.append(run)
            for command in run.purpose.keys:
                place = _place(command)
                if place in self._passed and _is_again(run, self._passed[place]):
                    del self._passed[place]
        else:
            # A command line may run several checks one after the other, and other commands.
            known = [(place, command) for command in run.purpose.certain if (place := _place(command))]
            is_alone = len(run.purpose.keys) == 1
            for place, command in known:
                self._passed.pop(place, None)
                self._passed[place] = replace(run, text=_shown(run) if is_alone else clean(command))
        self._open = still_open[-_MOST_OPEN:]

    def _left(self, passed: _Run, failed: _Run) -> tuple[str, ...]:
        """Returns the commands of a failure that a command that passed does not show to be mended. Of a chain of checks
        it is not known which one failed, so each must pass; of other chains the first that passes is enough."""
        if passed.folder and failed.folder and not _are_one(passed.folder, failed.folder):
            return failed.left
        # Called wrongly: the next run of the program is what was meant.
        if not failed.was_set_up and _programs(passed.purpose.keys) & _programs(failed.purpose.keys):
            return ()
        left = tuple(key for key in failed.left if not self._shows_mended(passed, failed, key))
        return left if failed.checks or left == failed.left else ()

    def _shows_mended(self, passed: _Run, failed: _Run, key: str) -> bool:
        """Returns whether a command that passed shows that a command which failed is mended: it ran the same or more,
        or it compiled what could not be built, or it ended what a conflict had interrupted."""
        certain, kind = passed.purpose.certain, _kind(key)
        if any(_same(other, key) or covers(other, key) for other in certain):
            return True
        if kind is None:
            is_joining = _JOINS.match(key) and _CONFLICT.search(failed.detail)
            return bool(is_joining) and any(map(_ENDS_JOINING.match, certain))
        if passed.checks is kind and any(map(_RUNS_ALL.fullmatch, certain)):
            return True
        if kind is CheckKind.BUILD and passed.checks in (CheckKind.TESTS, CheckKind.BUILD):
            return bool(_families(passed.purpose.keys) & _families((key,)))
        if kind not in (CheckKind.BUILD, CheckKind.TYPES):
            return False
        # The script of a package runs the compiler on all of it.
        ran = {script for other in certain for script in (_plain_program(other), *self._scripts.get(other, ()))}
        return _plain_program(key.split(maxsplit=1)[0]) in ran

    def checks(self) -> tuple[Entry, ...]:
        """Returns the newest run of each check that passed, with the files that were changed since."""
        return tuple(
            Entry(
                kind=Kind.CHECK,
                life=Life.PASSED,
                index=run.index,
                text=run.text,
                # The line of the last package that was tested says nothing of the others.
                beside="" if _ONE_PACKAGE.match(run.detail) else run.detail,
                name=kind.value,
                changed=self._files.since(run.index, run.text),
            )
            for (kind, _), run in self._passed.items()
            if (self._reports or not run.is_unsure) and not self._is_run_again(run)
        )

    def _is_run_again(self, run: _Run) -> bool:
        """Returns whether a later check of its kind passed that runs all, after a change that makes this one stale."""
        return any(
            other.index > run.index
            and other.checks is run.checks
            and any(map(_RUNS_ALL.fullmatch, other.purpose.certain))
            for other in self._passed.values()
        ) and bool(self._files.since(run.index, _shown(run)))

    def problems(self) -> tuple[Entry, ...]:
        """Returns the commands that failed, each with its cause and, if it was mended, with what was changed and what
        passed then."""
        return tuple(
            Entry(
                kind=Kind.PROBLEM,
                life=Life.MENDED if run.mended >= 0 else Life.OPEN,
                index=run.index,
                text=f"`{_shown(run)}` failed{f': {run.detail}' if run.detail else ''}",
                beside=self._mend(run) if run.mended >= 0 else "",
                name=run.checks.value if run.checks else "",
                changed=self._files.since(run.index, _shown(run)) if run.checks and run.mended < 0 else (),
            )
            for run in sorted([*self._mended, *self._open], key=lambda run: run.index)
            if run.was_set_up and run.index not in self._unseen and (run.checks is not None or not run.purpose.once)
        )

    def _mend(self, run: _Run) -> str:
        # The change that was made last is the likeliest to have mended it.
        between = self._files.changed_between(run.index, run.mended)
        changed = f"after a change of {', '.join(reversed(between[:3]))}, " if between else ""
        passed = "it" if run.mended_by == _shown(run) else f"`{run.mended_by}`"
        return f"{changed}{passed} passed in #{run.mended + 1}"


def _folder(call: ToolCall) -> str:
    return without_cd(call.command)[1].rstrip("/")


@lru_cache(maxsize=2048)
def _kind(command: str) -> CheckKind | None:
    """Returns what a command checks, None if nothing."""
    if is_test(command):
        return CheckKind.TESTS
    for pattern, kind in ((_LINTS, CheckKind.LINT), (_TYPES, CheckKind.TYPES), (_BUILDS, CheckKind.BUILD)):
        if pattern.search(command):
            return kind
    return None


def _place(command: str) -> tuple[CheckKind, str] | None:
    kind = _kind(command)
    return (kind, min(_programs((command,)), default="")) if kind else None


def _end_of_output(output: str, reported: bool | None, detail: str, *, failed: bool) -> str:
    """Returns what a command's output says of its end, without secrets, and of a failed one the first thing in it that
    failed. `detail` is what the output says with secrets."""
    cleaned = clean(output[-_MOST_READ:] if failed else telling(output))
    detail = detail if cleaned == output else judge(cleaned, reported)[1]
    for pattern in _CAUSES if failed else ():
        if found := pattern.search(cleaned):
            cause = " ".join(found[0].split()).removeprefix("E ")[:_CAUSE]
            return detail if cause in detail else cause if detail in cause else f"{detail.rstrip(':')}: {cause}"
    return detail


def _is_answer(call: ToolCall) -> bool:
    """Returns whether a command's failure is an answer: a search that found nothing, a difference."""
    last = [part.words for part in parts_of(call.command) if part.joint != SUBSTITUTED][-1:]
    if not call.failed or not last:
        return False
    program, *words = last[0]
    return posixpath.basename(program) in _ANSWERS or (
        program == "git" and ("--exit-code" in words or "--quiet" in words)
    )


def _are_one(folder: str, other: str) -> bool:
    """Returns whether two folders are the same one, as far as their names say."""
    return f"/{folder}".endswith(f"/{other}") or f"/{other}".endswith(f"/{folder}")


def _plain_program(command: str) -> str:
    """Returns a command without its options and their values. What is left is its program, if it selects nothing."""
    words = command.split()
    plain = [word for before, word in zip(["", *words], words, strict=False) if "-" not in (before[:1], word[:1])]
    return " ".join([_COMPILERS.get(plain[0], plain[0]), *plain[1:]]) if plain else ""


def _shows_none(call: ToolCall) -> bool:
    """Returns whether an output has no sign of a failure although its filter would show one: it is the end of the whole
    output, or a search for failures that found none."""
    if call.failed or call.result_index < 0 or goes_on(call.result):
        return False
    said, filters = call.result.strip(), [part.words for part in parts_of(call.command) if part.joint == "|"]
    if any(words[0] in ("grep", "egrep", "rg") and _SHOWS_FAILURE.search(" ".join(words[1:])) for words in filters):
        return said in ("", "(no output)", "0")
    return bool(filters and said) and filters[-1][0] == "tail" and not _SHOWS_FAILURE.search(said)


def _is_again(run: _Run, before: _Run) -> bool:
    """Returns whether a run is that of an earlier command again, or a check of more."""
    return any(
        _same(new, old) or (run.checks is not None and covers(new, old))
        for new in run.purpose.keys
        for old in before.purpose.keys
    )


def _same(key: str, other: str) -> bool:
    return key == other or (without_options(key) == without_options(other) != "")


def _programs(commands: Iterable[str]) -> set[str]:
    return {
        " ".join(
            key.split()[: 2 if key.split()[0] in ("go", "cargo", "npm", "gh", "git", "pnpm", "yarn", "make") else 1]
        )
        for key in commands
        if key
    }


def _families(keys: Iterable[str]) -> set[int]:
    words = {posixpath.basename(word) for key in keys for word in key.split()[:3]}
    return {place for place, family in enumerate(_FAMILIES) if not family.isdisjoint(words)}


def _shown(run: _Run) -> str:
    return on_one_line(run.purpose.shown, _CAUSE)
