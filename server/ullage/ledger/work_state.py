"""The state of the work, folded over tool calls: files by their net change, checks, problems with what mended them,
and the commits of the project's repository."""

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.calls import ToolCall, touches_of
from ullage.agents.git import Commit, Step, branch_shown, commits_after, steps_of
from ullage.agents.outcomes import goes_on, judge, telling, was_refused
from ullage.agents.shell import SUBSTITUTED, is_test, only_looks, parts_of, without_cd
from ullage.agents.shell_purpose import Purpose, covers, purpose_of, without_options
from ullage.agents.tools import NEW_TEXT_KEYS, OLD_TEXT_KEYS, Action, action_of, text_of
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.ledger.prose import on_one_line
from ullage.model.message import FileAction, Outcome
from ullage.redaction.clean import clean, redact

# Words of a command that compiles, lints or checks types, by what it then says of the code.
_LINTS = re.compile(
    r"\b(?:\w*lint(?:er|s|ing)?|ruff check|flake8|clippy|rubocop|shellcheck|biome|pre-commit run|typos|codespell|vale"
    r"|credo|checkstyle|(?:black|prettier|ruff format|cargo fmt) .*--check)\b"
)
_TYPES = re.compile(
    r"\b(?:mypy|pyright|basedpyright|typecheck|type-check|types|(?:tsc|tsgo) .*--noEmit|dialyzer|sorbet"
    r"|psalm|phpstan)\b"
)
_BUILDS = re.compile(
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
_NOT_RUN = re.compile(
    r"\bcd: |command not found|No such file or directory|\[setup failed\]|\[no tests to run\]|no tests ran"
    r"|collected 0 items|unrecognized (?:arguments?|option)|unknown (?:flag|option|command|shorthand)"
    r"|[Uu]sage: |Missing script|accepts (?:at most|at least|between|exactly|\d+) .{0,20}arg|too many arguments"
    r"|missing required argument",
)
# A task of a runner without a selection: it checks the whole project.
_RUNS_ALL = re.compile(
    r"(?:mise run|make|just|task|tox|nox|(?:npm|pnpm|yarn|bun)(?: run)?|\./?[\w./-]*/)(?: ?[\w:.-]+)?"
    r"|(?:go|cargo) \w+(?: \./\.\.\.)?|pytest"
)
# What names the first thing that failed, most exact first: a test, a place in a file, an error.
_CAUSES = tuple(
    re.compile(pattern, re.MULTILINE)
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
_PLACE = re.compile(
    r"^[ \t]*[\w./@-]*\w\.\w{1,5}(?::\d+(?::\d+)?:|\(\d+,\d+\):) (?!warning|note|info|in \S+$)\S",
    re.MULTILINE | re.IGNORECASE,
)
# Failures that may be open at once. Older ones are of commands that were given up.
_MOST_OPEN = 100
# Names of code that a page has of a file's changes, of each kind, and the characters of a change that are read for
# them.
_MOST_NAMES = 5
_MOST_READ = 20_000
# Names that a text declares, in the words of the most used languages. These begin a line, so that a comment about "the
# function called twice" declares nothing.
_DECLARED = re.compile(
    r"(?:^|[;{}])[ \t]*[\"'`]{0,3}"
    r"(?:(?:export|default|declare|async|pub(?:\([^)\n]{0,40}\))?|public|private|protected|internal|static|final"
    r"|abstract|sealed|partial|open|override|virtual|inline|unsafe|extern|readonly|data)[ \t]+){0,4}"
    r"(?:def|func|fn|fun|function\*?|(?:enum )?class|struct|enum|trait|interface|type|protocol|module|defmodule|defp"
    r"|const|let|var|val|static|impl|CREATE TABLE(?: IF NOT EXISTS)?)[ \t]+(?:\([^)\n]{0,80}\)[ \t]*)?"
    r"([A-Za-z_][\w.]{2,60})",
    re.MULTILINE,
)
# Names that only code has: with a capital or an underscore inside. After a backslash stands an escape: `\nThird`.
_CODE_NAME = re.compile(r"(?<!\\)\b(?=\w*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_[A-Za-z0-9]))[A-Za-z]\w{2,60}\b")
_ONE_PACKAGE = re.compile(r"ok\s+\S+\s")
# Texts and media, which a check reads only if it is one of texts. Lists of requirements and of targets are no texts.
_TEXTS = re.compile(
    r"^(?!requirements|constraints|CMakeLists).*\.(?:diff|patch|mdx?|markdown|txt|rst|adoc|org|log|pdf|docx?"
    r"|png|jpe?g|gif|svg|webp|ico|bmp|mp[34]|wav|ogg|webm|mov|ttf|otf|woff2?)$"
    r"|^(?:LICEN[CS]E|NOTICE|AUTHORS|CODEOWNERS|README|CHANGELOG|CONTRIBUTING)$",
    re.IGNORECASE,
)
_OF_TEXTS = re.compile(
    r"\b(?:\w*md|markdown\w*|docs?|mdbook|sphinx|vale|\w*spell|typos|prettier|links?|pre-commit)\b|\.md\b"
)
# The name of a configuration that begins with a dot: `.eslintrc.json`, `.golangci.yml`, `.env`. What else begins with
# one only git, editors, hosts and agents read: `.gitignore`, `.github/`, `.vscode/`.
_CONFIGURES = re.compile(r"\.(?!git|editorconfig)[\w-]*(?:rc\b|env\b|\.(?:ya?ml|toml|json|ini|cfg|[cm]?js)$)")
_SHOWS_FAILURE = re.compile(r"error|fail|panic|undefined|exception|not found|cannot|denied|traceback", re.IGNORECASE)
# Commands of git that stop at a conflict, and those that end them.
_JOINS = re.compile(r"git (?:merge|rebase|cherry-pick|pull|revert|am|stash)\b")
_CONFLICT = re.compile(r"conflict|automatic merge failed|could not apply", re.IGNORECASE)
_ENDS_JOINING = re.compile(
    r"git (?:commit$|(?:merge|rebase|cherry-pick|revert|am) .*--(?:continue|abort|skip|quit)|reset .*--hard)"
)
# How runners print the commands of a script: npm and pnpm, yarn and just, mise; and npm of one that failed.
_SCRIPT_LINE = re.compile(
    r"^(?:> |\$ |\[[\w:.-]{1,40}\] \$ |npm (?:error|ERR!) command sh -c )(.{1,300})$", re.MULTILINE
)
# The compiler of a language by its other names.
_COMPILERS = {"tsgo": "tsc", "vue-tsc": "tsc"}
_REJECTED = re.compile(r"\brejected\b|^(?:error|fatal):", re.MULTILINE)
_DRIVE, _WORD = re.compile(r"[A-Za-z]:"), re.compile(r"[A-Za-z_][\w.-]{2,80}")
_HOME = re.compile(r"~|\$HOME|\$\{HOME\}|/tmp\b|/var/tmp\b|\$\(mktemp|\$TMPDIR")


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
        # The names of code that its changes declare, and those that they use: True if they came, False if they went.
        self.declared: dict[str, bool] = {}
        self.used: dict[str, bool] = {}

    def note(self, before: str, after: str) -> None:
        """Takes note of the names in a text that a change replaced, and in the text that it put there."""
        for pattern, known in ((_DECLARED, self.declared), (_CODE_NAME, self.used)):
            was, now = dict.fromkeys(pattern.findall(before)), dict.fromkeys(pattern.findall(after))
            came = [(name, True) for name in now if name not in was]
            for name, has_come in (*came, *((name, False) for name in was if name not in now)):
                if known.get(name, has_come) is has_come:
                    known[name] = has_come
                else:
                    # What was moved within the file is as it was.
                    del known[name]

    @property
    def done(self) -> str:
        """What its changes did, as far as names say."""
        used = {name: came for name, came in self.used.items() if self.declared.get(name) is not came}
        told = (("adds", self.declared, True), ("removes", self.declared, False))
        told += (("uses", used, True), ("takes out", used, False))
        named = [(verb, [name for name, came in names.items() if came is wanted]) for verb, names, wanted in told]
        return "; ".join(
            f"{verb} {', '.join(f'`{name}`' for name in names[-_MOST_NAMES:])}" for verb, names in named if names
        )

    @property
    def is_gone(self) -> bool:
        """Whether the conversation made it and removed it again."""
        return not (self.is_there or self.was_there)

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
        self._passed: dict[tuple[CheckKind, str], _Run] = {}
        self._commits: list[Commit] = []
        # The branch that was last seen checked out, and where.
        self._branch, self._branch_seen = "", 0
        # The message in which commits were last pushed.
        self._pushed = -1
        # The commands that a script ran, by its key, as far as its output shows them.
        self._scripts: dict[str, tuple[str, ...]] = {}
        # The failures that a later run no longer shows, although it does not show that it passed.
        self._unseen: set[int] = set()
        self._elsewhere: list[Entry] = []
        # The changes that `git stash` put away.
        self._stashed: list[tuple[_File, list[tuple[str, str]], bool]] = []
        self._trees: set[str] = set()
        # The messages in which each file was last changed, in order of the last changes; and all changes, in order.
        self._changed: dict[str, int] = {}
        self._changes: list[tuple[int, str]] = []
        self._reports = False

    def take(self, call: ToolCall) -> list[str]:
        """Applies what a call did. Returns the words that it changed in files: names of files, and the words of the
        texts that it put in or took out."""
        self._reports |= bool(call.failed and call.command)
        touched = [*self._touch(call)]
        if call.command and not was_refused(call.result):
            self._run(call)
            if "git" in call.command or "gh pr" in call.command:
                self._take_git(call)
        return touched

    def branch(self) -> str:
        """Returns the branch that was last seen checked out, empty if none was."""
        return self._branch

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
            self._changes.append((call.index, name))
            yield name
            old, new = text_of(call.input, OLD_TEXT_KEYS), text_of(call.input, NEW_TEXT_KEYS)
            self._apply(file, action, old, new, is_edit=action_of(call.name, call.input) is Action.EDIT)
            if old or new:
                file.note(redact(old[:_MOST_READ]), redact(new[:_MOST_READ]))
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
        if path.startswith(("/", "~")) or _DRIVE.match(path) or not self._cwd:
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
                beside=file.done,
                is_outside=not self.is_in_project(file.path),
            )
            for file in ordered
            if not file.is_gone
        )

    # Commands

    def _run(self, call: ToolCall) -> None:
        if only_looks(call.command):
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
                changed=self._since(run.index, run.text),
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
        ) and bool(self._since(run.index, _shown(run)))

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
                changed=self._since(run.index, _shown(run)) if run.checks and run.mended < 0 else (),
            )
            for run in sorted([*self._mended, *self._open], key=lambda run: run.index)
            if run.was_set_up and run.index not in self._unseen and (run.checks is not None or not run.purpose.once)
        )

    def _mend(self, run: _Run) -> str:
        begin, end = (bisect_left(self._changes, (at, "")) for at in (run.index, run.mended))
        # The last change of each, because the one that was made last is the likeliest to have mended it.
        names = (name for _, name in reversed(self._changes[begin:end]) if not _TEXTS.match(name))
        between = [*dict.fromkeys(names)]
        changed = f"after a change of {', '.join(reversed(between[:3]))}, " if between else ""
        passed = "it" if run.mended_by == _shown(run) else f"`{run.mended_by}`"
        return f"{changed}{passed} passed in #{run.mended + 1}"

    def _since(self, index: int, check: str = "") -> tuple[str, ...]:
        """Returns the project's files that were changed after a message; for a check, those that it can read."""
        return tuple(
            path
            for path, at in self._changed.items()
            if at > index
            and self.is_in_project(path)
            and not self._files[path].is_gone
            and (not check or _reads(check, self._inside(path)))
        )

    def _inside(self, path: str) -> str:
        return path.removeprefix(f"{self._cwd}/") if self._cwd else path

    # Commits

    def _take_git(self, call: ToolCall) -> None:
        steps = steps_of(call.command)
        if not steps or call.result_index < 0:
            return
        added = [step.words[1:] for step in steps if step.verb == "worktree" and step.words[:1] == ("add",)]
        self._trees |= {self._whole(word) for words in added for word in words if "/" in word and word[0] != "-"}
        folder, verbs = steps[-1].folder, {step.verb for step in steps}
        if "init" in verbs or (folder and not self.is_in_project(folder)):
            self._elsewhere += [_entry(one, Life.ELSEWHERE, beside=folder) for one in commits_after([], call)]
            return
        self._commits = commits_after(self._commits, call)
        if branch := branch_shown(call):
            self._branch, self._branch_seen = branch, call.index
        if "push" in verbs and not call.failed and not _REJECTED.search(call.result):
            self._pushed = call.index
        for step in () if call.failed else steps:
            self._restore(step)

    def _restore(self, step: Step) -> None:
        """Takes note of what is committed, and undoes the changes of files that are restored to what was."""
        words = step.words
        match step.verb:
            case "commit":
                for file in self._files.values():
                    file.committed = True
                return
            case "stash":
                self._stash(words)
                return
            case "restore" if "--staged" not in words or "--worktree" in words:
                named = words
            case "checkout" if "--" in words:
                named = words[words.index("--") + 1 :]
            case "reset" if "--hard" in words:
                named = (".",)
            case _:
                return
        for path in (word for word in named if not word.startswith("-")):
            whole = self._whole(path) if path != "." else ""
            for file in self._files.values():
                is_named = not whole or file.path == whole or file.path.startswith(f"{whole}/")
                # Files that git does not know stay as they are.
                if is_named and not file.committed and file.was_there:
                    file.edits, file.was_changed, file.is_there = [], False, True

    def _stash(self, words: tuple[str, ...]) -> None:
        """Puts the uncommitted changes of files away, or takes those back that were put away."""
        verb = words[0] if words else "push"
        if verb in ("pop", "apply"):
            for file, edits, was_changed in self._stashed:
                file.edits, file.was_changed = [*edits, *file.edits], was_changed or file.was_changed
            self._stashed = []
        elif verb in ("push", "save") or verb.startswith("-"):
            changed = [file for file in self._files.values() if not file.committed and file.was_there and file.is_there]
            self._stashed = [(file, file.edits, file.was_changed) for file in changed]
            for file in changed:
                file.edits, file.was_changed = [], False

    def commits(self) -> tuple[Entry, ...]:
        """Returns the commits that were not undone: those of the project with the last marked, and those elsewhere. A
        branch on which nothing was committed is there as a commit that is open."""
        entries = [_entry(one, Life.EARLIER) for one in self._commits[:-1]]
        for last in self._commits[-1:]:
            known = [f"branch {self._branch}"] if self._branch else []
            known += ["pushed"] if self._pushed >= last.index else []
            entries.append(_entry(last, Life.LAST, beside=", ".join(known), changed=self._since(last.index)))
        if self._branch and not self._commits:
            branch = Commit(index=self._branch_seen, hash="", subject=f"branch {self._branch}")
            entries.append(_entry(branch, Life.OPEN, beside="nothing committed so far"))
        return tuple(sorted([*entries, *self._elsewhere], key=lambda entry: entry.index))


def _entry(one: Commit, life: Life, beside: str = "", changed: tuple[str, ...] = ()) -> Entry:
    return Entry(
        kind=Kind.COMMIT, life=life, index=one.index, text=one.subject, name=one.hash, beside=beside, changed=changed
    )


def _folder(call: ToolCall) -> str:
    return without_cd(call.command)[1].rstrip("/")


@lru_cache(maxsize=2048)
def _reads(check: str, path: str) -> bool:
    """Returns whether what a file in the project says can matter to a check: it is code or configuration, or a text and
    the check is one of texts."""
    *folders, name = path.split("/")
    if any(one.startswith(".") and len(one) > 2 and one[1:] not in check for one in folders):
        return False
    if name.startswith("."):
        return _CONFIGURES.match(name) is not None or name[1:].removesuffix("ignore") in check
    return _TEXTS.match(name) is None or _OF_TEXTS.search(check) is not None


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


def changed_words(texts: Sequence[str]) -> set[str]:
    """Returns the words of texts by which code is named: identifiers and names of files, of three characters or
    more."""
    return {word for text in texts for word in _WORD.findall(text[:_MOST_READ])}
