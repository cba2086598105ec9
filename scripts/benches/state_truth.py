"""What is true at a cut, folded from what Claude Code's file records (`state_records`), for the state bench.

A cut is a compaction of the agent. `fold` reads all events before it and returns what a reader who continues must know:
the user's words, tasks and the state of each, net changes of the project's files, how each check last ended, problems
with what mended them, and the project's commits.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from benches.state_page import names
from benches.state_records import CALL, RESULT, TYPED, Event, as_dict, as_list

TESTS, BUILD, LINT, TYPES = "tests", "build", "lint", "types"

# What a program is run for, by how the command begins.
_PURPOSES = (
    (
        TYPES,
        r"(?:tsc|mypy|(?:based)?pyright|mix dialyzer|(?:npm|pnpm|yarn)( run)? (?:type-?check|tsc|types)\S*"
        r"|mise run (?:types?|typecheck)\S*)",
    ),
    (
        LINT,
        r"(?:golangci-lint|go vet|ruff check|eslint|flake8|pylint|shellcheck|cargo clippy|mix credo"
        r"|rubocop|(?:npm|pnpm|yarn)( run)? lint\S*|(?:mise run|make|just) lint\S*)",
    ),
    (
        BUILD,
        r"(?:go build|cargo (?:build|check)|mix compile|cmake --build|pdflatex|latexmk|xelatex|(?:npm|pnpm"
        r"|yarn)( run)? build\S*|(?:mise run|just) build\S*|make(?: -\S+)*(?: all| build\S*)?$"
        r"|dotnet build|gradle build|mvn (?:compile|package))",
    ),
    (
        TESTS,
        r"(?:pytest|python3? -m (?:pytest|unittest)|go test|cargo (?:test|nextest)|mix test|jest|vitest"
        r"|rspec|rake test|tox|ctest|dotnet test|gradle test|mvn test|bun test|(?:npm|pnpm"
        r"|yarn)( run)? test\S*|(?:mise run|make|just) (?:tests?|check)(?![\w-])\S*)",
    ),
)
_PURPOSE = [(purpose, re.compile(pattern + r"(?=\s|$)")) for purpose, pattern in _PURPOSES]
_BEFORE = re.compile(
    r"^(?:\w+=\S+\s+|sudo\s+|timeout\s+\S+\s+|time\s+|uv run\s+|poetry run\s+|npx\s+|bunx\s+"
    r"|pnpm exec\s+|mise exec -- |\.?/?(?:\S*/)?(?:\.venv|venv|node_modules/\.bin)/(?:bin/)?|\(\s*)+"
)
_REDIRECTED = re.compile(r"\s*(?:\d?>>?&?\s*\S+|&>\s*\S+|\d>&\d)")
_SKIPPED_OUTCOME = re.compile(
    r"no tests to run|command not found|No such file or directory|running in background|"
    r"could not read from remote|no such tool|unknown command|no test files\]?\s*\Z|timed out",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"^FAIL\b|--- FAIL|^FAILED\b|\bERROR task failed|\b[1-9]\d* (?:failed|failures?|errors?)\b|\b[1-9]\d* issues?\b"
    r"|^panic:|\[setup failed\]|\[build failed\]|undefined: |Fatal error occurred|\berror\[E\d+\]"
    r"|^error:|^\S+\.go:\d+:\d+: |\bTS\d{4}:"
    r"|^\*\* \(|== Compilation error|^E  ",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"^ok\s+\S+|\b[1-9]\d* passed\b|\b0 failures\b|\b0 issues\b|All checks passed|^PASS\b|--- PASS"
    r"|found no issues|Output written on"
    r"|^Finished in|test result: ok",
    re.MULTILINE,
)


class Part(Struct, frozen=True, kw_only=True):
    """One simple command of a line: its words, and what is after it ("&&", "||", "|", ";", or nothing)."""

    text: str
    then: str


def parts(command: str) -> list[Part]:
    """Splits a command line at `&&`, `||`, `;`, `|` and line ends outside of quotes and here-documents."""
    found: list[Part] = []
    text, quote, at = "", "", 0
    while at < len(command):
        char, two = command[at], command[at : at + 2]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "\\":
            text, at = text + two, at + 2
            continue
        elif here := re.match(r"<<-?\s*['\"]?(\w+)['\"]?", command[at:]):
            end = re.search(rf"^\s*{here[1]}\b", command[at + here.end() :], re.MULTILINE)
            stop = at + here.end() + end.end() if end else len(command)
            text, at = text + command[at:stop], stop
            continue
        elif two in ("&&", "||") or char in ";|\n":
            joint = two if two in ("&&", "||") else char
            found.append(Part(text=text.strip(), then=joint))
            text, at = "", at + len(joint)
            continue
        text, at = text + char, at + 1
    found.append(Part(text=text.strip(), then=""))
    return [part for part in found if part.text]


def plain(text: str) -> str:
    """Returns a simple command without what does not matter for what it does: settings, wrappers, redirections."""
    return " ".join(_REDIRECTED.sub("", _BEFORE.sub("", text.strip())).split()).rstrip(") ")


def purpose(text: str) -> str | None:
    """Returns what a simple command checks, None if it is no check."""
    return next((name for name, pattern in _PURPOSE if pattern.match(plain(text))), None)


class Outcome(Struct, frozen=True, kw_only=True):
    """A check that ran: its purpose, its command, and how it ended; None if that is not to be seen."""

    purpose: str
    command: str
    passed: bool | None


def outcomes(command: str, output: str, failed: bool | None) -> Iterator[Outcome]:
    """Yields the checks of a command line with how each ended.

    An exit other than 0 is the end of the last part that ran, and after a pipe the exit is another program's: then the
    output decides, and of several checks in a failed line only what can be distinguished.
    """
    split = parts(command)
    checks = [(at, kind) for at, part in enumerate(split) if (kind := purpose(part.text))]
    for at, kind in checks:
        rest = split[at:]
        is_hidden = any(part.then in ("|", "||", ";", "\n") for part in rest[:-1]) or bool(rest[-1].then)
        passed: bool | None = None
        if _SKIPPED_OUTCOME.search(output):
            passed = None
        elif _FAILED.search(output):
            passed = False if len(checks) == 1 or (failed and _is_last(kind, output)) else None
        elif (
            (failed is False and not is_hidden)
            or (failed is not True and _PASSED.search(output))
            or (failed is False and kind in (BUILD, LINT, TYPES) and not output.strip())
        ):
            passed = True
        elif failed and len(checks) == 1 and not is_hidden:
            passed = False
        yield Outcome(purpose=kind, command=plain(split[at].text), passed=passed)


def _is_last(kind: str, output: str) -> bool:
    """Whether a task runner names this purpose as the one that failed."""
    named = re.search(r"\[(\w+)[^\]]*\] ERROR task failed", output)
    return named is not None and named[1].rstrip("s") == kind.rstrip("s")


OPEN, ACTIVE, DONE, DROPPED = "open", "in progress", "done", "dropped"
CREATED, CHANGED, DELETED, SAME = "created", "changed", "deleted", "not changed"

_STATES = {"pending": OPEN, "in_progress": ACTIVE, "completed": DONE, "deleted": DROPPED}
_SAYS_NO = re.compile(
    r"(?:no|nope|nah|not|don'?t|do not|never|stop|wait|actually|instead|rather|revert|undo|nein|nicht"
    r"|doch nicht|non|pas"
    r"|нет|не|不|别|いいえ)(?![a-z])",
    re.IGNORECASE,
)
_COMMITTED = re.compile(r"^\[([^\]\n]*?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.*)$", re.MULTILINE)
_ERROR_LINE = re.compile(r"fail|error|undefined|panic|expected|actual|unused|cannot|mismatch|\.\w+:\d+", re.IGNORECASE)


class Words(Struct, frozen=True, kw_only=True):
    """A message that the user typed; `refuses` if it turned down what the agent did or proposed."""

    text: str
    refuses: bool = False


class Task(Struct, frozen=True, kw_only=True):
    subject: str
    state: str


class File(Struct, frozen=True, kw_only=True):
    """A file of the project with its net change, the names that its edits brought or took, and all names seen in it.
    `is_gone` if it is not there now, which is no change if it had not been there."""

    path: str
    change: str
    edited: frozenset[str]
    seen: frozenset[str]
    is_gone: bool = False


class Run(Struct, frozen=True, kw_only=True):
    """A check that ran with a known end; `mended` if it failed and a later success covers it."""

    purpose: str
    command: str
    passed: bool
    line: int
    mended: bool = False


class Problem(Struct, frozen=True, kw_only=True):
    """A check that failed and was mended: names in its errors, and the names and files of the edits that mended it."""

    command: str
    signs: frozenset[str]
    mend: frozenset[str]


class Commit(Struct, frozen=True, kw_only=True):
    sha: str
    subject: str


class Truth(Struct, frozen=True, kw_only=True):
    words: tuple[Words, ...] = ()
    tasks: tuple[Task, ...] = ()
    files: tuple[File, ...] = ()
    runs: tuple[Run, ...] = ()
    problems: tuple[Problem, ...] = ()
    commits: tuple[Commit, ...] = ()


class _File(Struct, kw_only=True):
    """A file while the events are folded. `edits` are pairs of old and new text that are."""

    existed: bool = True
    is_gone: bool = False
    is_unknown: bool = False
    edits: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    edited: set[str] = field(default_factory=set[str])
    seen: set[str] = field(default_factory=set[str])


class _Folding(Struct, kw_only=True):
    folder: str
    words: list[Words] = field(default_factory=list[Words])
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    made: int = 0
    files: dict[str, _File] = field(default_factory=dict[str, _File])
    runs: list[Run] = field(default_factory=list[Run])
    errors: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    mends: list[tuple[int, frozenset[str]]] = field(default_factory=list[tuple[int, frozenset[str]]])
    commits: list[Commit] = field(default_factory=list[Commit])


def fold(events: Iterable[Event], folder: str) -> Truth:
    """Returns what is true after these events; `folder` is the project's."""
    folding = _Folding(folder=folder)
    calls: dict[str, Event] = {}
    for event in events:
        if event.kind == TYPED:
            refuses = event.refuses or bool(_SAYS_NO.match(event.text.lstrip(" \"'.,")))
            folding.words.append(Words(text=event.text, refuses=refuses))
        elif event.kind == CALL:
            calls[event.id] = event
        elif event.kind == RESULT and event.id in calls:
            _apply(folding, calls[event.id], event)
    return _settled(folding)


