"""Rows: lines of output that say the same of one name after another, such as passed tests, paths and progress.

A reader needs their number and a few of the names, not the lines. The patterns are tried at the beginning of a
line and have bounded repetitions, because every line that a tool printed is looked at.
"""

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

# Fewer lines of a kind are read faster than a count of them.
FEWEST_ROWS = 4
# Names remembered of each kind. A summary shows the few that matter most.
_MOST_NAMES = 200
# Characters. A longer line holds more than a name.
_LONGEST = 240
# Characters. Shorter lines, such as a closing bracket or `return None`, occur everywhere in a file.
_TELLING = 32


class RowKind(StrEnum):
    """What the rows say of their names."""

    PASSED = "passed"
    DELETED = "deleted"
    MODIFIED = "modified"
    ADDED = "added"
    RENAMED = "renamed"
    UNTRACKED = "untracked"
    CONFLICT = "in conflict"
    PATH = "path"
    COMMIT = "commit"
    # A name in these says nothing to a reader: logs, and lines that are printed again and again.
    PROGRESS = "progress"


class RowGroup(Struct, frozen=True, kw_only=True):
    """The rows of one kind in a text: how many names they have, and the first of these."""

    kind: RowKind
    count: int
    names: tuple[str, ...]


class Rows(Struct, frozen=True, kw_only=True):
    """The rows of a text: `places` are the indices of their lines."""

    places: frozenset[int]
    groups: tuple[RowGroup, ...]


NO_ROWS = Rows(places=frozenset(), groups=())
_FILE = r"[\w@.+-]{1,80}\.[A-Za-z]\w{0,7}"
# Possessive, because the slash that ends a part cannot occur within it.
_PATH = r"[~\w@.+()\[\]-]{0,80}+(?:/[\w@.+()\[\]-]{1,80}+){0,16}+/?"
# The indentation is possessive: given back space by space, all that follows would be tried again for each.
_PATTERN = re.compile(
    r"\s{0,16}+(?:"
    # cargo, pytest, go, unittest and the check marks of JavaScript's runners.
    r"test (?P<t1>\S+)(?: - should panic)? \.\.\. (?:ok|ignored)\b"
    r"|PASSED (?P<t3>\S+)$|(?:---|===) (?:PASS:?|RUN|PAUSE|CONT) +(?P<t4>\S+)"
    r"|ok +\t?(?P<t5>[\w.-]+/[\w./-]+)\s|[✓✔√] (?P<t6>\S.{0,160})$|(?P<t7>test_\w+ \([\w.]+\)) \.\.\. ok$"
    r"|(?P<t0>running \d+ tests?|test result: ok\.)"
    # git.
    rf"|(?P<status>[MADRCUT?]{{1,2}}) {{1,2}}(?=\S*[./])(?P<g1>{_PATH})(?: -> {_PATH})?$"
    rf"|(?P<word>modified|deleted|new file|renamed|both modified|create mode \d+|delete mode \d+):? +(?P<g2>{_PATH})"
    rf"(?: -> {_PATH})?$"
    rf"|CONFLICT \([^)]{{1,40}}\): Merge conflict in (?P<conflict>{_PATH})$"
    r"|(?:[*|\\/] {0,2}){0,6}(?P<commit>(?=[a-f]{0,39}\d)[0-9a-f]{7,40} (?:\([^)]{1,120}\) )?\S.{0,160})$"
    # Lists of files and folders.
    r"|[-dlbcps](?:[r-][w-][xsStT-]){3}[@+.]? .*[ /](?P<p1>[\w@.+-]+)$|(?P<p0>total \d+)$"
    r"|[│├└─| `]*[├└|`]─{1,2} ?(?P<p2>[\w@.+-]+/?)(?: .*)?$"
    rf"|[-*] (?P<p3>{_FILE}|[\w@.+-]{{1,80}}/)$"
    # What begins with a path. A blank line next to a match of `grep` has its number after the path, with dashes.
    r"|(?=[~\w@+()-]{0,80}[./])(?:"
    rf"(?P<p4>(?!\S{{1,200}}-\d{{1,6}}-$)(?:{_FILE}|[~.\w@+-]{{0,80}}/{_PATH})"
    rf"(?:[ \t]+(?:{_FILE}|[\w@.+-]{{1,80}}/|[A-Z]{{4,20}}))*)$"
    r"|(?P<t2>[\w./-]{1,160}::\S{1,160}) PASSED\b|(?P<t8>[\w./-]{1,160}\.py) [.sxX]+ +\[ {0,2}\d{1,3}%\]$"
    rf"|(?P<g3>{_PATH}) +\| +(?:\d+ ?[+-]*|Bin .*)$)"
    # Progress and logs.
    r"|(?P<log>(?:Compiling|Downloading|Downloaded|Collecting|Fetching|Fetched|Resolving|Installing|Building|Updating"
    r"|Locking|Unpacking|Preparing|Setting up|Selecting|Using cached|Cached|Requirement already satisfied|Linking"
    r"|Get:\d|Hit:\d|Pulling|Extracting|Receiving|Counting|Compressing|Attempting uninstall|Found existing"
    r"|Uninstalling|Stored in|Created wheel|Obtaining|Checking|Fresh|npm (?:warn|WARN|http|notice)|remote:)\b:? \S"
    r"|\[ {0,2}\d{1,3}%\] |\d{1,3}%[|\[ ]|\[\d{1,5}/\d{1,5}\] "
    # TeX's log: files and pages in brackets, fonts, boxes.
    r"|\){0,8} ?\((?:\./|/usr/)\S+|(?:\[\d+\][\])} ({<]*){1,9}(?:\(\.|<|$)|\[\]?\\O|\[\]\[\]"
    r"|\S*(?:\.pfb>|</usr/|\\O(?:T1|ML|MS)/)"
    r"|(?:Over|Under)full \\[hv]box|LaTeX (?:Font )?(?:Info|Warning): (?:Cit|Ref|Lab|Font)|Document Class:|LaTeX2e <"
    r"|L3 programming|Package \w+ (?:Info|Warning):))"
)
# Characters with which lines of code end, and rows don't. Looking at one character costs less than the pattern.
_CODE_ENDS = frozenset("{};,:(=\"'`&|")
_STATUS = {
    "D": RowKind.DELETED,
    "M": RowKind.MODIFIED,
    "A": RowKind.ADDED,
    "R": RowKind.RENAMED,
    "?": RowKind.UNTRACKED,
    "U": RowKind.CONFLICT,
}
_WORDS = {
    "deleted": RowKind.DELETED,
    "delete mode": RowKind.DELETED,
    "new file": RowKind.ADDED,
    "create mode": RowKind.ADDED,
    "renamed": RowKind.RENAMED,
    "both modified": RowKind.CONFLICT,
}
# Kinds by the groups of the pattern that say no more than their kind.
_KINDS = {"log": RowKind.PROGRESS, "commit": RowKind.COMMIT, "conflict": RowKind.CONFLICT}


