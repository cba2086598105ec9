"""An earlier summary as an outline: its lines, each with the lines above it that it belongs to.

A line may only be shown with all its parents, since a line under another parent says something else: the fix of another
error, the member of another file. Source of the shape: Markdown's headings and indented lists.
"""

import re

from msgspec import Struct

from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.ledger.prose import FENCE, ends_with_colon
from ullage.redaction.clean import clean

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$")
# A title of a numbered section, as agents write them in a summary: `3. Files and Code Sections:`, `**Files**:`.
_TITLE = re.compile(r"^(?:\d{1,2}\.[ \t]+\S.*|\*\*[^*]+\*\*:?[ \t]*)$")
_ITEM = re.compile(r"^([ \t]*)(?:[-*+•]|\d{1,2}[.)])[ \t]+(\S.*)$")
# Before the summary itself, some agents write down what they thought while they wrote it.
_SUMMARY = re.compile(r"(?:^|\n)(?:</analysis>\s*)?(?:<summary>|Summary:)[ \t]*\n?", re.IGNORECASE)
# What Claude Code puts after a summary: how to go on, and where the whole is.
_AFTER = re.compile(r"\n(?:If you need specific details from before|(?:Please c|C)ontinue the conversation from where)")
_TAB = 4


class Line(Struct, frozen=True, kw_only=True):
    """A line of an outline. `parents` are the places of the lines that it belongs to, the outermost first."""

    text: str
    parents: tuple[int, ...] = ()


def lines_of(summary: str) -> list[Line]:
    """Returns the lines of a summary with their parents. Code in fences is left out: it can be read again."""
    said = _AFTER.split(_SUMMARY.split(clean(summary), maxsplit=1)[-1], maxsplit=1)[0]
    lines: list[Line] = []
    # The open lines, each with its depth and its place.
    above: list[tuple[int, int]] = []
    fenced = False
    for raw in said.splitlines():
        if FENCE.match(raw):
            fenced = not fenced
            continue
        if fenced or not raw.strip():
            continue
        depth = _depth(raw, above)
        while above and above[-1][0] >= depth:
            above.pop()
        lines.append(Line(text=raw.strip(), parents=tuple(place for _, place in above)))
        above.append((depth, len(lines) - 1))
    return lines


def outline_of(summary: str, index: int) -> tuple[Entry, ...]:
    """Returns the lines of an earlier summary as entries. `beside` are the parents of each, one a line. A heading is
    only there as a parent."""
    lines = lines_of(summary)
    parents = {place for line in lines for place in line.parents}
    return tuple(
        Entry(
            kind=Kind.EARLIER,
            life=Life.STAND,
            index=index,
            text=line.text,
            beside="\n".join(lines[place].text for place in line.parents),
        )
        for at, line in enumerate(lines)
        if not (ends_with_colon(line.text) or _HEADING.match(line.text) or (at in parents and _TITLE.match(line.text)))
    )


def _depth(raw: str, above: list[tuple[int, int]]) -> int:
    """Returns how deep a line is: headings by their number of signs, then titles, then lines that end with a colon,
    then items by their indent. A line that is none of these continues what is above it."""
    if heading := _HEADING.match(raw):
        return len(heading[1])
    indent = len(raw.expandtabs(_TAB)) - len(raw.expandtabs(_TAB).lstrip())
    if not indent and _TITLE.match(raw):
        return 10
    if _ITEM.match(raw):
        return 20 + indent
    if not indent and ends_with_colon(raw):
        return 15
    return max(20 + indent, above[-1][0] + 1 if above and above[-1][0] < 20 else 20 + indent)