def _apply(folding: _Folding, call: Event, result: Event) -> None:
    given = call.input
    if isinstance(given.get("todos"), list) or call.name in ("TaskCreate", "TaskUpdate"):
        if not result.failed:
            _plan(folding, call.name, given, result)
    elif command := str(given.get("command") or ""):
        _shell(folding, call, result, command)
    elif not result.failed and (path := str(given.get("file_path") or given.get("notebook_path") or "")):
        _file_call(folding, call, result, path)


# Tasks


def _plan(folding: _Folding, name: str, given: Mapping[str, Any], result: Event) -> None:
    if "todos" in given:
        entries = (as_dict(each) for each in as_list(given["todos"]))
        tasks = (Task(subject=str(each["content"]), state=_STATES[str(each["status"])]) for each in entries)
        folding.tasks = {task.subject: task for task in tasks}
    elif name == "TaskCreate" and given.get("subject"):
        folding.made += 1
        found = re.search(r"#(\d+)", result.text)
        folding.tasks[found[1] if found else str(folding.made)] = Task(subject=str(given["subject"]), state=OPEN)
    elif task := folding.tasks.get(str(given.get("taskId", ""))):
        state = _STATES.get(str(given.get("status", "")), task.state)
        folding.tasks[str(given["taskId"])] = Task(subject=str(given.get("subject") or task.subject), state=state)


