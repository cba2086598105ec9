"""Judges what a page says of the state at a cut: rightly, wrongly, or not at all. For the state bench.

A statement counts only with its meaning. An item is *right* if the page says it with what makes it a statement: whose
words they are, which state a task is in, what was done to a file, how a check ended, what mended a problem. It is
*wrong* if the page says the contrary, says it of another thing (under another parent), or puts the user's words into
another's mouth or order. Else it is *absent*. A bare name or a line that is apart from what it belongs to says
nothing, so that lists of names and shuffled pages score nothing.

Where a page says both, the wrong statement counts: who reads it can't know which one holds.

Here is also judged whether a page says what the user said: whole, as the user's, and in its order.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from benches.state_page import Line, Page, find_passage, find_whole, longest_order, words
from benches.state_truth import Truth, Words


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
_MOST, _MOST_LONG = 0.8, 0.6
_FEWEST_ORDERED, _ORDERED_SHARE = 4, 0.7
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
_OTHER = re.compile(
    r"\b(?:assistant|agent|claude|codex|gemini|model|decisions?|decided|findings?|found|code|output"
    r"|files?|commands?|errors?|fix|details"
    r"|commits?|tests?|state|plan|progress|concepts?|ran|failed|look|read|modified|changed|result|call)\b",
    re.IGNORECASE,
)
_PROPOSES = re.compile(r"\b(?:recommend\w*|suggest\w*|propos\w*|option \w+)\b", re.IGNORECASE)
_DECIDED = re.compile(r"\b(?:decisions?|decided|findings?|found|chosen|approach|conclusions?|plan)\b", re.IGNORECASE)


class _Speakers:
    """Who says each line of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._of = {line.number: self._speaker(line) for line in page.lines}

    def __getitem__(self, line: Line) -> str:
        return self._of[line.number]

    def _speaker(self, line: Line) -> str:
        if _USER_INLINE.search(line.text):
            return "user"
        for label in self.page.labels(line):
            if _USER_INLINE.search(label) or _USER.search(label[:120]):
                return "user"
            if _OTHER.search(label[:120]):
                return "other"
        return ""


def judge_said(page: Page, truth: Truth) -> Iterator[Verdict]:
    speakers = _Speakers(page)
    mine = [number for number, line in enumerate(page.line_of) if speakers[page.lines[line]] == "user"]
    own = [page.words[number] for number in mine]
    found: list[tuple[Words, Verdict, Line | None]] = []
    for message in dict.fromkeys(truth.words):
        kind = Kind.REFUSAL if message.refuses else Kind.REQUEST
        wanted = words(message.text)
        if not wanted:
            continue
        start = _standing(page, own, wanted, message.text)
        if start is not None:
            at = page.lines[page.line_of[mine[start]]]
            found.append((message, Verdict(kind=kind, end=RIGHT, item=message.text, quote=at.text), at))
            continue
        start = _standing(page, page.words, wanted, message.text)
        if start is None:
            found.append((message, Verdict(kind=kind, end=ABSENT, item=message.text), None))
            continue
        line = page.lines[page.line_of[start]]
        speaker = speakers[line]
        end = RIGHT if speaker == "user" else WRONG if speaker == "other" and _BOUND < len(wanted) <= _LONG else ABSENT
        why = f"said by {speaker or 'nobody'}"
        verdict = Verdict(kind=kind, end=end, item=message.text, why=why, quote=line.text)
        found.append((message, verdict, line if end == RIGHT else None))
    yield from _ordered(found)
    yield from _overruled(page, truth, speakers)


def _standing(page: Page, stream: Sequence[str], wanted: Sequence[str], text: str) -> int | None:
    """Returns the first word's place in a stream of words where a message is as it is: a short one whole, a longer
    one in most of its sequences, a very long one at least in its beginning and its end."""
    if len(wanted) <= _SHORT:
        for start in find_whole(stream, wanted):
            if len(wanted) > _BOUND or _is_bound(page, text):
                return start
        return None
    passage = find_passage(stream, wanted)
    if passage.share >= (_MOST if len(wanted) <= _LONG else _MOST_LONG):
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


def _ordered(found: Sequence[tuple[Words, Verdict, Line | None]]) -> Iterator[Verdict]:
    """Words under one heading have an order: where they have none, what falls out of it is said at the wrong time."""
    groups: dict[int, list[int]] = {}
    for at, (_, _, line) in enumerate(found):
        if line is not None:
            groups.setdefault(line.above[0] if line.above else -1, []).append(at)
    wrong: set[int] = set()
    for group in groups.values():
        numbers = [found[at][2].number for at in group]  # type: ignore[union-attr]
        kept = longest_order(numbers)
        if len(group) < _FEWEST_ORDERED or len(kept) >= _ORDERED_SHARE * len(group):
            continue
        wrong |= {at for place, at in enumerate(group) if place not in kept and numbers.count(numbers[place]) == 1}
    for at, (_, verdict, _) in enumerate(found):
        yield replace(verdict, end=WRONG, why="out of order") if at in wrong else verdict


def _overruled(page: Page, truth: Truth, speakers: _Speakers) -> Iterator[Verdict]:
    """Sentences of a proposal that the user turned down, said as decided without the user's words next to it."""
    for message in truth.words:
        if not message.refuses or not message.proposal:
            continue
        refused = words(message.text)[:4]
        for line in page.lines:
            own = words(line.text)
            if (
                refused
                and not line.is_code
                and len(own) >= 8
                and _PROPOSES.search(line.text)
                and speakers[line] != "user"
                and any(_DECIDED.search(label) for label in page.labels(line))
                and find_passage(words(message.proposal), own).share >= 0.7
                and not find_whole(own, refused)
            ):
                why = "what the user turned down, as decided"
                yield Verdict(kind=Kind.REFUSAL, end=WRONG, item=message.text, why=why, extra=True, quote=line.text)
                break


def cover(page: Page, truth: Truth) -> tuple[list[float], list[bool]]:
    """Returns for each message that the user typed the share of it that is verbatim in the page (a short one:
    all or nothing), and for each short message whether it is whole."""
    shares: list[float] = []
    whole: list[bool] = []
    for message in dict.fromkeys(truth.words):
        wanted = words(message.text)
        if not wanted:
            continue
        if len(wanted) <= 3 * _SHORT:
            stands = bool(find_whole(page.words, wanted)) and (len(wanted) > _BOUND or _is_bound(page, message.text))
            whole.append(stands)
            shares.append(float(stands))
        else:
            shares.append(find_passage(page.words, wanted).share)
    return shares, whole
