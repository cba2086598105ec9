"""Judges what a page says of the state at a cut: rightly, wrongly, or not at all. For the state bench.

A statement counts only with its meaning. An item is *right* if the page says it with what makes it a statement: whose
words they are, which state a task is in, what was done to a file, how a check ended, what mended a problem. It is
*wrong* if the page says the contrary, says it of another thing (under another parent), or puts the user's words into
another's mouth or order. Else it is *absent*. A bare name or a line that is apart from what it belongs to says
nothing, so that lists of names and shuffled pages score nothing.

Where a page says both, the wrong statement counts: who reads it can't know which one holds.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from benches.state_page import Line, Page


class Kind(StrEnum):
    """What is asked of a page."""

    REQUEST = "requests"
    REFUSAL = "refusals"
    TASK = "tasks"
    FILE = "files"
    PARENT = "what was done to a file"
    CHECK = "checks"
    PROBLEM = "problems"
    COMMIT = "last commit"


RIGHT, WRONG, ABSENT = "right", "wrong", "absent"


class Verdict(Struct, frozen=True, kw_only=True):
    """What a page says of one item; `quote` is the line by which it was judged, `why` says how. `extra` marks a wrong
    statement about what is no item that a page must say, such as a task that is done."""

    kind: Kind
    end: str
    item: str
    why: str = ""
    quote: str = ""
    extra: bool = False


# Where a statement is

_PATH_FIRST = re.compile(r"^(?:#\d+\s+)?[*`\"]*[\w./~-]*\w\.\w{1,6}\b|^(?:#\d+\s+)?[*`\"]*[\w.-]+/[\w./-]+")
_RAW = re.compile(r"^(?:Call \w+:|Result:|Agent:)")
_CLASSES = {
    "user": re.compile(r"\b(?:user'?s?|requests?|messages?|intent|asked|instructions?|typed)\b", re.IGNORECASE),
    "code": re.compile(
        r"\b(?:code and output|output|details|as it was|snippets?|example|looks? like)\b", re.IGNORECASE
    ),
    "files": re.compile(r"\b(?:files?|modif\w+|chang\w+|edit\w+|created|updates?|implement\w*)\b", re.IGNORECASE),
    "problem": re.compile(r"\b(?:errors?|fix\w*|problems?|fail\w*|issues?|bugs?|wrong|mend\w*)\b", re.IGNORECASE),
    "check": re.compile(r"\b(?:tests?|lint\w*|builds?|check\w*|commands?|verif\w+|ran)\b", re.IGNORECASE),
    "commit": re.compile(r"\b(?:commit\w*|branch\w*|git|merged?|push\w*|prs?)\b", re.IGNORECASE),
    "work": re.compile(
        r"\b(?:plan|tasks?|to-?dos?|pending|next|remaining|left|in hand|steps?|open|todowrite)\b", re.IGNORECASE
    ),
    "state": re.compile(
        r"\b(?:progress|current\w*|state|status|done|completed?|work|summary|finished|accomplished)\b", re.IGNORECASE
    ),
    "talk": re.compile(
        r"\b(?:concepts?|technical|decisions?|decided|findings?|found|look|questions?|answers?"
        r"|identifiers?|approach|options?|root cause)\b",
        re.IGNORECASE,
    ),
}
_FITS = {
    "task": {"work", "state"},
    "file": {"files", "work", "state", "commit", "check"},
    "check": {"check", "state", "problem"},
    "problem": {"problem", "state", "check"},
    "commit": {"commit", "state", "check"},
}
# What such a statement can't be said of: it would be another's words, or about another file.
_NEVER = {sort: {"user"} if sort == "file" else {"user", "files"} for sort in _FITS}
FITS, APART, MISPLACED = "fits", "apart", "misplaced"


def place(page: Page, line: Line, sort: str) -> str:
    """Returns whether a line is where such a statement belongs, apart from anything, or under what it can't be said
    of: another file, the user's words, code, or concepts. The nearest line above it that says what it heads decides; a
    record of a call says it itself."""
    if _RAW.match(line.text):
        return FITS
    for number in line.above:
        above = page.lines[number]
        if not above.is_label and _PATH_FIRST.match(above.text):
            return APART if sort == "check" else MISPLACED
        classes = {name for name, pattern in _CLASSES.items() if pattern.search(above.text[:120])}
        if classes and (above.is_label or len(above.text) < 60):
            return FITS if classes & _FITS[sort] else MISPLACED if classes <= _NEVER[sort] else APART
    return APART


Statement = tuple[str, Line]


def verdict(
    kind: Kind, item: str, meant: str, said: Sequence[tuple[str, Line, str]], *, extra: bool = False
) -> Verdict:
    """Returns what statements say of an item: each is what it says, its line, and where it is (`place`)."""
    for sign, line, where in said:
        if sign != meant and where != APART:
            return Verdict(kind=kind, end=WRONG, item=item, why=f"{meant}, said {sign}", quote=line.text, extra=extra)
    for sign, line, where in said:
        if sign == meant and where == FITS:
            return Verdict(kind=kind, end=RIGHT, item=item, why=meant, quote=line.text)
    for _, line, where in said:
        if where == MISPLACED:
            why = "stands under what it can't be said of"
            return Verdict(kind=kind, end=WRONG, item=item, why=why, quote=line.text, extra=extra)
    return Verdict(kind=kind, end=ABSENT, item=item, why=meant)
