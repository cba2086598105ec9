"""What is true at a cut, folded from what an agent's file records (`state_records`), for the state bench.

A cut is a compaction of the agent. `fold` reads all events before it and returns what a reader who continues must know:
the user's words, tasks and the state of each, net changes of the project's files, how each check last ended, problems
with what mended them, and the project's commits.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from benches import state_shell as shell
from benches.state_page import names
from benches.state_records import CALL, COMPACTED, RESULT, SAID, TYPED, Event

OPEN, ACTIVE, DONE, DROPPED = "open", "in progress", "done", "dropped"
CREATED, CHANGED, DELETED, SAME = "created", "changed", "deleted", "not changed"

_STATES = {
    **dict.fromkeys(("pending", "todo", "open", "not_started"), OPEN),
    "in_progress": ACTIVE,
    **dict.fromkeys(("completed", "complete", "done"), DONE),
    **dict.fromkeys(("cancelled", "deleted"), DROPPED),
}
_LISTS = ("todos", "plan", "tasks", "items", "todo_list")
_SUBJECTS = ("content", "step", "subject", "description", "text", "title")
_PATHS = ("file_path", "path", "filePath", "absolute_path", "notebook_path")
_SAYS_NO = re.compile(
    r"(?:no|nope|nah|not|don'?t|do not|never|stop|wait|actually|instead|rather|revert|undo|nein|nicht"
    r"|doch nicht|non|pas"
    r"|нет|не|不|别|いいえ)(?![a-z])",
    re.IGNORECASE,
)
_COMMITTED = re.compile(r"^\[([^\]\n]*?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.*)$", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_ERROR_LINE = re.compile(r"fail|error|undefined|panic|expected|actual|unused|cannot|mismatch|\.\w+:\d+", re.IGNORECASE)


class Words(Struct, frozen=True, kw_only=True):
    """A message that the user typed; `refuses` if it turned down what the agent did or proposed, `proposal` being what
    the agent had said before it."""

    text: str
    refuses: bool = False
    proposal: str = ""


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
    is_ours: bool


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
    said = ""
    for event in events:
        if event.kind == TYPED:
            refuses = event.refuses or bool(_SAYS_NO.match(event.text.lstrip(" \"'.,")))
            folding.words.append(Words(text=event.text, refuses=refuses, proposal=said if refuses else ""))
        elif event.kind == SAID:
            said = event.text
        elif event.kind == CALL:
            calls[event.id] = event
            if plan := event.input.get("plan"):
                said = plan if isinstance(plan, str) else said
        elif event.kind == RESULT and event.id in calls:
            _apply(folding, calls[event.id], event)
        elif event.kind == COMPACTED:
            said = ""
    return _settled(folding)


def _apply(folding: _Folding, call: Event, result: Event) -> None:
    given = call.input
    name = call.name.lower()
    if _is_list(given) or name in ("taskcreate", "taskupdate", "tasklist"):
        if not result.failed:
            _plan(folding, name, given, result)
        return
    command = shell.command_of(given)
    if command and ("apply_patch" in command or command.startswith("*** Begin Patch")):
        if not result.failed:
            _patch(folding, call.line, command)
    elif command:
        _shell(folding, call, result, command)
    elif not result.failed and (path := next((str(given[key]) for key in _PATHS if given.get(key)), "")):
        _file_call(folding, call, result, path)


# Tasks


def _is_list(given: Mapping[str, Any]) -> bool:
    return any(isinstance(given.get(key), list) for key in _LISTS)


def _plan(folding: _Folding, name: str, given: Mapping[str, Any], result: Event) -> None:
    for key in _LISTS:
        if isinstance(given.get(key), list):
            entries = [cast("dict[str, Any]", each) for each in cast("list[Any]", given[key]) if isinstance(each, dict)]
            folding.tasks = {
                subject: Task(subject=subject, state=_STATES.get(str(each.get("status", "pending")).lower(), OPEN))
                for each in entries
                if (subject := str(next((each[k] for k in _SUBJECTS if each.get(k)), "")))
            }
            return
    if name == "taskcreate" and given.get("subject"):
        folding.made += 1
        found = re.search(r"#(\d+)", result.text)
        folding.tasks[found[1] if found else str(folding.made)] = Task(subject=str(given["subject"]), state=OPEN)
    elif name == "taskupdate" and (task := folding.tasks.get(str(given.get("taskId", "")))):
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
    given, name = call.input, call.name.lower()
    file = folding.files.get(inside) or _File()
    is_known = inside in folding.files
    if name not in ("grep", "glob", "ls", "list_directory", "find"):
        folding.files[inside] = file
    if "edits" in given or any(key in given for key in ("old_string", "oldText", "old_str")):
        edits = [cast("dict[str, Any]", each) for each in cast("list[Any]", given.get("edits") or [given])]
        for each in edits:
            old = next((str(each[k]) for k in ("old_string", "oldText", "old_str") if k in each), "")
            new = next((str(each[k]) for k in ("new_string", "newText", "new_str") if k in each), "")
            _edit(folding, call.line, inside, (old, new))
        file.seen |= names(str(result.of.get("originalFile") or ""))
    elif "content" in given and name not in ("read", "grep"):
        made = result.of.get("type") == "create" or "created successfully" in result.text
        made = made or (not is_known and not result.of)
        file.existed = (is_known and file.existed) or not made
        file.is_gone = False
        original = str(result.of.get("originalFile") or "")
        _edit(folding, call.line, inside, (original, str(given["content"])))
    elif name in ("read", "read_file", "view"):
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


def _patch(folding: _Folding, line: int, command: str) -> None:
    found = [*_PATCHED.finditer(command)]
    for at, match in enumerate(found):
        path = _inside(folding, match[2].strip())
        if path is None:
            continue
        body = command[match.end() : found[at + 1].start() if at + 1 < len(found) else len(command)]
        file = folding.files.get(path) or _File(existed=match[1] != "Add")
        old = "\n".join(each[1:] for each in body.splitlines() if each.startswith("-"))
        new = "\n".join(each[1:] for each in body.splitlines() if each.startswith("+"))
        file.is_gone = match[1] == "Delete"
        folding.files[path] = file
        _edit(folding, line, path, (old, new))


# Commands


def _shell(folding: _Folding, call: Event, result: Event, command: str) -> None:
    for outcome in shell.outcomes(command, result.text, result.failed):
        if outcome.passed is not None and not result.refuses:
            run = Run(purpose=outcome.purpose, command=outcome.command, passed=outcome.passed, line=call.line)
            folding.runs.append(run)
            if not outcome.passed:
                lines = [each for each in result.text.splitlines() if _ERROR_LINE.search(each)]
                folding.errors[len(folding.runs) - 1] = names("\n".join(lines))
    split = [shell.plain(part.text) for part in shell.parts(command)]
    elsewhere = any(_leaves(folding, text) for text in split)
    for match in _COMMITTED.finditer(result.text) if any("git" in each and "commit" in each for each in split) else ():
        if "--amend" in command and folding.commits:
            folding.commits.pop()
        ours = not elsewhere and not ("root-commit" in match[0] and folding.commits)
        folding.commits.append(Commit(sha=match[2], subject=match[3].strip(), is_ours=ours))
    if result.failed or elsewhere:
        return
    if any(text.startswith(("git stash pop", "git stash apply")) for text in split):
        return
    for text in split:
        _touch(folding, call.line, text)


def _leaves(folding: _Folding, text: str) -> bool:
    """Whether a command goes out of the project's folder, or begins a repository."""
    if text.startswith("git init"):
        return True
    found = re.match(r"(?:cd|pushd)\s+(\S+)|git -C (\S+)", text)
    path = (found[1] or found[2] or "").strip("'\"") if found else ""
    is_other = path.startswith(("/", "~", "..")) and path.rstrip("/") != folding.folder.rstrip("/")
    return is_other and _inside(folding, path) is None


