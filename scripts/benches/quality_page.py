"""A context's text as the reader of a summary sees it: headings, entries of prose, and passages of code.

The quality bench's measures of form look at pages. This reads Markdown as Ullage and other agents write it in a
summary, and shares no code with the engine that it measures.

- A *heading* is a `#` line, a numbered title (`3. Files and Code:`), or a line in bold.
- An *entry* is a list item or a line of prose, with its message's number if it begins with `#N`.
- A *passage* is the code in a fence, with the marks of gaps (`…`) in it. A line outside a fence that can only be code
  is a passage of one line.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

_HEADING = re.compile(r"^#{1,6}\s+(.+)$|^\d+\.\s+\**([A-Z][^:*]{2,60})\**:\**$|^\*\*([^*]{3,60})\*\*:?$|^([A-Z]\w+):$")
_MARK = re.compile(r"^(?:[-*•+]|\d+[.)])\s+")
_NUMBER = re.compile(r"^#(\d+)\s+")
_GAP = re.compile(r"^(?:\[?(?:…|\.\.\.)[^\w]*\]?|(?:#|//|--) ?(?:…|\.\.\.).*|\[.*left out.*\])$")
_SHELL = frozenset({"sh", "bash", "shell", "console", "zsh"})
# What only code has at the end or the beginning of a line. The words are only code in lower case.
_CODE = re.compile(
    r"[;{}]$|^[\w.\[\]\"']+ ?(?::=|[-+]?=) ?\S|^[\w.]+\([^)]*\)[;,]?$|^</?[\w.]+[^>]*>$|^[)\]}]+[,;]?$"
    r"|^@\w+(?:\(.*\))?$|^(?:if|for|while) .*(?:[:{]| do)$|^diff --git |^@@ |^[-+]{3} [ab]/"
    r"|^(?:def|class|func|fn|import|from|return|public|private|const|let|var|val|end|elif|else|use|alias) ?"
    r"[\w.{(\"*:]*(?:\(.*|:| \{| do| =.*| import .*)?$"
)


class Entry(Struct, frozen=True, kw_only=True):
    """A list item or a line of prose. `number` is the number of the message that it names at its beginning, `nested`
    the text of the deeper entries below it; `introduces` is true if such entries or code follow."""

    heading: str
    text: str
    number: int | None = None
    depth: int = 0
    nested: str = ""
    introduces: bool = False

    @property
    def whole(self) -> str:
        """The entry with the deeper entries below it."""
        return f"{self.text}\n{self.nested}"


class Passage(Struct, frozen=True, kw_only=True):
    """The lines of code in a fence, or one line outside. `shell` is true in a fence for shell commands, which a summary
    gives to be run."""

    heading: str
    lines: tuple[str, ...]
    fenced: bool = False
    shell: bool = False


class Page(Struct, frozen=True, kw_only=True):
    """The parts of a text, in order."""

    parts: tuple[Entry | Passage, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The page's entries."""
        return tuple(part for part in self.parts if isinstance(part, Entry))

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The page's passages."""
        return tuple(part for part in self.parts if isinstance(part, Passage))


def read_page(text: str) -> Page:
    """Reads a text."""
    parts = list(_parts(text))
    return Page(parts=tuple(_with_nested(part, parts[i + 1 :]) for i, part in enumerate(parts)))


def _parts(text: str) -> Iterator[Entry | Passage]:
    heading, fence, code = "", None, list[str]()
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("```"):
            yield from _passages(heading, code, fence)
            fence, code = (line[3:].strip().lower() if fence is None else None), []
        elif fence is not None:
            code.append(line)
        elif named := _HEADING.match(raw.rstrip()):
            heading = next(group for group in named.groups() if group).strip(":* ")
        elif line:
            yield _entry(heading, raw)
    yield from _passages(heading, code, fence)


def _passages(heading: str, code: list[str], fence: str | None) -> Iterator[Passage]:
    lines = tuple(line for line in code if line)
    if lines:
        yield Passage(heading=heading, lines=lines, fenced=True, shell=fence in _SHELL)


def is_gap(line: str) -> bool:
    """Returns whether a line marks a gap between lines of code, as far as the line itself shows it: code that an agent
    wrote may have such a line, too."""
    return _GAP.match(line.strip()) is not None


def bare(line: str) -> str:
    """Returns a line without its mark of a list."""
    return _MARK.sub("", line.strip())


def _entry(heading: str, raw: str) -> Entry | Passage:
    text = bare(raw)
    numbered = _NUMBER.match(text)
    text = text[numbered.end() :] if numbered else text
    if _CODE.search(text):
        return Passage(heading=heading, lines=(text,))
    return Entry(
        heading=heading,
        text=text,
        number=int(numbered[1]) if numbered else None,
        depth=len(raw) - len(raw.lstrip()),
    )


def _with_nested(part: Entry | Passage, rest: list[Entry | Passage]) -> Entry | Passage:
    if isinstance(part, Passage):
        return part
    below: list[str] = []
    for after in rest:
        if isinstance(after, Passage) or after.depth <= part.depth or after.heading != part.heading:
            break
        below.append(after.text)
    code = bool(rest) and isinstance(rest[0], Passage) and rest[0].heading == part.heading
    return Entry(
        heading=part.heading,
        text=part.text,
        number=part.number,
        depth=part.depth,
        nested="\n".join(below),
        introduces=bool(below) or code,
    )
