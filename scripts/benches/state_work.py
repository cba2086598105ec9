"""Whether a page says the state of work, for the state bench: tasks and files, how the project's checks ended, mended
problems, the last commit.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from benches.state_page import Line, Page, find_whole, names, sentences, words
from benches.state_truth import (
    ACTIVE,
    BUILD,
    CHANGED,
    CREATED,
    DELETED,
    DONE,
    LINT,
    OPEN,
    SAME,
    TESTS,
    TYPES,
    File,
    Problem,
    Run,
    Truth,
    parts,
    plain,
)
from benches.state_verdicts import ABSENT, FITS, MISPLACED, RIGHT, WRONG, Kind, Verdict, place, verdict

_PATH = re.compile(r"[\w./~-]*\w\.\w+|[\w.-]+(?:/[\w.-]+)+")
_CODE = re.compile(r"`[^`]*`")
_MANY = 3


def judge_work(page: Page, truth: Truth) -> Iterator[Verdict]:
    yield from _tasks(page, truth)
    yield from _files(page, truth)


# Tasks

_OPEN_SIGN = re.compile(
    r"\[ \]|\[~\]|[☐◻⬜🔄⏳◐]|\bnot (?:yet )?(?:started|done|completed?|finished|begun)\b"
    r"|\b(?:pending|open|to-?do|remain(?:s|ing)?|unfinished|in[ _-]?hand|in[ _-]?progress|ongoing"
    r"|underway|incomplete|uncompleted|next"
    r"|still|needs? to|need to be|outstanding|left to do|left|was about to|current(?:ly)?|blocked|partial(?:ly)?)\b",
    re.IGNORECASE,
)
_DONE_SIGN = re.compile(
    r"\[[xX]\]|[✅✓✔☑]|~~|\b(?:done|completed?|finished|closed|implemented|dropped|cancelled)\b", re.IGNORECASE
)


def _tasks(page: Page, truth: Truth) -> Iterator[Verdict]:
    for task in truth.tasks:
        if task.state not in (OPEN, ACTIVE, DONE):
            continue
        subject = words(task.subject)
        said = [
            (state, line, place(page, line, "task"))
            for line in _lines_with(page, subject)
            # What is in progress may be done before the list says so: in a recording the agent ran all that such a task
            # asks for, and said so, before it updated its list.
            if (state := _state(page, line)) and not (task.state == ACTIVE and state == DONE)
        ]
        is_open = task.state != DONE
        found = verdict(Kind.TASK, task.subject, OPEN if is_open else DONE, said, extra=not is_open)
        if is_open or (found.end == WRONG and any(state == OPEN for state, _, _ in said)):
            yield found


def _lines_with(page: Page, wanted: Sequence[str]) -> list[Line]:
    """Returns the lines that have a subject in full: all its words in a row."""
    return [line for line in page.lines if not line.is_code and find_whole(words(line.text), wanted)]


def _state(page: Page, line: Line) -> str:
    """Returns the state that a line gives to a task: by a sign in it, else by what it is under; none if that is
    two-fold."""
    state = next((state for text in (line.text, *page.labels(line)) if (state := _signs(text))), "")
    return "" if state == "both" else state


def _signs(text: str) -> str:
    is_open = _OPEN_SIGN.search(text) is not None
    is_done = _DONE_SIGN.search(text) is not None
    return "both" if is_open and is_done else OPEN if is_open else DONE if is_done else ""


# Files

_VERB = (
    r"(?:add(?:s|ed|ing)|remov(?:es|ed|ing)|replac(?:es|ed|ing)|chang(?:ed|ing)|modif(?:ied|ying)"
    r"|edit(?:ed|ing)|updat(?:ed|ing)"
    r"|creat(?:ed|ing)|wrote|written|rewrote|rewritten|fix(?:ed|ing)|refactored|renam(?:ed|es)"
    r"|extended|moved|implemented"
    r"|introduced|converted|simplified|populated|wired|inlined|inserted|switched|extracted|enhanced|improved|corrected"
    r"|appended|instrumented|integrated|redesigned|adjusted|bumped|deleted|dropped|new|now|reworked"
    r"|consolidated|expanded"
    r"|adapted|applied)"
)
_LISTED = re.compile(
    r"^(?:#\d+\s+)?[*]*(?:last |newly |also )?(read|modified|changed|created|edited|new|deleted"
    r"|removed|wrote|updated)\b[^/`]{0,40}:",
    re.IGNORECASE,
)
_HEADS_CHANGED = re.compile(r"\b(?:modified|changed|edited|created|written|last done)\b", re.IGNORECASE)
_VERB_FIRST = re.compile(rf"^(?:\W*\w+\W+){{0,9}}?\W*{_VERB}\b", re.IGNORECASE)
_VERB_WORD = re.compile(rf"\b{_VERB}\b", re.IGNORECASE)
_NOT_CHANGED_WORDS = frozenset({"read only", "read-only", "readonly", "not modified", "unchanged", "reverted"})
_GONE_WORDS = frozenset({"deleted", "removed"})


def _files(page: Page, truth: Truth) -> Iterator[Verdict]:
    for file in truth.files:
        lines = _naming(page, file, truth.files)
        said = [(sign, line, place(page, line, "file")) for line in lines if (sign := _change_said(page, line, file))]
        meant = CHANGED if file.change == CREATED else file.change
        if meant != SAME and any(sign == meant for sign, _, _ in said):
            # A file that was read before it was changed is no contradiction; that it was only read is one.
            said = [each for each in said if each[0] != SAME]
        if meant == SAME and file.is_gone:
            said = [each for each in said if each[0] != DELETED]
        found = verdict(Kind.FILE, f"{file.path} ({file.change})", meant, said, extra=file.change == SAME)
        if file.change != SAME or (found.end == WRONG and any(sign != SAME for sign, _, _ in said)):
            yield found
        if file.change in (CREATED, CHANGED) and file.edited:
            yield _done_to(page, file, lines, truth.files)


def _naming(page: Page, file: File, files: Sequence[File]) -> list[Line]:
    """Returns the lines that name a file: by enough of its path's end to mean no other file of the conversation."""
    pattern = re.compile(rf"(?<![\w.-]){re.escape(_suffix(file, files))}(?![\w-]|\.\w)")
    return [line for line in page.lines if not line.is_code and pattern.search(line.text)]