def find_rows(lines: Sequence[str]) -> Rows:
    """Returns the rows among lines that a tool printed, none if there are fewer than `FEWEST_ROWS`."""
    places: dict[RowKind, list[int]] = {}
    names: dict[RowKind, list[str]] = {}
    if len(lines) < FEWEST_ROWS:
        return NO_ROWS
    for place, line in enumerate(lines):
        if 4 < len(line) <= _LONGEST and line[-1] not in _CODE_ENDS and (match := _PATTERN.match(line)):
            kind, said = _read(match)
            places.setdefault(kind, []).append(place)
            # A line may list several files. `.` and `..` are no names.
            named = said.split() if match.lastgroup == "p4" else [said]
            names.setdefault(kind, []).extend(name for name in named if name.strip("."))
    if len(lines) - len(set(lines)) >= FEWEST_ROWS - 1:
        times = Counter(lines)
        again = [place for place, line in enumerate(lines) if times[line] >= FEWEST_ROWS and len(line) > _TELLING]
        places[RowKind.PROGRESS] = [*places.get(RowKind.PROGRESS, ()), *again]
    if sum(map(len, places.values())) < FEWEST_ROWS:
        return NO_ROWS
    return Rows(
        places=frozenset(place for found in places.values() for place in found),
        groups=tuple(
            RowGroup(kind=kind, count=len(found), names=tuple(found[:_MOST_NAMES]))
            for kind in places
            if (found := names.get(kind))
        ),
    )


def _read(match: re.Match[str]) -> tuple[RowKind, str]:
    """Returns the kind of a row and the name in it, empty if there is none to show."""
    which = match.lastgroup or ""
    said = match[which] if which else ""
    if which in _KINDS:
        return _KINDS[which], "" if which == "log" else said
    if which.startswith("t"):
        return RowKind.PASSED, "" if which == "t0" else said
    if which.startswith("p"):
        return RowKind.PATH, "" if which == "p0" else said
    status, word = match["status"], match["word"]
    if status:
        return _STATUS.get(status.strip("?CT")[:1] or "?", RowKind.MODIFIED), said
    return _WORDS.get((word or "").rstrip(" 0123456789"), RowKind.MODIFIED), said