# Files


def _inside(folding: _Folding, path: str) -> str | None:
    """Returns a path relative to the project, None if it lies elsewhere."""
    folder = folding.folder.rstrip("/")
    if "$" in path or "*" in path:
        return None
    if not path.startswith("/"):
        return None if path.startswith(("~", "..")) else path.removeprefix("./")
    if folder and path.startswith(folder + "/"):
        return path[len(folder) + 1 :]
    return None


def _file_call(folding: _Folding, call: Event, result: Event, path: str) -> None:
    inside = _inside(folding, path)
    if inside is None:
        return
    given = call.input
    is_known = inside in folding.files
    file = folding.files.setdefault(inside, _File())
    if "old_string" in given or "edits" in given:
        for each in map(as_dict, as_list(given.get("edits")) or [given]):
            _edit(folding, call.line, inside, (str(each.get("old_string", "")), str(each.get("new_string", ""))))
        file.seen |= names(str(result.of.get("originalFile") or ""))
    elif "content" in given:
        made = result.of.get("type") == "create" or "created successfully" in result.text
        made = made or (not is_known and not result.of)
        file.existed = (is_known and file.existed) or not made
        file.is_gone = False
        original = str(result.of.get("originalFile") or "")
        _edit(folding, call.line, inside, (original, str(given["content"])))
    elif call.name == "Read":
        file.seen |= names(result.text)


