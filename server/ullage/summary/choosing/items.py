"""The items a summary is made of, and how they are written under their headings."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby

from msgspec import Struct


class Section(IntEnum):
    """The fixed sections, in the order they are written."""

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
    """One entry. `index` is the message it comes from (-1: of none), `order` its place among
    the pieces of that message, `value` what it is worth beside its anchors, `group` the file or command a detail was
    seen in."""

    section: Section
    text: str
    index: int = -1
    order: int = 0
    anchors: tuple[str, ...] = ()
    group: str = ""
    value: float = 0.0


# Stands between details that were not neighbours.
GAP_LINE = "…"
FENCE = "  ```"


def write_item(item: Item) -> str:
    """The item as a list entry; a detail as lines among its group's."""
    return _indented(f"{item.text}\n{GAP_LINE}") if item.group else _entry(item.index, item.text)


def write_group(item: Item) -> str:
    """The entry that a group's details stand under, with the frame around them."""
    return f"{_group_line(item)}\n{FENCE}\n{FENCE}"


def write_section(section: Section, items: Sequence[Item]) -> str:
    """One section with its heading, in the order of the conversation. What was said in one message is one entry;
    details are gathered under their groups."""
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
    """Pieces of one message as running text."""
    return " ".join(text if text[-1:] in ".!?:;," else f"{text};" for text in texts).removesuffix(";")


def _entry(index: int, text: str) -> str:
    text = text.replace("\n", "\n  ")
    return f"- #{index} {text}" if index >= 0 else f"- {text}"