def _suffix(file: File, files: Sequence[File]) -> str:
    parts = PurePosixPath(file.path).parts
    for count in range(1, len(parts)):
        suffix = "/".join(parts[-count:])
        if sum(other.path == suffix or other.path.endswith("/" + suffix) for other in files) <= 1:
            return suffix
    return file.path


def _change_said(page: Page, line: Line, file: File) -> str:
    """Returns which change a line says of a file: by the list's beginning, by a verb close to it, by what is under it,
    or by the list in which it is. Of a file that did not change by the first alone: a verb next to it may be about
    another's work."""
    if listed := _LISTED.match(line.text):
        return _sign(listed[1])
    if file.change == SAME:
        return ""
    name = PurePosixPath(file.path).name
    sentence = next((each for each in sentences(line.text) if name in each), line.text)
    before, _, after = sentence.partition(name)
    after = re.sub(r"^[`*\"]*(?::[\d,\s-]+|\s*\(lines?[^)]*\))?", "", after)
    return _by_verb(before, after) or (_by_entry(page, line) if _starts(line, file) else "")


def _by_verb(before: str, after: str) -> str:
    """Returns the change that a verb close to a path says: "`a.py` - Added …", "Fixed the order in `a.py`"."""
    if re.match(r"\s*[*_]*\s*(?:—|–|-|:)", after) and _VERB_FIRST.match(_CODE.sub("c", after)):
        return CHANGED
    folder_off = before.rstrip('`*" ').rpartition("`" if before.endswith("`") else " ")[0] or before
    close = " ".join(_CODE.sub("c", folder_off).split()[-7:])
    if not _VERB_WORD.search(close) or re.search(r"\b(?:read|not|no|never|only)\b", close, re.IGNORECASE):
        return ""
    return DELETED if re.search(r"\b(?:deleted|removed)\s*[`*\"]*$", close, re.IGNORECASE) else CHANGED


def _by_entry(page: Page, line: Line) -> str:
    """Returns the change that a file's entry says by what is under it, or by the list in which it is."""
    if any(not child.is_code and _VERB_FIRST.match(_CODE.sub("c", child.text)) for child in page.entry(line)[1:]):
        return CHANGED
    return CHANGED if line.above and _HEADS_CHANGED.search(page.lines[line.above[0]].text) else ""


def _starts(line: Line, file: File) -> bool:
    """Whether a line begins with a file's path: it is the file's entry."""
    name = PurePosixPath(file.path).name
    return name in " ".join(line.text.split()[:3]) and len(_PATH.findall(line.text)) <= _MANY


def _sign(word: str) -> str:
    """Returns the change that a word means; that a file was read says nothing of its change."""
    if word.lower() == "read":
        return ""
    return SAME if word.lower() in _NOT_CHANGED_WORDS else DELETED if word.lower() in _GONE_WORDS else CHANGED


