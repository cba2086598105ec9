"""A model's summary while it is written: chunks of text come in, redacted text comes out.

The beginning of a secret can't be recognized as one, so text is given out only when it is complete. An entry is a line
that begins with a list mark, up to the next entry or heading. An entry waits until the entry after it is complete, too,
and until both redacted together read the same as each redacted alone. Our headings stay. Any other text that imitates a
marker is quoted (`imitations`).
"""

import re
from collections.abc import Iterator, Set

from ullage.redaction.clean import clean, redact
from ullage.summary.choosing.items import HEADINGS, Section

_ENTRY = re.compile(r"(?:[-*]|\d{1,3}[.)])\s")
_HEADING = re.compile(r"#{1,4}\s*(?P<name>[A-Za-z ]{4,30}?)\s*:?\s*#*\s*")
# The sections that a model writes. Code quotes the details itself.
WRITTEN = tuple(section for section in Section if section is not Section.DETAILS)
_BY_NAME = {HEADINGS[section].removeprefix("## ").lower(): section for section in WRITTEN}


class Draft:
    """Takes a model's text in chunks that may be cut anywhere. The strings that `add` and `end` yield concatenate to
    `text`.

    Text before the first heading is dropped, and so are empty lines.
    """

    def __init__(self) -> None:
        self._line = ""
        self._entry = ""
        self._held = ""
        self._section: Section | None = None
        self._filled: set[Section] = set()
        self._given: list[str] = []

    @property
    def text(self) -> str:
        """All text that was given out."""
        return "".join(self._given)

    @property
    def filled(self) -> Set[Section]:
        """The sections that have at least one entry."""
        return self._filled

    def add(self, piece: str) -> Iterator[str]:
        """Takes the next chunk. Yields the text that is complete now."""
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            yield from self._take(line.rstrip())

    def end(self) -> Iterator[str]:
        """Yields the remaining text."""
        yield from self._take(self._line.rstrip())
        yield from self._end_entry()
        yield from self._give_held()

    def _take(self, line: str) -> Iterator[str]:
        section = self._section_of(line)
        if section is not None:
            yield from self._begin(section, line)
        elif line and self._section is not None:
            if _ENTRY.match(line):
                yield from self._end_entry()
            self._entry += line + "\n"

    def _section_of(self, line: str) -> Section | None:
        """Returns the section that a line begins, or None. Each section may come once and in order; any other line
        that looks like a heading is text."""
        match = _HEADING.fullmatch(line)
        found = _BY_NAME.get(match["name"].lower()) if match else None
        return found if found is not None and (self._section is None or found > self._section) else None

    def _begin(self, section: Section, line: str) -> Iterator[str]:
        yield from self._end_entry()
        heading = HEADINGS[section] + "\n"
        if redact(self._held + heading) != redact(self._held) + heading:
            # Together with the text before it, this heading is part of a secret.
            self._entry = line + "\n"
            return
        yield from self._give_held()
        self._section = section
        yield self._give(f"\n{heading}" if self._given else heading)

    def _end_entry(self) -> Iterator[str]:
        entry, self._entry = self._entry, ""
        if not entry:
            return
        if self._held and clean(self._held + entry) == clean(self._held) + clean(entry):
            yield from self._give_held()
        self._held += entry

    def _give_held(self) -> Iterator[str]:
        held, self._held = self._held, ""
        if held and self._section is not None:
            self._filled.add(self._section)
            yield self._give(clean(held))

    def _give(self, text: str) -> str:
        self._given.append(text)
        return text
