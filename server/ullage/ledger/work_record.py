"""The state of the work, folded over tool calls: files by their net change, checks, problems with what mended them,
and the commits of the project's repository."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.calls import ToolCall, touches_of
from ullage.agents.outcomes import goes_on, judge, was_refused
from ullage.agents.shell import Part, is_test, only_looks, parts_of
from ullage.agents.shell_git import branch_after, commits_in
from ullage.agents.shell_purpose import Purpose, covers, purpose_of, without_options
from ullage.agents.tools import NEW_TEXT_KEYS, OLD_TEXT_KEYS, Action, action_of, text_of
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.model.artifacts import FileAction, Outcome

# Words of a command that compiles, lints or checks types, by what it then says of the code.
_LINTS = re.compile(
    r"\b(?:lint|eslint|ruff check|flake8|pylint|clippy|golangci-lint|rubocop|shellcheck|biome|stylelint)\b"
)
_TYPES = re.compile(r"\b(?:mypy|pyright|basedpyright|typecheck|type-check|types|tsc .*--noEmit|sorbet|psalm|phpstan)\b")
_BUILDS = re.compile(
    r"\b(?:go (?:build|vet|install)|cargo (?:build|check)|tsc|(?:npm|pnpm|yarn|bun)(?: run)? build\S*"
    r"|make(?: all| build)?$|mvn (?:compile|package|install)|gradlew? (?:build|assemble)"
    r"|dotnet build|swift build|zig build|mix compile"
    r"|cmake --build|ninja|webpack|vite build|py_compile|compileall|xcodebuild|bazel build)"
)
# Programs of one language: what passes in one has compiled what the others compile.
_FAMILIES = (
    {"go"}, {"cargo", "rustc"},
    {"npm", "pnpm", "yarn", "bun", "tsc", "vitest", "jest", "vite", "webpack", "node", "mocha"},
    {"mvn", "gradle", "gradlew", "javac"}, {"make", "cmake", "ctest", "ninja", "gcc", "g++", "cc"},
    {"python", "python3", "pytest", "unittest", "py_compile", "tox", "nox"}, {"dotnet"}, {"swift"}, {"zig"}, {"mix"},
)  # fmt: skip
# Programs whose exit code 1 is an answer: nothing found, or a difference.
_ANSWERS = {"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "pgrep", "which", "command", "fd"}
# What a shell or a program prints if it was called wrongly, so that nothing was checked.
_NOT_RUN = re.compile(
    r"\bcd: |command not found|No such file or directory|\[setup failed\]|\[no tests to run\]|no tests ran"
    r"|collected 0 items|unrecognized (?:arguments?|option)|unknown (?:flag|option|command|shorthand)"
    r"|[Uu]sage: |Missing script",
)
# A task of a runner without a selection: it checks the whole project.
_RUNS_ALL = re.compile(
    r"(?:mise run|make|just|task|tox|nox|(?:npm|pnpm|yarn|bun)(?: run)?|\./?[\w./-]*/)(?: ?[\w:.-]+)?"
    r"|(?:go|cargo) \w+(?: \./\.\.\.)?|pytest"
)
# Failures that may be open at once. Older ones are of commands that were given up.
_MOST_OPEN = 100
_DOCUMENTS = (".md", ".txt", ".rst", ".adoc")
_COMMIT_CALL = re.compile(
    r"\bgit\b.{0,200}\b(?:commit|reset|checkout|switch|restore|stash|status|branch|merge|rebase|worktree)\b", re.DOTALL
)
_HOME = re.compile(r"~|\$HOME|\$\{HOME\}|/tmp\b|/var/tmp\b|\$\(mktemp|\$TMPDIR")


class CheckKind(StrEnum):
    """What a command checks."""

    TESTS = "tests"
    BUILD = "build"
    LINT = "lint"
    TYPES = "types"


class _Run(Struct, frozen=True, kw_only=True):
    """A command that ran: what it checks (None if nothing), what it is run for, and how it ended. `is_unsure` says that
    its output shows no end."""

    checks: CheckKind | None
    purpose: Purpose
    index: int
    failed: bool
    detail: str
    was_set_up: bool
    is_unsure: bool
    mended: int = -1
    mended_by: str = ""


class _File:
    """What became of a file. `edits` are the changes that no later one took back, as pairs of the text before and
    after; `was_there` whether the file was there before the conversation touched it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.index = 0
        self.was_there = True
        self.is_there = True
        self.was_touched = False
        self.was_changed = False
        self.edits: list[tuple[str, str]] = []
        self.committed = False

    @property
    def life(self) -> Life:
        if not self.is_there:
            return Life.DELETED if self.was_there else Life.READ
        if not self.was_there:
            return Life.CREATED
        return Life.CHANGED if self.was_changed or self.edits else Life.READ


