"""The items a summary is made of, and how they are written under their headings."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby

from msgspec import Struct


class Section(IntEnum):
    """The fixed sections, in the order they are written."""

    TASK = 0
    CONSTRAINTS = 1
    REQUESTS = 2
    FINDINGS = 3
    ERRORS = 4
    STATE = 5
    DETAILS = 6
    NEXT = 7
    LOOKUP = 8


HEADINGS = {
    Section.TASK: "## Task",
    Section.CONSTRAINTS: "## Constraints",
    Section.REQUESTS: "## User requests",
    Section.FINDINGS: "## Decisions and findings",
    Section.ERRORS: "## Errors and fixes",
    Section.STATE: "## State of work",
    Section.DETAILS: "## Details",
    Section.NEXT: "## Next step",
    Section.LOOKUP: "## Where to look",
}


class Item(Struct, frozen=True, kw_only=True):
    """One entry. `index` is the message it comes from (-1: of none), `order` its place among
    the pieces of that message, `value` what it is worth beside its anchors, `scale` how much these count here,
    `group` the file or command a detail was seen in."""

    section: Section
    text: str
    index: int = -1
    order: int = 0
    anchors: tuple[str, ...] = ()
    group: str = ""
    value: float = 0.0
    scale: float = 1.0


def write_item(item: Item) -> str:
    """The item as a list entry; a detail as an entry below its group's."""
    return _entry(item.group, item.index, item.text)


def write_group(item: Item) -> str:
    """The entry that a group's details stand under."""
    return f"- {item.group} (#{item.index})"


def write_section(section: Section, items: Sequence[Item]) -> str:
    """One section with its heading, in the order of the conversation. What was said in one message is one entry;
    details are gathered under their groups."""
    ordered = sorted(items, key=lambda item: (item.index, item.order))
    lines = [HEADINGS[section]]
    if section is Section.DETAILS:
        lines.extend(_write_details(ordered))
    elif section is Section.FINDINGS:
        for index, said in groupby(ordered, key=lambda item: item.index):
            lines.append(_entry("", index, _joined(item.text for item in said)))
    else:
        lines.extend(write_item(item) for item in ordered)
    return "\n".join(lines)


def _write_details(ordered: Sequence[Item]) -> Iterator[str]:
    groups: dict[str, list[Item]] = {}
    for item in ordered:
        groups.setdefault(item.group, []).append(item)
    for members in groups.values():
        yield write_group(members[0])
        yield from (write_item(item) for item in members)


def _joined(texts: Iterable[str]) -> str:
    """Pieces of one message as running text."""
    return " ".join(text if text[-1:] in ".!?:;," else f"{text};" for text in texts).removesuffix(";")


def _entry(group: str, index: int, text: str) -> str:
    if group:
        return "  - " + text.replace("\n", "\n    ")
    text = text.replace("\n", "\n  ")
    return f"- #{index} {text}" if index >= 0 else f"- {text}"
