"""Reading an earlier summary back into items, so that its facts are carried on and not summarized a second time."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from ullage.model.blocks import CompactionBlock
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import FENCE, GAP_LINE, HEADINGS, Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.excerpts import blocks, prose
from ullage.summary.tuning import TUNING, Tuning

_BY_HEADING = {heading: section for section, heading in HEADINGS.items()}
_ENTRY = re.compile(r"- (?:#(\d+) )?(.*)")
_GROUP = re.compile(r"- (.+) \(#(\d+)\)$")
# Both sections describe the archive at the time of that summary.
_OUTDATED = {Section.NEXT, Section.LOOKUP}


def read_previous(block: CompactionBlock | None, tuning: Tuning = TUNING) -> list[Item]:
    """Returns the items of an earlier marker's summary; empty if there is none. Text under headings other than ours
    (written by a model or a user) becomes findings."""
    if block is None:
        return []
    items = [item for heading, body in _sections(block.summary) for item in _items(heading, body)]
    newest = max((item.index for item in items), default=0) or 1
    return [replace(item, value=_value(item, newest, tuning)) for item in items]


def _value(item: Item, newest: int, tuning: Tuning) -> float:
    """Returns the value of an item's section, and more for an older item: an older item has been kept more often and
    can be learned again least."""
    seniority = tuning.seniority * (1 - max(item.index, 0) / newest)
    match item.section:
        case Section.CONSTRAINTS | Section.INSTRUCTIONS:
            return 1.0 + seniority
        case Section.ERRORS | Section.OPEN:
            return tuning.error_value + seniority
        case _:
            return tuning.said_value + seniority


def _sections(summary: str) -> Iterator[tuple[str, list[str]]]:
    heading, body = "", list[str]()
    for line in summary.splitlines():
        if line.startswith("#") and not line.startswith("# #"):
            yield heading, body
            heading, body = line.strip(), []
        else:
            body.append(line)
    yield heading, body


def _items(heading: str, body: list[str]) -> Iterator[Item]:
    section = _BY_HEADING.get(heading)
    if section in _OUTDATED:
        return
    if section is None:
        for piece in prose(clean("\n".join(body))):
            yield _item(Section.FINDINGS, piece, -1)
    elif section is Section.DETAILS:
        yield from _details(body)
    elif section is Section.FINDINGS:
        yield from (_item(section, piece, index) for text, index in _entries(body) for piece in prose(text))
    else:
        yield from (_item(section, text, index) for text, index in _entries(body))


def _entries(body: list[str]) -> Iterator[tuple[str, int]]:
    """Yields list entries with their continuation lines, and the message index that each names, -1 if none."""
    text, index = "", -1
    for line in body:
        match = _ENTRY.match(line)
        if match:
            if text:
                yield text, index
            text, index = match[2], int(match[1] or -1)
        elif line.strip():
            text += "\n" * bool(text) + line.removeprefix("  ")
    if text:
        yield text, index


def _details(body: list[str]) -> Iterator[Item]:
    """Yields details, divided at gaps and where a run of neighbouring lines is long."""
    group, index, stretch = "", -1, list[str]()
    for line in [*body, ""]:
        match = _GROUP.match(line)
        inside = line.startswith("  ") and line not in (FENCE, f"  {GAP_LINE}")
        if stretch and not inside:
            for order, piece in enumerate(blocks("\n".join(stretch))):
                yield replace(_item(Section.DETAILS, piece, index, group), order=order)
            stretch = []
        if match:
            group, index = match[1], int(match[2])
        elif inside and group:
            stretch.append(line)


def _item(section: Section, text: str, index: int, group: str = "") -> Item:
    return Item(section=section, text=text, index=index, group=group, anchors=find_anchors(text))
