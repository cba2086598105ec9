"""Reading an earlier summary back into items, so that its facts are carried on and not summarized a second time."""

import re
from collections.abc import Iterator, Set
from textwrap import dedent

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import is_summary
from ullage.model.blocks import CompactionBlock
from ullage.model.message import index_of
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import FENCE, GAP_LINE, HEADINGS, Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.excerpts import prose
from ullage.summary.tuning import TUNING, Tuning

_BY_NAME = {heading.removeprefix("## ").lower(): section for section, heading in HEADINGS.items()}
# What agents call the list of the user's messages in their summaries.
_BY_NAME["all user messages"] = Section.REQUESTS
_ENTRY = re.compile(r"- (?:#(\d+) )?(.*)")
_GROUP = re.compile(r"- (.+?)(?::(\d+-\d+(?:, \d+-\d+)*))? \(#(\d+)\)$")
_HEADING = re.compile(r"(#{1,4}) +(\S.*)")
# A title without a Markdown heading: `2. Key Technical Concepts:`, `Analysis:`, `**Progress**`.
_TITLE = re.compile(r"(?:\d+\. )?([A-Z][^.:*]{0,60}):|\*\*([^*]{1,60}?):?\*\*:?")
# Words to the agent with which its program ends a summary. They are no part of the record.
_CLOSING = re.compile(
    r"(?:Please )?[Cc]ontinue (?:the conversation|with the last task)|If you need specific details from"
)
# Both sections describe the archive at the time of that summary.
_OUTDATED = {Section.NEXT, Section.LOOKUP}
# The titles under which a summary says what was being done. The conversation has gone on since.
_OF_THAT_TIME = re.compile(r"\b(?:pending|current|next|remaining|in progress|to-?do|open)\b", re.IGNORECASE)
_THEN = " (at that time)"
# The titles of the two parts of an agent's summary: the second repeats the first in order.
_DRAFT, _FINAL = "Analysis", "Summary"


class _Part(Struct):
    """A section of a summary as it was read: its level (0 without a Markdown heading), its title, and its lines.
    Mutable while it is read."""

    level: int
    title: str
    body: list[str]


def read_previous(block: CompactionBlock | None, tuning: Tuning = TUNING) -> list[Item]:
    """Returns the items of an earlier marker's summary; empty if there is none. See `read_summary`."""
    return read_summary(block.summary, tuning) if block else []


def read_summary(summary: str, tuning: Tuning = TUNING) -> list[Item]:
    """Returns the items of a summary that Ullage, a model or an agent wrote. The sections on the next step and on
    searching the archive are left out, because they are outdated. Text under headings other than Ullage's keeps its
    lines, its order and its titles, as items of the section `EARLIER`."""
    parts = list(_parts(summary))
    drafted = {_DRAFT} if any(part.title == _FINAL for part in parts) else set[str]()
    # What names no message keeps the order of the earlier summary.
    items = [
        item if item.index >= 0 else replace(item, order=order)
        for order, item in enumerate(item for part in parts for item in _items(part, tuning, drafted))
    ]
    newest = max((item.index for item in items), default=0) or 1
    return [replace(item, value=item.value + _value(item, newest, tuning)) for item in items]


def _value(item: Item, newest: int, tuning: Tuning) -> float:
    """Returns an item's value: that of its section, and up to `tuning.seniority` more the older its message is. An
    older item has survived more compactions, and the conversation since says less of it. `newest` is the newest item's
    message index."""
    seniority = tuning.seniority * (1 - max(item.index, 0) / newest)
    match item.section:
        case Section.EARLIER:
            return 0.0
        case Section.CONSTRAINTS | Section.INSTRUCTIONS:
            return 1.0 + seniority
        case Section.ERRORS | Section.OPEN:
            return tuning.error_value + seniority
        case _:
            return tuning.said_value + seniority