def _done_to(page: Page, file: File, lines: Sequence[Line], files: Sequence[File]) -> Verdict:
    """What a page says was done to a file: a change with names of the code, in its entry or next to its path. The
    names must be in the file's edits; if they are in another file's edits alone, that is another file's change."""
    item = f"{file.path}: {', '.join(sorted(file.edited)[:4])}"
    others = [other for other in files if other is not file]
    foreign = frozenset[str]().union(*(other.edited for other in others)) - file.seen
    right: Line | None = None
    for line in lines:
        if len(_PATH.findall(_CODE.sub("", line.text))) > _MANY or place(page, line, "file") == MISPLACED:
            continue
        is_entry = _starts(line, file)
        for told in [line, *(child for child in page.entry(line)[1:] if not child.is_code and is_entry)]:
            if told is not line and any(PurePosixPath(other.path).name in told.text for other in others):
                continue
            named = names(_PATH.sub(" ", told.text)) - names(file.path)
            if not named or not _VERB_WORD.search(_CODE.sub("c", told.text)):
                continue
            if named & file.edited and place(page, line, "file") == FITS:
                right = right or told
            elif is_entry and not named & file.seen and named & foreign:
                why = f"another file's: {', '.join(sorted(named & foreign)[:4])}"
                return Verdict(kind=Kind.PARENT, end=WRONG, item=item, why=why, quote=told.text)
    end = RIGHT if right is not None else ABSENT
    return Verdict(kind=Kind.PARENT, end=end, item=item, quote=right.text if right else "")


def judge_checks(page: Page, truth: Truth) -> Iterator[Verdict]:
    yield from _checks(page, truth)
    yield from _problems(page, truth)
    yield from _commit(page, truth)


# Checks

_PURPOSE_WORDS = {
    TESTS: r"(?:tests?|test suite|specs)",
    BUILD: r"(?:builds?|build|compil\w+)",
    LINT: r"(?:lint\w*|credo|vet|clippy)",
    TYPES: r"(?:type-?check\w*|types|dialyzer|mypy|pyright|tsc)",
}
_PASSES = (
    r"(?:pass(?:es|ed|ing)?|succe\w+|green|clean(?:ly)?|0 (?:issues|failures|errors)|no (?:issues"
    r"|failures|errors)|[✅✓✔])"
)
_FAILS = r"(?:fail(?:s|ed|ing|ures?)?|errors?|broken|breaks|[❌✗])"
_NO_FAIL = re.compile(r"\b(?:0|no|zero|without) (?:failures|errors|failed|issues)\b", re.IGNORECASE)
_MENDED = re.compile(r"\b(?:fix(?:ed|es)?|resolved|solved|mended)\b", re.IGNORECASE)
_NEAR = 60
PASSED, FAILED = "passed", "failed"


def _checks(page: Page, truth: Truth) -> Iterator[Verdict]:
    ends = {run.purpose: run for run in truth.runs}
    for purpose, run in ends.items():
        lines = [line for line in page.lines if not line.is_code]
        signs = [(_check_said(page, line, purpose, run, truth.runs), line) for line in lines]
        said = [(sign, line, place(page, line, "check")) for sign, line in signs if sign]
        # A failure that a later success covers no longer counts.
        meant = PASSED if run.passed or run.mended else FAILED
        yield verdict(Kind.CHECK, f"{purpose}: {run.command}", meant, said)


def _latest(runs: Sequence[Run], command: str) -> Run:
    return next(run for run in reversed(runs) if run.command == command)


def _check_said(page: Page, line: Line, purpose: str, run: Run, runs: Sequence[Run]) -> str:
    """Returns how a line says that the newest check of a purpose ended: of its command, or of all checks of the purpose
    ("all tests pass"), if no other one of them is open."""
    failed = [each for each in runs if each.purpose == purpose and not each.passed and not each.mended]
    still_open = [each for each in failed if _latest(runs, each.command) is each]
    for sentence in sentences(line.text):
        commands = [command for quoted in _CODE.findall(sentence) if (command := _only_command(quoted))]
        own = [command for command in commands if command == run.command]
        if own:
            bare = sentence.replace("`", "\x00")
            ended = _ended(bare[bare.find(own[0]) + len(own[0]) :], page, line)
            if ended:
                return ended
        elif not commands:
            bare = _CODE.sub("c", sentence)
            for found in re.finditer(rf"\b{_PURPOSE_WORDS[purpose]}\b", bare, re.IGNORECASE):
                ended = _ended(bare[found.end() : found.end() + _NEAR], page, line) or _ended(
                    bare[max(0, found.start() - 25) : found.start()], page, line
                )
                is_fine = run.passed or run.mended
                if ended == PASSED and is_fine and not still_open and not _fails(sentence):
                    return PASSED
                if ended == FAILED and not is_fine:
                    return FAILED
    return ""


def _fails(text: str) -> bool:
    return re.search(rf"\b{_FAILS}\b", _NO_FAIL.sub("", text), re.IGNORECASE) is not None


def _only_command(quoted: str) -> str:
    """Returns the one command of a quotation in backticks, empty if it is a line of several or none."""
    split = parts(quoted.strip("`"))
    return plain(split[0].text) if len(split) == 1 else ""


