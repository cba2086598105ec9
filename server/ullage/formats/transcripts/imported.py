"""What a transcript reader takes and returns: the format it reads, and the transcript as events."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from ullage.formats.parsing import Document
from ullage.model.errors import InvalidRequest
from ullage.model.events import Event


class SkippedLine(Struct, frozen=True, kw_only=True):
    """A part of the file that holds no event: where (1-based line, or index of the element) and why.

    `expected` is True for what the format is known to hold beside the conversation (progress lines, snapshots);
    False for what could not be read.
    """

    line: int
    reason: str
    expected: bool


class ImportedTranscript(Struct, frozen=True, kw_only=True):
    """A conversation as events, ready to be appended to a new session, and the account of what was left out."""

    format: str
    events: tuple[Event, ...]
    model: str = ""
    cwd: str = ""
    title: str = ""
    skipped: tuple[SkippedLine, ...] = ()


class Format(Struct, frozen=True, kw_only=True):
    """A transcript format.

    `name` is what users call it. `matches` returns whether a file has this format, judged by its content alone. `read`
    raises `UnreadableTranscript` if the file holds no message, and `InvalidRequest` for a run that it does not hold.
    """

    name: str
    matches: Callable[[Document], bool]
    read: Callable[[Document], ImportedTranscript]


def choose_run(sizes: Sequence[int], run: int | None, name: str) -> int:
    """Returns the index of the run asked for (counted from 1), or of the longest run (the first of equals).

    `sizes` are the runs' numbers of messages. Raises `InvalidRequest` for a run that the file does not hold.
    """
    if run is None:
        return max(range(len(sizes)), key=lambda index: (sizes[index], -index), default=0)
    if not 1 <= run <= len(sizes):
        raise InvalidRequest(f"{name}: there is no run {run}; the file holds runs 1 to {len(sizes)}")
    return run - 1
