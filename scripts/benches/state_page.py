"""A page that an agent reads, as the state bench reads it: lines with what they are under, and words in order."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct

_WORD = re.compile(r"[^\W_]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_FENCE = re.compile(r"\s*(?:> ?)*\s*(?:```|~~~)")
_QUOTE = re.compile(r"^(?:> ?)+")
_HEADING = re.compile(r"^(#{1,6})\s+(?=\S)")
_BULLET = re.compile(r"^(?:[-*•+]|\d+[.)])\s+")
_LABEL = re.compile(r"^\*\*[^*]+\*\*:?$|^[^`]{1,120}:$|^\d+\.\s+[A-Z][^`.]{0,80}:")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*\"(#\[])|\s+[—–]\s+(?=[A-Z])")


class Line(Struct, frozen=True, kw_only=True):
    """A line without its marks. `above` are the lines that it is under, the nearest first; `start` is the number of
    its first word in the page's words. In a fence it is quoted code."""

    number: int
    text: str
    depth: int
    above: tuple[int, ...]
    is_label: bool
    is_code: bool


class Page(Struct, frozen=True, kw_only=True):
    lines: tuple[Line, ...]
    words: tuple[str, ...]
    line_of: tuple[int, ...]

    def labels(self, line: Line) -> Iterator[str]:
        """Yields the texts that a line is under, the nearest first."""
        for number in line.above:
            yield self.lines[number].text

    def entry(self, line: Line) -> list[Line]:
        """Returns a line with all lines that are under it."""
        found = [line]
        for other in self.lines[line.number + 1 :]:
            if line.number not in other.above:
                break
            found.append(other)
        return found


def words(text: str) -> list[str]:
    """Returns a text's words in lower case; a character of a script without spaces is a word."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        found.extend(_split(word))
    return found


def _split(word: str) -> list[str]:
    return [each for each in re.split(rf"({_CJK.pattern})", word) if each] if _CJK.search(word) else [word]


def names(text: str) -> frozenset[str]:
    """Returns what looks like a name in code: with an underscore, a capital inside, or a digit."""
    return frozenset(
        word
        for word in _NAME.findall(text)
        if "_" in word.strip("_") or re.search(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[a-z]\d", word)
    )


def sentences(text: str) -> list[str]:
    return [each for each in _SENTENCE.split(text) if each.strip()]


class _Outline:
    """What the next line of a page is under, while its lines are read. An open line has its number, its depth, and what
    it heads: a label heads the plain lines right below it (`label`) until a gap (`closed`), a numbered label dashes
    of its own depth (`numbered`), any line what is deeper."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, int]] = []
        self._open: list[tuple[int, int, str]] = []

    def gap(self) -> None:
        self._open = [(number, depth, kind.replace("label", "closed")) for number, depth, kind in self._open]

    def heading(self, number: int, level: int) -> tuple[int, ...]:
        self._headings = [each for each in self._headings if each[0] < level]
        self._open = []
        above = tuple(heading for _, heading in reversed(self._headings))
        self._headings.append((level, number))
        return above

    def line(self, number: int, depth: int, mark: str, *, is_label: bool) -> tuple[int, ...]:
        """Returns the lines that a line is under; `mark` is its bullet: a dash, a one for a number, or empty."""
        self._open = [
            each
            for each in self._open
            if each[1] < depth - (mark == "-" and not each[2])
            or (each[2] == "label" and not is_label and each[1] == depth)
            or (each[2] == "numbered" and mark == "-" and each[1] == depth)
        ]
        above = self.above()
        kind = ("numbered" if mark == "1" else "" if mark else "label") if is_label else ""
        self._open.append((number, depth, kind))
        return above

    def above(self) -> tuple[int, ...]:
        return (*(each[0] for each in reversed(self._open)), *(number for _, number in reversed(self._headings)))


