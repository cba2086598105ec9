"""Judges what a page says of the state at a cut: rightly, wrongly, or not at all. For the state bench.

A statement counts only with its meaning. An item is *right* if the page says it with what makes it a statement: whose
words they are, which state a task is in, what was done to a file, how a check ended, what mended a problem. It is
*wrong* if the page says the contrary, or says it of another thing (under another parent). Else it is *absent*. A bare
name or a line that is apart from what it belongs to says nothing, so that lists of names and shuffled pages score
nothing.

Where a page says both, the wrong statement counts: who reads it can't know which one holds.

Here is also judged whether a page says what the user said: whole, and as the user's.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from benches.state_page import Line, Page, find_passage, find_whole, words
from benches.state_truth import Truth


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


_SHORT, _BOUND, _LONG, _EDGE = 8, 4, 150, 60
_MOST = 0.8
_USER = re.compile(
    r"\b(?:users?|requests?|asked|typed|instructions?|prompts?|human|person|your words|refus|overrul"
    r"|said by you|messages)\b",
    re.IGNORECASE,
)
_USER_INLINE = re.compile(
    r"^\W*(?:#\d+\s*)?(?:the\s+)?user\b"
    r"|\buser(?:'s)?\s+(?:said|asks?|asked|wants?|wanted|requested|request|replied|message|messages"
    r"|confirmed|answered|typed|rejected|"
    r"interrupted|pointed|reported|noted|approved|chose|then|also|explicitly|corrected|clarified|feedback|quote)\b",
    re.IGNORECASE,
)


def _is_users(page: Page, line: Line) -> bool:
    """Whether a page says that a line is the user's, in it or in what it is under."""
    if _USER_INLINE.search(line.text):
        return True
    return any(_USER_INLINE.search(label) or _USER.search(label[:120]) for label in page.labels(line))


def judge_said(page: Page, truth: Truth) -> Iterator[Verdict]:
    users = {line.number for line in page.lines if _is_users(page, line)}
    mine = [number for number, line in enumerate(page.line_of) if line in users]
    own = [page.words[number] for number in mine]
    for message in dict.fromkeys(truth.words):
        kind = Kind.REFUSAL if message.refuses else Kind.REQUEST
        if not (wanted := words(message.text)):
            continue
        if (start := _standing(page, own, wanted, message.text)) is not None:
            at: int | None = page.line_of[mine[start]]
        elif (start := _standing(page, page.words, wanted, message.text)) is not None:
            # It is whole in lines of which some are nobody's.
            at = line if (line := page.line_of[start]) in users else None
        else:
            at = None
        end = ABSENT if at is None else RIGHT
        yield Verdict(kind=kind, end=end, item=message.text, quote="" if at is None else page.lines[at].text)


def _standing(page: Page, stream: Sequence[str], wanted: Sequence[str], text: str) -> int | None:
    """Returns the first word's place in a stream of words where a message is as it is: a short one whole, a longer
    one in most of its sequences, a very long one at least in its beginning and its end."""
    if len(wanted) <= _SHORT:
        for start in find_whole(stream, wanted):
            if len(wanted) > _BOUND or _is_bound(page, text):
                return start
        return None
    passage = find_passage(stream, wanted)
    if passage.share >= _MOST:
        return passage.start
    if len(wanted) > _LONG:
        edges = find_passage(stream, wanted[:_EDGE]), find_passage(stream, wanted[-_EDGE:])
        if all(edge.share >= _MOST for edge in edges):
            return edges[0].start
    return None


def _is_bound(page: Page, text: str) -> bool:
    """Whether a few words are by themselves: as a line, or in quotation marks."""
    bound = re.compile(
        rf"(?:^|[\"“'`:]\s*|^\W*#\d+\W*){re.escape(text.strip())}[.!?]?(?:$|[\"”'`]|\s*\()", re.IGNORECASE
    )
    return any(bound.search(line.text) for line in page.lines)