class WorkFold:
    """The state of the work after the calls that were taken. `cwd` is the project's folder, empty if unknown."""

    def __init__(self, cwd: str = "") -> None:
        self._cwd = cwd.rstrip("/")
        self._files: dict[str, _File] = {}
        # Failures that nothing has mended yet, those that were mended, and the newest success of each check's program.
        self._open: list[_Run] = []
        self._mended: list[_Run] = []
        self._passed: dict[tuple[CheckKind | None, str], _Run] = {}
        self._git: list[ToolCall] = []
        self._elsewhere: list[Entry] = []
        self._trees: set[str] = set()
        # The messages in which each file was last changed, in order of the last changes.
        self._changed: dict[str, int] = {}
        self._reports = False

    def take(self, call: ToolCall) -> list[str]:
        """Applies what a call did. Returns the words that it changed in files: names of files, and the words of the
        texts that it put in or took out."""
        self._reports |= bool(call.failed and call.command)
        touched = [*self._touch(call)]
        if call.command and not was_refused(call.result):
            self._run(call)
            if "git" in call.command:
                self._take_git(call)
        return touched

    def branch(self) -> str:
        """Returns the branch that was last seen checked out, empty if none was."""
        return branch_after(self._git)[0]

    # Files

    def _touch(self, call: ToolCall) -> Iterator[str]:
        for path, action in touches_of(call):
            file = self._file(path)
            file.index = call.index
            if action is FileAction.READ:
                file.was_touched = True
                continue
            name = posixpath.basename(file.path)
            self._changed.pop(file.path, None)
            self._changed[file.path] = call.index
            yield name
            old, new = text_of(call.input, OLD_TEXT_KEYS), text_of(call.input, NEW_TEXT_KEYS)
            self._apply(file, action, old, new, is_edit=action_of(call.name, call.input) is Action.EDIT)
            yield from (old, new) if old else (new,)

    def _apply(self, file: _File, action: FileAction, old: str, new: str, *, is_edit: bool) -> None:
        file.committed = False
        if action is FileAction.DELETED:
            file.is_there = False
        elif action is FileAction.CREATED:
            if not file.was_touched:
                file.was_there = False
            file.is_there, file.was_changed = True, True
        elif is_edit and old and file.edits and file.edits[-1] == (new, old):
            # The edit puts back what an edit before it replaced.
            file.edits.pop()
        elif is_edit and old:
            file.edits.append((old, new))
        else:
            file.was_changed = True
        if action is not FileAction.DELETED:
            file.is_there = True
        file.was_touched = True

    def _file(self, path: str) -> _File:
        whole = self._whole(path)
        file = self._files.get(whole)
        if file is None:
            file = self._files[whole] = _File(whole)
        return file

    def _whole(self, path: str) -> str:
        path = path.removeprefix("file://")
        if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path) or not self._cwd:
            return posixpath.normpath(path) if "/" in path else path
        return posixpath.normpath(f"{self._cwd}/{path}")

    def is_in_project(self, path: str) -> bool:
        """Returns whether a path is in the project's folder or in a work tree of its repository. Without a known
        folder, only temporary folders and the home folder are not."""
        if not path.startswith(("/", "~", "$")):
            return True
        if any(path == tree or path.startswith(f"{tree}/") for tree in self._trees):
            return True
        if self._cwd:
            return path == self._cwd or path.startswith(f"{self._cwd}/")
        return not _HOME.match(path)

    def files(self) -> tuple[Entry, ...]:
        """Returns the files that were touched, in the order of the last touch. A file that is as it was counts as
        read; one that was made and removed again is left out."""
        ordered = sorted(self._files.values(), key=lambda file: file.index)
        return tuple(
            Entry(
                kind=Kind.FILE,
                life=file.life,
                index=self._changed.get(file.path, file.index),
                text=file.path,
                beside="" if self.is_in_project(file.path) else "outside the project",
            )
            for file in ordered
            if file.is_there or file.was_there
        )

    # Commands

    def _run(self, call: ToolCall) -> None:
        purpose = purpose_of(call.command)
        if only_looks(call.command) or _is_answer(purpose, call):
            return
        checks = _checks(call.command, purpose)
        reported = _reported(call, purpose, reports=self._reports)
        outcome, detail = judge(call.result, reported)
        is_unsure = outcome is Outcome.UNKNOWN
        # A check that printed nothing has passed if the agent reports failures, which is known after the first one.
        if is_unsure and (not checks or purpose.masked or goes_on(call.result) or call.result_index < 0):
            return
        failed = outcome is Outcome.FAILED
        self._reports |= failed
        was_set_up = not _NOT_RUN.search(f"{detail}\n{call.result[-600:]}")
        if not failed and checks and not was_set_up:
            # Nothing was tested, so nothing passed.
            return
        run = _Run(
            checks=checks,
            purpose=purpose,
            index=max(call.index, call.result_index),
            failed=failed,
            detail=detail,
            was_set_up=was_set_up,
            is_unsure=is_unsure,
        )
        self._settle(run)

    def _settle(self, run: _Run) -> None:
        """Takes a run into account: a success mends what it covers, and a run of the same replaces an earlier one. It
        costs as much as there are open failures."""
        has_passed = not run.failed and (self._reports or not run.is_unsure)
        still_open: list[_Run] = []
        for before in self._open:
            if has_passed and _mends(run, before):
                self._mended.append(replace(before, mended=run.index, mended_by=_shown(run)))
            elif not (run.failed and _is_again(run, before)):
                still_open.append(before)
        key = run.checks, _program(run)
        if run.failed:
            still_open.append(run)
            passed = self._passed.get(key)
            if passed is not None and _is_again(run, passed):
                del self._passed[key]
        elif run.checks:
            self._passed.pop(key, None)
            self._passed[key] = run
        self._open = still_open[-_MOST_OPEN:]

    def checks(self) -> tuple[Entry, ...]:
        """Returns the newest run of each check that passed, with the files that were changed since."""
        return tuple(
            Entry(
                kind=Kind.CHECK,
                life=Life.PASSED,
                index=run.index,
                text=_shown(run),
                beside=run.detail,
                name=run.checks.value if run.checks else "",
                changed=self._since(run.index),
            )
            for run in self._passed.values()
            if self._reports or not run.is_unsure
        )

    def problems(self) -> tuple[Entry, ...]:
        """Returns the commands that failed, each with its cause and, if it was mended, with what was changed and what
        passed then."""
        return tuple(
            Entry(
                kind=Kind.PROBLEM,
                life=Life.MENDED if run.mended >= 0 else Life.OPEN,
                index=run.index,
                text=f"{_shown(run)}{f': {run.detail}' if run.detail else ''}",
                beside=self._mend(run) if run.mended >= 0 else "",
                name=run.checks.value if run.checks else "",
                changed=self._since(run.index) if run.checks and run.mended < 0 else (),
            )
            for run in sorted([*self._mended, *self._open], key=lambda run: run.index)
            if run.was_set_up and (run.checks is not None or not run.purpose.once)
        )

    def _mend(self, run: _Run) -> str:
        between = [posixpath.basename(path) for path, index in self._changed.items() if run.index <= index < run.mended]
        changed = f"after a change of {', '.join(between[-3:])}, " if between else ""
        return f"{changed}`{run.mended_by}` passed in #{run.mended + 1}"

    def _since(self, index: int) -> tuple[str, ...]:
        return tuple(
            path
            for path, at in self._changed.items()
            if at > index and not path.endswith(_DOCUMENTS) and self.is_in_project(path)
        )

    # Commits

    def _take_git(self, call: ToolCall) -> None:
        if not _COMMIT_CALL.search(call.command[:4_000]) or call.result_index < 0:
            return
        folder, begun = self._folder_of_commit(call.command)
        if begun or (folder and not self.is_in_project(folder)):
            self._elsewhere += [
                Entry(
                    kind=Kind.COMMIT,
                    life=Life.ELSEWHERE,
                    index=one.index,
                    text=one.subject,
                    name=one.hash,
                    beside=folder,
                )
                for one in commits_in([call])
            ]
            return
        self._git.append(call)
        if call.failed:
            return
        if re.search(r"\bgit\b[^\n;&|]{0,100}\bcommit\b", call.command):
            for file in self._files.values():
                file.committed = True
        for part in parts_of(call.command):
            self._restore(part)

    def _folder_of_commit(self, command: str) -> tuple[str, bool]:
        """Returns the folder in which a command line commits, empty for where the agent is, and whether the command
        line began that repository."""
        folder, begun = "", False
        for part in parts_of(command):
            words = part.words
            if words[0] in ("cd", "pushd") and len(words) > 1:
                folder = words[1] if words[1].startswith(("/", "~", "$")) or not folder else f"{folder}/{words[1]}"
            elif words[:2] == ("git", "init"):
                begun = True
            elif words[:3] == ("git", "worktree", "add"):
                self._trees |= {self._whole(word) for word in words[3:] if "/" in word and not word.startswith("-")}
            elif words[:2] == ("git", "-C") and len(words) > 3:
                folder = words[2]
        return folder, begun

    def _restore(self, part: Part) -> None:
        """Undoes the changes of files that a command restores to what is committed."""
        words = part.words
        if words[:2] == ("git", "restore"):
            named = words[2:]
        elif words[:2] == ("git", "checkout") and "--" in words:
            named = words[words.index("--") + 1 :]
        elif words[:2] == ("git", "reset") and "--hard" in words:
            named = (".",)
        else:
            return
        if "--staged" in named and "--worktree" not in named:
            return
        for path in (word for word in named if not word.startswith("-")):
            whole = self._whole(path) if path != "." else ""
            for file in self._files.values():
                named = not whole or file.path == whole or file.path.startswith(f"{whole}/")
                # Files that git does not know stay as they are.
                if named and not file.committed and file.was_there:
                    file.edits, file.was_changed, file.is_there = [], False, True

    def commits(self) -> tuple[Entry, ...]:
        """Returns the commits that were not undone: those of the project with the last marked, and those elsewhere."""
        own = commits_in(self._git)
        entries = [
            Entry(
                kind=Kind.COMMIT,
                life=Life.LAST if place == len(own) - 1 else Life.EARLIER,
                index=one.index,
                text=one.subject,
                name=one.hash,
                changed=self._since(one.index) if place == len(own) - 1 else (),
            )
            for place, one in enumerate(own)
        ]
        return tuple(sorted([*entries, *self._elsewhere], key=lambda entry: entry.index))