def read_page(text: str) -> Page:
    """Reads a page: headings, labels that end in a colon, bullets by their indentation; the marks of quoted lines of a
    brief (`> `) are left out."""
    lines: list[Line] = []
    all_words: list[str] = []
    line_of: list[int] = []
    outline = _Outline()
    fenced = False
    for raw in text.splitlines():
        bare = _QUOTE.sub("", raw).expandtabs(4)
        if not bare.strip():
            outline.gap()
        elif _FENCE.match(raw):
            fenced = not fenced
        else:
            line = _read_line(bare, outline, len(lines), is_code=fenced, is_quoted=raw.startswith(">"))
            lines.append(line)
            own = words(line.text)
            all_words += own
            line_of += [line.number] * len(own)
    return Page(lines=tuple(lines), words=tuple(all_words), line_of=tuple(line_of))


def _read_line(bare: str, outline: _Outline, number: int, *, is_code: bool, is_quoted: bool) -> Line:
    text = bare.strip()
    indent = len(bare) - len(bare.lstrip())
    if is_code:
        return Line(number=number, text=text, depth=2 * indent, above=outline.above(), is_label=False, is_code=True)
    # What is quoted heads nothing: a message may have headings of its own, or end its first line with a colon.
    if not is_quoted and (heading := _HEADING.match(text)):
        above = outline.heading(number, len(heading[1]))
        return Line(number=number, text=text[heading.end() :], depth=0, above=above, is_label=True, is_code=False)
    bullet = _BULLET.match(text)
    mark = "" if not bullet else "1" if bullet[0][0].isdigit() else "-"
    is_label = not is_quoted and _LABEL.match(text) is not None
    depth = 2 * indent + (1 if bullet or is_quoted else 0)
    above = outline.line(number, depth, mark, is_label=is_label)
    clean = text[bullet.end() :] if bullet else text
    return Line(number=number, text=clean, depth=depth, above=above, is_label=is_label, is_code=False)


def find_whole(haystack: Sequence[str], needle: Sequence[str]) -> list[int]:
    """Returns where these words are in a row."""
    size = len(needle)
    if not size:
        return []
    return [
        at
        for at in range(len(haystack) - size + 1)
        if haystack[at] == needle[0] and list(haystack[at : at + size]) == list(needle)
    ]


class Passage(Struct, frozen=True, kw_only=True):
    """Where a text is best in a page: its first word, and which share of its sequences is there in order."""

    start: int
    share: float


def find_passage(haystack: Sequence[str], needle: Sequence[str], width: int = 4) -> Passage:
    """Finds the stretch, about as long as the needle, that has most of the needle's word sequences in their order."""
    width = min(width, len(needle))
    wanted: dict[tuple[str, ...], list[int]] = {}
    for at in range(len(needle) - width + 1):
        wanted.setdefault(tuple(needle[at : at + width]), []).append(at)
    hits = [
        (at, place)
        for at in range(len(haystack) - width + 1)
        for place in wanted.get(tuple(haystack[at : at + width]), ())
    ]
    if not hits:
        return Passage(start=0, share=0.0)
    reach = int(1.3 * len(needle)) + 40
    best = Passage(start=hits[0][0], share=0.0)
    first = 0
    windows: list[tuple[int, int, int]] = []
    for last in range(len(hits)):
        while hits[last][0] - hits[first][0] > reach:
            first += 1
        windows.append((last - first, first, last + 1))
    for _, begin, end in sorted(windows, reverse=True)[:3]:
        chain = _longest_rise([place for _, place in sorted(hits[begin:end], key=lambda hit: (hit[0], -hit[1]))])
        share = chain / (len(needle) - width + 1)
        if share > best.share:
            first_hit = min(hits[begin:end], key=lambda hit: (hit[1], hit[0]))
            best = Passage(start=first_hit[0], share=share)
    return best


def _longest_rise(values: Sequence[int]) -> int:
    tails: list[int] = []
    for value in values:
        at = bisect_left(tails, value)
        tails[at : at + 1] = [value]
    return len(tails)