_KEEPS_EDITS = re.compile(
    r"git (?:checkout (?:-b )?\S+$|reset (?:HEAD )?(?:--soft |--mixed )?\S*$|stash (?:list|show)|pull|merge|rebase)"
)
_WRITES = re.compile(r"(?:^|\s)>\s*(\S+)\s*<<|(?:cat|tee)\s.*?>\s*(\S+)|^sed -i\S*.*\s(\S+)$")


def _touch(folding: _Folding, line: int, text: str) -> None:
    """Follows what a command does to files: removes, moves, undoes edits, writes."""
    words = [word.strip("'\"") for word in text.split()]
    paths = [inside for word in words[1:] if not word.startswith("-") and (inside := _inside(folding, word))]
    known = [folding.files[path] for path in paths if path in folding.files]
    if re.match(r"(?:git )?rm\b", text) and "--cached" not in words:
        for file in known:
            file.is_gone = True
    elif re.match(r"git (?:checkout|restore|stash|reset|revert|merge|rebase|pull|clean|cherry-pick)\b", text):
        _take_back(folding, text, known)
    elif re.match(r"(?:git )?mv\b", text) and len(paths) == 2 and paths[0] in folding.files:
        file = folding.files[paths[0]]
        moved = [*file.edits, ("", "moved")]
        folding.files[paths[1]] = _File(existed=False, edits=moved, edited=set(file.edited), seen=set(file.seen))
        file.is_gone = True
    elif found := _WRITES.search(text):
        path = _inside(folding, next((group for group in found.groups() if group), "").strip("'\""))
        if path:
            file = folding.files.setdefault(path, _File(existed=text.startswith("sed")))
            file.is_gone = False
            _edit(folding, line, path, ("", text))


def _take_back(folding: _Folding, text: str, named: Sequence[_File]) -> None:
    """Follows git: named files are as before if nothing was committed; after what may undo any edit, files that
    were edited are unknown."""
    if re.match(r"git (?:checkout (?:HEAD )?--|restore)\s", text) and named and not folding.commits:
        for file in named:
            file.edits.clear()
    elif not _KEEPS_EDITS.match(text) or "--hard" in text:
        for file in named or folding.files.values():
            file.is_unknown = file.is_unknown or bool(file.edits)
    if re.match(r"git reset (?:--\w+ )?HEAD[~^]", text) and folding.commits:
        folding.commits.pop()


def _settled(folding: _Folding) -> Truth:
    runs = folding.runs
    settled: list[Run] = []
    problems: list[Problem] = []
    for at, run in enumerate(runs):
        after = next((later for later in runs[at + 1 :] if later.passed and _settles(later, run)), None)
        mended = not run.passed and after is not None
        settled.append(replace(run, mended=mended))
        if after is None or not mended:
            continue
        between = runs[at + 1 : runs.index(after)]
        if not any((later.purpose, later.command) == (run.purpose, run.command) for later in between):
            mend = frozenset[str]().union(*(words for line, words in folding.mends if run.line <= line <= after.line))
            if mend and folding.errors.get(at):
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


def _settles(later: Run, earlier: Run) -> bool:
    """Whether a success settles an earlier failure: of the same purpose and as wide, or tests that compile the tree."""
    if later.purpose == earlier.purpose:
        return shell.covers(later.command, earlier.command)
    return later.purpose == shell.TESTS and earlier.purpose in (shell.BUILD, shell.TYPES)


def _change(file: _File) -> str:
    if file.is_gone:
        return DELETED if file.existed else SAME
    if not file.edits:
        return SAME
    return CHANGED if file.existed else CREATED
