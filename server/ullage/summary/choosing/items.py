"""The items that a summary consists of, and their text under fixed headings."""

from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from enum import IntEnum
from itertools import groupby, pairwise
from operator import attrgetter
from textwrap import dedent

from msgspec import Struct

from ullage.model.message import number_of


class Section(IntEnum):
    """The sections of a summary, in the order in which they are written: the user's words before all else, then what
    the work has come to, then what to look things up in."""

    REQUESTS = 0
    TASK = 1
    INSTRUCTIONS = 2
    CONSTRAINTS = 3
    PLAN = 4
    STATE = 5
    NEXT = 6
    OPEN = 7
    FINDINGS = 8
    ERRORS = 9
    RECENT = 10
    EARLIER = 11
    LISTED = 12
    DETAILS = 13
    LOOKUP = 14


HEADINGS = {
    Section.REQUESTS: "## User requests",
    Section.TASK: "## Task",
    Section.INSTRUCTIONS: "## Standing instructions",
    Section.CONSTRAINTS: "## Constraints",
    Section.PLAN: "## Plan",
    Section.STATE: "## State of work",
    Section.NEXT: "## Next step",
    Section.OPEN: "## Open",
    Section.FINDINGS: "## Decisions and findings",
    Section.ERRORS: "## Errors and fixes",
    Section.RECENT: "## Last modified files",
    Section.EARLIER: "## Earlier summary",
    Section.LISTED: "## Lists and logs",
    Section.DETAILS: "## Details",
    Section.LOOKUP: "## Where to look",
}


class Item(Struct, frozen=True, kw_only=True, gc=False):
    """One entry of a summary. `index` is the index of the message that it comes from, -1 if there is none; `order` is
    its place among the pieces of that message. `value` is its worth in addition to that of its `anchors`. `group` is
    the file or command in which a detail was seen, or the title of a section of an earlier summary; empty for other
    sections. `first_line` is the number of a detail's first line in its file, 0 if unknown."""

    section: Section
    text: str
    index: int = -1
    order: int = 0
    anchors: tuple[str, ...] = ()
    group: str = ""
    value: float = 0.0
    first_line: int = 0


# A member of an enumeration is looked up more slowly.
_DETAILS, _EARLIER = Section.DETAILS, Section.EARLIER
_PLACE = attrgetter("index", "order")
# Marks a gap between two details that did not follow one another.
GAP_LINE = "…"
# Not indented, although it belongs to a list entry: the indentation of every line takes one token in fourteen.
FENCE = "```"
# Parts of a path, the empty one before its first slash included. A folder with fewer says nothing.
_SHALLOWEST = 4
# Characters of the line that names a folder, besides the folder.
_FOLDER_LINE = 20


def write_item(item: Item) -> str:
    """Returns an item's text as a list entry, a detail's as lines for its group's fence, and a line of an earlier
    summary unchanged."""
    section = item.section
    if section is _DETAILS:
        return f"{item.text}\n{GAP_LINE}"
    return item.text if section is _EARLIER else _entry(item.index, item.text)


def write_group(item: Item) -> str:
    """Returns the frame of a group: the list entry of details and an empty code fence, or a title of an earlier
    summary."""
    if item.section is _EARLIER:
        return f"\n### {item.group}\n"
    return f"{_group_line(item.group, _numbers([[item]]), item.index)}\n{FENCE}\n{FENCE}"


# The lines of groups of details that have been written, by the identities of their items: the numbers of the lines in
# their file, and the lines themselves.
WrittenLines = MutableMapping[Sequence[int], tuple[str, str]]