def _checks(command: str, purpose: Purpose) -> CheckKind | None:
    if is_test(command):
        return CheckKind.TESTS
    shown = " ".join(purpose.keys)
    for pattern, kind in ((_LINTS, CheckKind.LINT), (_TYPES, CheckKind.TYPES), (_BUILDS, CheckKind.BUILD)):
        if pattern.search(shown):
            return kind
    return None


def _is_answer(purpose: Purpose, call: ToolCall) -> bool:
    """Returns whether a command's failure is an answer: a search that found nothing, a difference."""
    if not call.failed:
        return False
    last = [part for part in parts_of(call.command) if part.joint != "$("]
    if not last:
        return purpose.searched
    words = last[-1].words
    program = posixpath.basename(words[0])
    return (
        purpose.searched or program in _ANSWERS or (program == "git" and ("--exit-code" in words or "--quiet" in words))
    )


def _reported(call: ToolCall, purpose: Purpose, *, reports: bool) -> bool | None:
    """Returns whether a command failed as far as its call reports it, None if that says nothing about the command.
    Where an agent reports failures, a command of which it reports none has passed."""
    if call.failed:
        return True
    if call.failed is None and (not reports or purpose.masked or goes_on(call.result) or call.result_index < 0):
        return None
    return False


def _mends(passed: _Run, failed: _Run) -> bool:
    """Returns whether a command that passed shows that what failed before is mended: it ran the same or more, or it
    compiled what could not be built."""
    for key in failed.purpose.keys:
        if any(_same(other, key) or covers(other, key) for other in passed.purpose.certain):
            return True
    if failed.checks and passed.checks is failed.checks and any(map(_RUNS_ALL.fullmatch, passed.purpose.certain)):
        return True
    if failed.checks is CheckKind.BUILD and passed.checks in (CheckKind.TESTS, CheckKind.BUILD):
        return bool(_families(passed) & _families(failed))
    # Called wrongly: the next run of the program is what was meant.
    return not failed.was_set_up and bool(_programs(passed) & _programs(failed))


