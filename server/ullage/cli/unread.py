"""The text about lines of a file that could not be read."""

from collections.abc import Iterator, Sequence

from ullage.cli.draw.text import plural
from ullage.cli.output import Screen
from ullage.formats.transcripts.builder import SkippedLine

# The most unread lines that are listed: enough to see what they are.
_SHOWN = 5


def unread_words(unread: Sequence[SkippedLine], screen: Screen) -> Iterator[str]:
    """Yields lines of text: how many lines were not read, then the first five of them with the reasons. Yields nothing
    if all were read."""
    if not unread:
        return
    yield f"{plural(len(unread), 'line')} not read:"
    for line in unread[:_SHOWN]:
        yield from screen.prose(f"  line {line.line}: {line.reason}")
    if len(unread) > _SHOWN:
        yield f"  and {len(unread) - _SHOWN:,} more"
