"""The most that a tool's result may take."""

from collections.abc import Iterable

from ullage.redaction.quoting import size_of

# The most UTF-8 bytes of a result: about 1,000 tokens, so that looking something up cannot fill the room that a
# compaction has made.
MAX_RESULT = 4_096


def fits(lines: Iterable[str], room: int = MAX_RESULT) -> bool:
    """Returns whether the lines, each with a line break, have at most `room` UTF-8 bytes together."""
    return sum(map(size_of, lines)) <= room