def _ended(text: str, page: Page, line: Line) -> str:
    """Returns how a check ended by the words after it: passed (also: failed, and was mended), failed, or nothing."""
    fails = re.search(rf"\b{_FAILS}\b|[❌✗]", _blanked(text), re.IGNORECASE)
    passes = re.search(_PASSES, text, re.IGNORECASE)
    if not fails:
        return PASSED if passes else ""
    if passes and passes.start() < fails.start():
        return PASSED
    rest = " ".join([text[fails.end() :], *(child.text for child in page.entry(line)[1:] if not child.is_code)])
    return PASSED if re.search(_PASSES, rest, re.IGNORECASE) or _MENDED.search(rest) else FAILED


def _blanked(text: str) -> str:
    """Returns a text with blanks in place of what says that nothing failed."""
    return _NO_FAIL.sub(lambda found: " " * len(found[0]), text)


# Problems with what mended them

_FIX = re.compile(
    r"\b(?:fix(?:ed|es|ing)?|resolved|solved|mended|solution|passed|passes|by \w+ing|changes to|added"
    r"|removed|changed|replaced|updated|renamed|rewrote|used)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(?:error\w*|fail\w*|problem\w*|issue\w*|warning\w*|bug\w*|wrong|broken|undefined|mismatch\w*|conflict\w*)\b",
    re.IGNORECASE,
)


def _problems(page: Page, truth: Truth) -> Iterator[Verdict]:
    for problem in truth.problems:
        others = [other for other in truth.problems if other is not problem]
        own = problem.signs - names(problem.command)
        signs = own - frozenset[str]().union(*(other.signs for other in others)) or own
        if not signs:
            continue
        yield _problem(page, problem, signs, others)


def _problem(page: Page, problem: Problem, signs: frozenset[str], others: Sequence[Problem]) -> Verdict:
    item = f"{problem.command}: {', '.join(sorted(signs)[:4])}"
    own = problem.mend - problem.signs or problem.mend
    foreign = frozenset[str]().union(*(other.mend for other in others)) - problem.mend - problem.signs
    said: list[tuple[str, Line, str]] = []
    for line in page.lines:
        start = _start_of_trouble(line.text, problem.command, signs)
        if line.is_code or start is None or (re.search(_PASSES, line.text, re.IGNORECASE) and not _fails(line.text)):
            continue
        if not (_TROUBLE.search(line.text) or any(_TROUBLE.search(label) for label in page.labels(line))):
            continue
        tail = line.text[start:]
        below = (each.text for each in page.entry(line)[1:] if not each.is_code)
        fixes = [text for text in (tail, *below) if _FIX.search(text)]
        told = names(" ".join(fixes)) | {PurePosixPath(path).name for fix in fixes for path in _PATH.findall(fix)}
        if told & own:
            said.append(("its mend", line, place(page, line, "problem")))
        # A command may have failed for several reasons: only a name in the errors says which one is meant.
        elif names(line.text) & signs and told & foreign and not told & problem.mend:
            said.append(("another problem's mend", line, FITS))
    return verdict(Kind.PROBLEM, item, "its mend", said)


def _start_of_trouble(text: str, command: str, signs: frozenset[str]) -> int | None:
    """Returns where a line names a problem: by a name in its errors, or by the command that failed; None if not."""
    found = [at for sign in signs if (at := text.find(sign)) >= 0]
    found.extend(
        quoted.end()
        for quoted in _CODE.finditer(text)
        if any(plain(part.text) == command for part in parts(quoted[0].strip("`")))
    )
    return min(found, default=None)


# The last commit

_LAST = re.compile(r"\b(?:last|latest|newest|most recent|current)\b[^.;]{0,30}\bcommit|\bHEAD\b", re.IGNORECASE)
_COMMIT_WORD = re.compile(r"\bcommit(?:s|ted)?\b", re.IGNORECASE)
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")


def _commit(page: Page, truth: Truth) -> Iterator[Verdict]:
    if not truth.commits:
        return
    last = truth.commits[-1]
    said: list[tuple[str, Line, str]] = []
    for line in page.lines:
        if line.is_code:
            continue
        shas = _SHA.findall(line.text)
        is_named = any(last.sha.startswith(sha[:7]) for sha in shas) or find_whole(
            words(line.text), words(last.subject)
        )
        if is_named and any(_COMMIT_WORD.search(text) for text in (line.text, *page.labels(line))):
            said.append((last.sha, line, place(page, line, "commit")))
        elif _LAST.search(line.text) and not is_named:
            others = (each.sha for each in truth.commits[:-1])
            said += [(sha, line, FITS) for sha in others if any(sha.startswith(each[:7]) for each in shas)]
    yield verdict(Kind.COMMIT, f"{last.sha} {last.subject}", last.sha, said)
