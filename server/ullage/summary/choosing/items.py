"""The items that a summary consists of, and their text under fixed headings."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby

from msgspec import Struct


class Section(IntEnum):
    """The fixed sections, in the order of the summary."""

    TASK = 0
    INSTRUCTIONS = 1
    CONSTRAINTS = 2
    REQUESTS = 3
    FINDINGS = 4
    ERRORS = 5
    OPEN = 6
    PLAN = 7
    STATE = 8
    RECENT = 9
    DETAILS = 10
    NEXT = 11
    LOOKUP = 12


HEADINGS = {
    Section.TASK: "## Task",
    Section.INSTRUCTIONS: "## Standing instructions",
    Section.CONSTRAINTS: "## Constraints",
    Section.REQUESTS: "## User requests",
    Section.FINDINGS: "## Decisions and findings",
    Section.ERRORS: "## Errors and fixes",
    Section.OPEN: "## Open",
    Section.PLAN: "## Plan",
    Section.STATE: "## State of work",
    Section.RECENT: "## Last modified files",
    Section.DETAILS: "## Details",
    Section.NEXT: "## Next step",
    Section.LOOKUP: "## Where to look",
}


class Item(Struct, frozen=True, kw_only=True):
    """One entry of a summary. `index` is the message it comes from, -1 if none. `order` is its place among the
    pieces of that message. `value` is its worth in addition to its anchors. `group` is the file or command in which
    a detail was seen."""

    section: Section
    text: str
    index: int = -1
    order: int = 0
    anchors: tuple[str, ...] = ()
    group: str = ""
    value: float = 0.0


# Marks a gap between two details that did not follow one another.
GAP_LINE = "…"
FENCE = "  ```"


def write_item(item: Item) -> str:
    """Returns an item as a list entry, or a detail as lines within its group."""
    return _indented(f"{item.text}\n{GAP_LINE}") if item.group else _entry(item.index, item.text)


def write_group(item: Item) -> str:
    """Returns the entry of a group of details, with the frame around the details."""
    return f"{_group_line(item)}\n{FENCE}\n{FENCE}"


def write_section(section: Section, items: Sequence[Item]) -> str:
    """Returns one section with its heading, in the order of the conversation. Findings of one message are one entry.
    Details are collected under their groups."""
    ordered = sorted(items, key=lambda item: (item.index, item.order))
    lines = [HEADINGS[section]]
    if section is Section.DETAILS:
        lines.extend(_write_details(ordered))
    elif section is Section.FINDINGS:
        for index, said in groupby(ordered, key=lambda item: item.index):
            lines.append(_entry(index, _joined(item.text for item in said)))
    else:
        lines.extend(write_item(item) for item in ordered)
    return "\n".join(lines)


def _write_details(ordered: Sequence[Item]) -> Iterator[str]:
    groups: dict[str, list[Item]] = {}
    for item in ordered:
        groups.setdefault(item.group, []).append(item)
    for members in groups.values():
        yield f"{_group_line(members[0])}\n{FENCE}"
        for before, item in zip([None, *members], members, strict=False):
            if before and (before.index, before.order + 1) != (item.index, item.order):
                yield _indented(GAP_LINE)
            yield _indented(item.text)
        yield FENCE


def _group_line(item: Item) -> str:
    return f"- {item.group} (#{item.index})"


def _indented(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")


def _joined(texts: Iterable[str]) -> str:
    """Returns the pieces of one message as running text."""
    return " ".join(text if text[-1:] in ".!?:;," else f"{text};" for text in texts).removesuffix(";")


def _entry(index: int, text: str) -> str:
    text = text.replace("\n", "\n  ")
    return f"- #{index} {text}" if index >= 0 else f"- {text}"
