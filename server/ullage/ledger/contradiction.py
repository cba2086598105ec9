"""What a summary says against the record: a task called done that is open, a check called failing that has passed.

Only a present state is judged, in the words and marks by which tools and models write states. What a line says of the
past contradicts nothing, and neither does a line that names both states, since it says which came first.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from ullage.ledger.ledger_entry import Entry, Kind, Life, failed_command
from ullage.ledger.words import words_of

# The share of the words of a task that a line must have to be about it.
_SHARE = 0.8
# A task of fewer different words could be meant by any line.
_LEAST_WORDS = 2
_ID = re.compile(r"[\x21-\x7e]+")
_LATER = re.compile(r"\b(?:not|once|when|after|until|if|should|must|will)\b|n't", re.IGNORECASE)


class _States(Struct, frozen=True):
    """How two states that exclude each other are written."""

    good: re.Pattern[str]
    bad: re.Pattern[str]


def _at(words: str, marks: str) -> re.Pattern[str]:
    """Returns what a state looks like where a line states it: at its beginning, in brackets, after a colon, a dash or
    `is`, and at its end."""
    return re.compile(
        rf"(?:{marks})|(?:^[\s\-*\d.)]*|[:(\[|–—.;]\W*|\s-\s+|\b(?:is|are|status|already|now|as)\W+)(?:{words})\b"
        rf"(?=\s*(?:$|[\]):,.;|–—]|-\s))",
        re.IGNORECASE,
    )


_TASK = _States(
    _at(
        "done|completed?|finished|closed|erledigt|fertig|terminée?s?|hecho|completad[oa]",
        r"\[[xX]\]|✅|✓|☑|已完成|完了",
    ),
    _at("pending|open|to ?do|in[ _-]progress|not started|unfinished|remaining|offen|pendiente", r"\[[ ~-]\]|☐|未完成"),
)
_OUTCOME = _States(
    re.compile(r"\b(?:pass|passes|passing|succeeds?|(?:is|are) (?:now |all )?(?:green|clean|successful))\b|✅", re.I),
    re.compile(
        r"\b(?:fails?|failing|failures?|(?:is|are) (?:still |now )?(?:red|broken)"
        r"|(?:do|does)(?:n't| not) (?:pass|build|compile))\b|❌",
        re.I,
    ),
)
# What all checks of a kind are called together.
_TOGETHER = {
    "tests": re.compile(r"\b(?:all\b.{0,24}\btests?|(?:full|whole|entire|the|unit)? ?test suite|every test)\b", re.I),
    "build": re.compile(r"\b(?:the (?:whole |full )?(?:build|project builds?)|everything (?:builds|compiles))\b", re.I),
    "lint": re.compile(r"\b(?:the )?lint(?:er|ing)?\b", re.I),
    "types": re.compile(r"\b(?:type[ -]?check(?:s|ing|er)?)\b", re.I),
}
_LAST_COMMIT = re.compile(
    r"\b(?:(?:last|latest|newest|most recent) commit|HEAD)\b\W{0,4}(?:is\W+)?(?:at\W+)?`?([0-9a-f]{7,40})\b", re.I
)
_ALL_COMMITTED = re.compile(
    r"\b(?:everything|all (?:of it|work|changes?)) (?:is|are|was|were|has been|have been) (?:already )?committed\b",
    re.I,
)
_CREATED, _DELETED = r"(?:created?|added?|new)", r"(?:deleted?|removed?)"
_LEAST_COMMAND = 6


def otherwise(entries: Sequence[Entry], summary: str) -> Iterator[tuple[Entry, str]]:
    """Yields the entries that a line of a summary contradicts, each with the line."""
    lines = [stripped for line in summary.splitlines() if (stripped := line.strip())]
    for entry in entries:
        contradicts = _JUDGES.get(entry.kind)
        line = next((line for line in lines if contradicts(entry, line)), "") if contradicts else ""
        if line:
            yield entry, line


def marked(entries: Sequence[Entry], summary: str) -> tuple[Entry, ...]:
    """Returns the entries, those that a summary contradicts with its line in `against`."""
    against = dict(otherwise(entries, summary)) if summary else {}
    return tuple(replace(entry, against=against[entry]) if entry in against else entry for entry in entries)


def without_contradictions(text: str, entries: Sequence[Entry]) -> str:
    """Returns a summary without the lines that contradict what is known, the entries."""
    return "".join(line for line in text.splitlines(keepends=True) if next(otherwise(entries, line), None) is None)


def _stated(states: _States, line: str) -> bool | None:
    """Returns whether a line states the good one of two states now, None if it states neither, or both."""
    is_good, is_bad = states.good.search(line) is not None, states.bad.search(line) is not None
    return None if is_good is is_bad or _LATER.search(line) else is_good


def _task(entry: Entry, line: str) -> bool:
    wanted = frozenset(words_of(entry.text).all)
    # An id alone is the beginning of other ids, and a task in progress may be done before its list says so.
    if entry.life is Life.IN_PROGRESS or _ID.fullmatch(entry.text) or len(wanted) < _LEAST_WORDS:
        return False
    if len(wanted.intersection(words_of(line).all)) < ceil(len(wanted) * _SHARE):
        return False
    # A state that the task itself names says nothing of the task.
    at = line.lower().find(entry.text.lower())
    around = line[:at] + " : " + line[at + len(entry.text) :] if at >= 0 else line
    is_good = _stated(_TASK, around)
    return is_good is not None and entry.life is (Life.OPEN if is_good else Life.DONE)


def _check(entry: Entry, line: str) -> bool:
    """Returns whether a line says of a check that passed, or of a failure that nothing has mended, that it is the other
    way round now."""
    if entry.life is Life.MENDED or entry.changed:
        # After a change its outcome is not known.
        return False
    command = entry.text if entry.kind is Kind.CHECK else failed_command(entry)[0]
    is_named = len(command) >= _LEAST_COMMAND and re.search(rf"(?<![\w-]){re.escape(command)}(?![\w./-]| -)", line)
    together = _TOGETHER.get(entry.name)
    if not is_named and not (entry.kind is Kind.PROBLEM and together and together.search(line)):
        return False
    return _stated(_OUTCOME, line) is (entry.kind is Kind.PROBLEM)


def _commit(entry: Entry, line: str) -> bool:
    if entry.changed and _ALL_COMMITTED.search(line):
        return True
    found = _LAST_COMMIT.search(line)
    said = found[1].lower() if found else ""
    known = entry.name.lower()
    return bool(said and known) and not (said.startswith(known) or known.startswith(said))


def _file(entry: Entry, line: str) -> bool:
    name = "/".join(entry.text.split("/")[-2:])
    says, unless = (_CREATED, _DELETED) if entry.life is Life.DELETED else (_DELETED, _CREATED)
    if entry.life is Life.READ or name not in line or re.search(rf"\b{unless}\b", line, re.IGNORECASE):
        return False
    # A line that says nothing else of it, because much is added to files and removed from them.
    told = rf"(?:^[\s\-*\d.)]*|[:;]\s*){says}\b[\s:]*(?:file )?`?[\w./~-]*{re.escape(name)}`?(?=\s*(?:$|[.,;)(]))"
    return re.search(told, line, re.IGNORECASE) is not None


_JUDGES: dict[Kind, Callable[[Entry, str], bool]] = {
    Kind.TASK: _task,
    Kind.CHECK: _check,
    Kind.PROBLEM: _check,
    Kind.COMMIT: _commit,
    Kind.FILE: _file,
}