def _is_again(run: _Run, before: _Run) -> bool:
    """Returns whether a run is that of an earlier command again, or a check of more."""
    return any(
        _same(new, old) or (run.checks is not None and covers(new, old))
        for new in run.purpose.keys
        for old in before.purpose.keys
    )


def _same(key: str, other: str) -> bool:
    return key == other or (without_options(key) == without_options(other) != "")


def _programs(run: _Run) -> set[str]:
    return {
        " ".join(
            key.split()[: 2 if key.split()[0] in ("go", "cargo", "npm", "gh", "git", "pnpm", "yarn", "make") else 1]
        )
        for key in run.purpose.keys
        if key
    }


def _families(run: _Run) -> set[int]:
    words = {posixpath.basename(word) for key in run.purpose.keys for word in key.split()[:3]}
    return {place for place, family in enumerate(_FAMILIES) if not family.isdisjoint(words)}


def _program(run: _Run) -> str:
    return min(_programs(run), default="")


def _shown(run: _Run) -> str:
    shown = " ".join(run.purpose.shown.split())
    return shown if len(shown) <= 160 else f"{shown[:159]}…"


def changed_words(texts: Sequence[str]) -> set[str]:
    """Returns the words of texts by which code is named: identifiers and names of files, of three characters or
    more."""
    return {word for text in texts for word in re.findall(r"[A-Za-z_][\w.-]{2,80}", text[:20_000])}