def _edit(folding: _Folding, line: int, path: str, edit: tuple[str, str]) -> None:
    """Applies an edit (old and new text) to a file; one that undoes an earlier one leaves neither."""
    file, (old, new) = folding.files[path], edit
    if (new, old) in file.edits:
        file.edits.remove((new, old))
    elif old != new:
        file.edits.append((old, new))
    changed = names(new) ^ names(old)
    file.edited |= changed
    file.seen |= names(new) | names(old)
    folding.mends.append((line, changed | {PurePosixPath(path).name}))


# Commands


def _shell(folding: _Folding, call: Event, result: Event, command: str) -> None:
    for outcome in outcomes(command, result.text, result.failed):
        if outcome.passed is not None and not result.refuses:
            run = Run(purpose=outcome.purpose, command=outcome.command, passed=outcome.passed, line=call.line)
            folding.runs.append(run)
            if not outcome.passed:
                lines = [each for each in result.text.splitlines() if _ERROR_LINE.search(each)]
                folding.errors[len(folding.runs) - 1] = names("\n".join(lines))
    split = [plain(part.text) for part in parts(command)]
    for match in _COMMITTED.finditer(result.text) if any("git" in each and "commit" in each for each in split) else ():
        if "--amend" in command and folding.commits:
            folding.commits.pop()
        # A second beginning is another repository's.
        if "root-commit" not in match[0] or not folding.commits:
            folding.commits.append(Commit(sha=match[2], subject=match[3].strip()))
    if not result.failed and not any(text.startswith(("git stash pop", "git stash apply")) for text in split):
        for text in split:
            _touch(folding, text)


def _touch(folding: _Folding, text: str) -> None:
    """Follows what a command does to files: it removes them, or may undo edits, which are unknown from then on."""
    words = [word.strip("'\"") for word in text.split()]
    paths = [inside for word in words[1:] if not word.startswith("-") and (inside := _inside(folding, word))]
    known = [folding.files[path] for path in paths if path in folding.files]
    if re.match(r"(?:git )?rm\b", text) and "--cached" not in words:
        for file in known:
            file.is_gone = True
    elif re.match(r"git (?:checkout|restore|stash|reset|revert|merge|rebase|pull|clean|cherry-pick)\b", text):
        for file in known or folding.files.values():
            file.is_unknown = file.is_unknown or bool(file.edits)


def _settled(folding: _Folding) -> Truth:
    runs = folding.runs
    settled: list[Run] = []
    problems: list[Problem] = []
    for at, run in enumerate(runs):
        same = [later for later in runs[at + 1 :] if (later.purpose, later.command) == (run.purpose, run.command)]
        after = next((later for later in same if later.passed), None)
        settled.append(replace(run, mended=not run.passed and after is not None))
        if not run.passed and after is not None and same[0] is after and folding.errors.get(at):
            mend = frozenset[str]().union(*(words for line, words in folding.mends if run.line <= line <= after.line))
            if mend:
                problems.append(Problem(command=run.command, signs=folding.errors[at], mend=mend))
    files: list[File] = []
    for path, file in folding.files.items():
        edited, seen = frozenset(file.edited), frozenset(file.seen | file.edited)
        if not file.is_unknown:
            files.append(File(path=path, change=_change(file), edited=edited, seen=seen, is_gone=file.is_gone))
    return Truth(
        words=tuple(folding.words),
        tasks=tuple(folding.tasks.values()),
        files=tuple(files),
        runs=tuple(settled),
        problems=tuple(problems),
        commits=tuple(folding.commits),
    )


def _change(file: _File) -> str:
    if file.is_gone:
        return DELETED if file.existed else SAME
    if not file.edits:
        return SAME
    return CHANGED if file.existed else CREATED