def _parts(summary: str) -> Iterator[_Part]:
    """Yields the sections of a summary, divided at its headings and titles outside code."""
    part = _Part(level=0, title="", body=[])
    fenced = False
    for line in summary.splitlines():
        heading = None if fenced else _HEADING.fullmatch(line)
        title = None if fenced or heading else _TITLE.fullmatch(line.rstrip())
        fenced ^= line.lstrip().startswith("```")
        if heading or title:
            yield part
            named = (heading[2] if heading else "") or (title and (title[1] or title[2])) or ""
            part = _Part(level=len(heading[1]) if heading else 0, title=named.strip(), body=[])
        elif (line or fenced) and not is_summary(line) and not _CLOSING.match(line):
            part.body.append(line)
    yield part


def _items(part: _Part, tuning: Tuning, drafted: Set[str]) -> Iterator[Item]:
    section = _section_of(part)
    if section in _OUTDATED:
        return
    if section is None or section is Section.EARLIER:
        group = "" if section else _dated(part.title)
        per_character = tuning.earlier_value / (3 if group in drafted else 1)
        for text in _units(clean("\n".join(part.body)).splitlines()):
            value = 0.0 if "```" in text else per_character * len(text)
            yield replace(_item(Section.EARLIER, text, -1, group), value=value)
    elif section is Section.DETAILS:
        yield from _details(part.body)
    elif section is Section.FINDINGS:
        for text, index in _entries(part.body):
            yield from (_item(section, piece, index) for piece in (prose(text) if index >= 0 else [text]))
    else:
        yield from (_item(section, text, index) for text, index in _entries([dedent(line) for line in part.body]))


def _dated(title: str) -> str:
    """Returns a title, marked if what follows it is only true of the time of the earlier summary."""
    return f"{title}{_THEN}" if _OF_THAT_TIME.search(title) and not title.endswith(_THEN) else title


def _section_of(part: _Part) -> Section | None:
    """Returns the section that a title names, None for a title of the summary's own. Ullage writes its sections as
    headings of the second level, and the titles of others as such of the third."""
    name = part.title.lower()
    if part.level > 2 or (not part.level and name != "all user messages"):
        return None
    return _BY_NAME.get(name)


def _units(body: list[str]) -> Iterator[str]:
    """Yields each line that is not blank, and each fenced block of code as a whole."""
    fence: list[str] = []
    for line in body:
        if line.strip().startswith("```"):
            fence.append(line)
            if len(fence) > 1:
                yield "\n".join(fence)
                fence = []
        elif fence:
            fence.append(line)
        elif line.strip():
            yield line
    # A fence that is not closed holds text.
    yield from (line for line in fence[1:] if line.strip())


def _entries(body: list[str]) -> Iterator[tuple[str, int]]:
    """Yields the text of each list entry with its continuation lines, and the index of the message that it names, -1 if
    none."""
    text, index = "", -1
    for line in body:
        match = _ENTRY.match(line)
        if match:
            if text:
                yield text, index
            text, index = match[2], index_of(int(match[1])) if match[1] else -1
        elif line.strip():
            text += "\n" * bool(text) + line.removeprefix("  ")
    if text:
        yield text, index


def _details(body: list[str]) -> Iterator[Item]:
    """Yields the items of the section on details, divided at gaps. Earlier summaries indented their fences."""
    group, index, order, spans, stretch = "", -1, 0, list[str](), list[str]()
    fenced = False
    for line in [*body, FENCE]:
        is_fence = line.strip().startswith(FENCE)
        inside = fenced and not is_fence and line.strip() != GAP_LINE
        if stretch and not inside:
            first = int(spans.pop(0).split("-")[0]) if spans else 0
            text = dedent("\n".join(stretch))
            yield replace(_item(Section.DETAILS, text, index, group), order=order, first_line=first)
            # The next stretch does not follow this one at once.
            order += len(stretch) + 2
            stretch = []
        if is_fence:
            fenced = not fenced
        elif inside and group:
            stretch.append(line)
        elif not fenced and (match := _GROUP.match(line)):
            group, index = match[1], index_of(int(match[3]))
            spans = match[2].split(", ") if match[2] else []


def _item(section: Section, text: str, index: int, group: str = "") -> Item:
    return Item(section=section, text=text, index=index, group=group, anchors=find_anchors(text))
