"""Whether a page says the state of tasks and files, for the state bench."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from benches.state_page import Line, Page, find_whole, names, sentences, words
from benches.state_truth import ACTIVE, CHANGED, CREATED, DELETED, DONE, OPEN, SAME, File, Truth
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
_NOT_DONE = re.compile(
    r"\bnot (?:yet )?(?:started|done|completed?|finished|implemented)\b|\bincomplete\b|\buncompleted\b", re.IGNORECASE
)
_SHORT = 8


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
            if (state := _state(page, line, task.subject)) and not (task.state == ACTIVE and state == DONE)
        ]
        is_open = task.state != DONE
        found = verdict(Kind.TASK, task.subject, OPEN if is_open else DONE, said, extra=not is_open)
        if is_open or (found.end == WRONG and any(state == OPEN for state, _, _ in said)):
            yield found


def _lines_with(page: Page, wanted: Sequence[str]) -> list[Line]:
    """Returns the lines that have a subject in full: all its words, in their order, with few others between."""
    found: list[Line] = []
    for line in page.lines:
        own = words(line.text)
        if not line.is_code and any(
            _in_order(own[at : at + len(wanted) + 4], wanted) for at in find_whole(own, wanted[:1])
        ):
            found.append(line)
    return found


def _in_order(own: Sequence[str], wanted: Sequence[str]) -> bool:
    at = 0
    for word in own:
        at += at < len(wanted) and word == wanted[at]
    return at >= (len(wanted) if len(wanted) <= _SHORT else round(0.9 * len(wanted)))


def _state(page: Page, line: Line, subject: str) -> str:
    """Returns the state that a line gives to a task: by a sign in it, else by what it is under; none if that is
    two-fold."""
    inline = _signs(_without(line.text, subject))
    if inline:
        return "" if inline == "both" else inline
    above = next((state for label in page.labels(line) if (state := _signs(label))), "")
    return "" if above == "both" else above


def _without(text: str, subject: str) -> str:
    """Returns a line without the subject's own words, which may be signs themselves ("Fix open tabs")."""
    for word in words(subject):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", text, count=1, flags=re.IGNORECASE)
    return text


def _signs(text: str) -> str:
    is_open = _OPEN_SIGN.search(text) is not None
    is_done = _DONE_SIGN.search(_NOT_DONE.sub("", text)) is not None
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
_MARKED = re.compile(
    r"\b(read[ -]?only|read|not modified|unchanged|reverted|deleted|removed|modified|changed|created"
    r"|new|edited|updated|added|rewritten|embedded)\b",
    re.IGNORECASE,
)
_HEADS_CHANGED = re.compile(r"\b(?:modified|changed|edited|created|written|last done)\b", re.IGNORECASE)
_HEADS_LIST = re.compile(r"\b(?:files?|state|status|modified|changed)\b", re.IGNORECASE)
_VERB_FIRST = re.compile(rf"^(?:\W*\w+\W+){{0,9}}?\W*{_VERB}\b", re.IGNORECASE)
_VERB_WORD = re.compile(rf"\b{_VERB}\b", re.IGNORECASE)
_NOT_CHANGED_WORDS = frozenset({"read only", "read-only", "readonly", "not modified", "unchanged", "reverted"})
_GONE_WORDS = frozenset({"deleted", "removed"})


def _files(page: Page, truth: Truth) -> Iterator[Verdict]:
    for file in truth.files:
        lines = _naming(page, file, truth.files)
        said = [
            (sign, line, _file_place(page, line))
            for line in lines
            if (sign := _change_said(page, line, file, only_marked=file.change == SAME))
        ]
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


def _file_place(page: Page, line: Line) -> str:
    """Returns where a line about files is. A list of paths is a statement only under what heads a list of files or
    the state of work: anywhere else it says what belongs to another heading."""
    where = place(page, line, "file")
    if len(_PATH.findall(line.text)) > _MANY and not line.text.startswith(("Call ", "Result:")):
        label = next((page.lines[number].text for number in line.above if page.lines[number].is_label), "")
        return where if not label or (where == FITS and _HEADS_LIST.search(label)) else MISPLACED
    return where


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


def _change_said(page: Page, line: Line, file: File, *, only_marked: bool) -> str:
    """Returns which change a line says of a file: by the list's beginning, by a mark next to the path, by a verb close
    to it, by what is under it, or by the list in which it is. With `only_marked`, by the first two alone:
    a verb next to a file that did not change may be about another's work."""
    if listed := _LISTED.match(line.text):
        return _sign(listed[1])
    name = PurePosixPath(file.path).name
    sentence = next((each for each in sentences(line.text) if name in each), line.text)
    before, _, after = sentence.partition(name)
    after = re.sub(r"^[`*\"]*(?::[\d,\s-]+|\s*\(lines?[^)]*\))?", "", after)
    marked = _marked(after)
    if marked or only_marked:
        return marked
    return _by_verb(before, after) or (_by_entry(page, line) if _starts(line, file) else "")


def _marked(after: str) -> str:
    """Returns the change that a mark after a path says: `(new)`, `- modified`."""
    beside = re.match(r"\s*[*_]*\s*(?:\(|—|–|-|:)\s*[*_]*([^)]{0,40})", after)
    sign = _MARKED.match(beside[1].strip()) if beside else None
    if beside is None or sign is None:
        return ""
    is_whole = re.match(r"[*_]*\s*(?:$|[.,;])", beside[1].strip()[sign.end() :]) is not None
    return CHANGED if sign[1].lower() in _GONE_WORDS and not is_whole else _sign(sign[1])


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
