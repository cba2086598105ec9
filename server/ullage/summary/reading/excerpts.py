"""Cutting text into bounded pieces. Every text that a summary quotes is cut here, so a long input does not cost
more."""

import re

# Characters. The middle of a longer result is not read: tools report the essential at the beginning and at the end.
RESULT_LIMIT = 32_000
PROSE_LIMIT = 48_000
LINE_LIMIT = 360
PIECE_LIMIT = 260
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"'(\[*0-9-])")
_MARKUP = re.compile(r"^(?:[-*•>#]+|\d{1,3}[.)])\s+")
_LINE_NUMBER = re.compile(r"^\s{0,6}\d{1,6}(?:→|\t|:(?!\d)|\s*\|)\s?")
_TERMINAL = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile(r"[ \t]{2,}")
# Sentences in which an agent names its next call or praises its progress.
CHATTER = re.compile(
    r"(?:(?:now|next|good|great|perfect|okay|ok|excellent|right|first)\b[.,!:]?\s*){0,3}"
    r"(?:let me|let's|i'll|i will|i need to|starting|i should)\b"
    r"|(?:perfect|great|good|excellent)\b[^.:]{0,40}[.:!]?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]{2}")
GAP = " […] "


def head_and_tail(text: str, limit: int) -> str:
    """Returns `text` without its middle if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n{text[-limit // 2 :]}"


def clip(text: str, limit: int) -> str:
    """Returns one line of at most `limit` characters. A longer line loses its middle."""
    if len(text) <= limit:
        return text
    keep = max(limit - len(GAP), 2)
    head = keep * 2 // 3
    return f"{text[:head].rstrip()}{GAP}{text[len(text) - (keep - head) :].lstrip()}"


def prose(text: str) -> list[str]:
    """Returns the lines of a text as pieces of one or a few sentences, without Markdown's list and heading marks."""
    pieces: list[str] = []
    for raw in head_and_tail(text, PROSE_LIMIT).splitlines():
        line = _single_spaced(_MARKUP.sub("", raw.strip()).replace("**", ""))
        if _WORD.search(line):
            pieces.extend(_pack(_SENTENCE_END.split(line[:4000]), PIECE_LIMIT, " "))
    return pieces


def lines(text: str, limit: int = RESULT_LIMIT) -> list[str]:
    """Returns lines of code or output without terminal codes, line numbers and indentation. Empty lines are left
    out, long lines are clipped."""
    found: list[str] = []
    for raw in head_and_tail(text, limit).splitlines():
        line = raw[:2000]
        # Nearly every line is printable except for its tabs, and few lines have numbers. Testing costs less than
        # matching.
        if not line.isprintable():
            line = _TERMINAL.sub("", line)
        if line.lstrip()[:1].isdigit():
            line = _LINE_NUMBER.sub("", line)
        line = line.strip()
        if _WORD.search(line):
            found.append(clip(_single_spaced(line), LINE_LIMIT))
    return found


def _single_spaced(line: str) -> str:
    return _SPACES.sub(" ", line) if "  " in line or "\t" in line else line


def blocks(text: str, limit: int = RESULT_LIMIT, width: int = 60) -> list[str]:
    """Returns neighbouring lines joined to pieces of about `width` characters, so that a name keeps its
    surroundings."""
    return list(_pack(lines(text, limit), width, "\n"))


def _pack(parts: list[str], limit: int, joint: str) -> list[str]:
    """Yields neighbouring parts joined while they stay within `limit`. An announcement is a piece of its own, so
    that it can be left out."""
    packed: list[str] = []
    alone = True
    for part in parts:
        announces = CHATTER.match(part) is not None
        if packed and not alone and not announces and len(packed[-1]) + len(part) < limit:
            packed[-1] += joint + part
        else:
            packed.append(clip(part, LINE_LIMIT))
        alone = announces
    return packed