def write_section(section: Section, items: Sequence[Item], known: WrittenLines | None = None) -> str:
    """Returns the text of one section: its heading and its items in the order of the conversation. Findings of one
    message are one entry; those that name no message are an entry each. Details are collected under their groups, and
    what an earlier summary said under its own titles. `known` remembers the lines of the details' groups."""
    ordered = sorted(items, key=_PLACE)
    lines = [HEADINGS[section]]
    if section is _DETAILS:
        lines.extend(_write_details(ordered, {} if known is None else known))
    elif section is _EARLIER:
        for group, said in groupby(ordered, key=lambda item: item.group):
            lines.extend(["", f"### {group}"] if group else [])
            lines.extend(item.text for item in said)
    elif section is Section.FINDINGS:
        for index, said in groupby(ordered, key=lambda item: item.index):
            texts = [item.text for item in said]
            lines.extend(_entry(index, text) for text in ([joined(texts)] if index >= 0 else texts))
    else:
        lines.extend(write_item(item) for item in ordered)
    return "\n".join(lines)


def _write_details(ordered: Sequence[Item], known: WrittenLines) -> Iterator[str]:
    groups: dict[tuple[str, int], list[Item]] = {}
    for item in ordered:
        groups.setdefault((item.group, item.index), []).append(item)
    folder = _common_folder([group for group, _ in groups])
    if folder:
        yield f"Files are in `{folder}`."
    for (group, index), members in groups.items():
        key = tuple(map(id, members))
        if key not in known:
            known[key] = _write_lines(members)
        numbers, lines = known[key]
        yield f"{_group_line(group.removeprefix(folder), numbers, index)}\n{FENCE}\n{lines}\n{FENCE}"


def _write_lines(members: Sequence[Item]) -> tuple[str, str]:
    """Returns the numbers of a group's lines in their file, and the lines."""
    runs = list(_neighbours(members))
    return _numbers(runs), f"\n{GAP_LINE}\n".join([dedent(_run_text(run)) for run in runs])


def _neighbours(members: Sequence[Item]) -> Iterator[list[Item]]:
    """Yields the details of a group in runs of those that followed one another, up to one line apart."""
    run: list[Item] = []
    for item in members:
        if run and item.order - _end(run[-1]) not in (0, 1):
            yield run
            run = []
        run.append(item)
    yield run


def _end(item: Item) -> int:
    """Returns the order of the line after a detail."""
    return item.order + item.text.count("\n") + 1


def _run_text(run: Sequence[Item]) -> str:
    """Returns the lines of neighbouring details. A line between two of them has no word, so that it is left blank."""
    parts = [run[0].text]
    for before, item in pairwise(run):
        parts.append("\n" * (item.order - _end(before)) + item.text)
    return "\n".join(parts)


def _common_folder(groups: Sequence[str]) -> str:
    """Returns the folder that shortens these files' paths most when it is named once, empty if none does."""
    saved = Counter[str]()
    for group in groups:
        if group.startswith("/") and " " not in group:
            parts = group.split("/")
            for deep in range(_SHALLOWEST, len(parts)):
                folder = "/".join(parts[:deep]) + "/"
                saved[folder] += len(folder) - (0 if folder in saved else len(folder) + _FOLDER_LINE)
    best = max(saved, key=lambda folder: saved[folder], default="")
    return best if best and saved[best] > 0 else ""


def _group_line(group: str, numbers: str, index: int) -> str:
    """Returns a group's list entry: the file with the numbers of the lines, and the number of the message."""
    return f"- {group}{numbers} (#{number_of(index)})"


def _numbers(runs: Sequence[Sequence[Item]]) -> str:
    """Returns the numbers of the lines of a group after a colon, empty if one is unknown."""
    spans = [_span(run) for run in runs]
    return f":{', '.join(spans)}" if all(spans) else ""


def _span(run: Sequence[Item]) -> str:
    """Returns the numbers of the first and the last line of a run of details, empty if one is unknown."""
    if not all(item.first_line for item in run):
        return ""
    last = run[-1].first_line + run[-1].text.count("\n")
    return f"{run[0].first_line}-{last}"


def joined(texts: Iterable[str]) -> str:
    """Returns the texts of one message's items on one line. A text without final punctuation gets a semicolon after it,
    except the last."""
    return " ".join(text if text[-1:] in ".!?:;," else f"{text};" for text in texts).removesuffix(";")


def _entry(index: int, text: str) -> str:
    text = text.replace("\n", "\n  ")
    return f"- #{number_of(index)} {text}" if index >= 0 else f"- {text}"
