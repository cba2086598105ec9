"""What a transcript reader takes and returns: the format, and the transcript as events."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from ullage.formats.parsing import Document
from ullage.model.errors import InvalidRequest
from ullage.model.events import Event


class SkippedLine(Struct, frozen=True, kw_only=True):
    """A part of the file that became no event.

    `line` is its line number or the index of its element, counted from 1. `reason` says why it was skipped. `expected`
    is true for parts that the format has besides the conversation (progress lines, snapshots), and false for parts that
    could not be read.
    """

    line: int
    reason: str
    expected: bool


class ImportedTranscript(Struct, frozen=True, kw_only=True):
    """A conversation as events that can be appended to a new session.

    `skipped` lists the parts of the file that became no event.
    """

    format: str
    events: tuple[Event, ...]
    model: str = ""
    cwd: str = ""
    title: str = ""
    skipped: tuple[SkippedLine, ...] = ()


class Format(Struct, frozen=True, kw_only=True):
    """A transcript format.

    `name` is the name that users give with `--format`. `matches` says whether a file has this format, judged by its
    content alone. `read` raises `UnreadableTranscript` if the file contains no message, and `InvalidRequest` if it
    doesn't contain the wanted run.
    """

    name: str
    matches: Callable[[Document], bool]
    read: Callable[[Document], ImportedTranscript]


def choose_run(sizes: Sequence[int], run: int | None, name: str) -> int:
    """Returns the index of the wanted run (`run` counts from 1), or by default of the longest run, the first of equals.

    `sizes` are the runs' numbers of messages. Raises `InvalidRequest` if the file doesn't contain the wanted run.
    """
    if run is None:
        return max(range(len(sizes)), key=lambda index: (sizes[index], -index), default=0)
    if not 1 <= run <= len(sizes):
        raise InvalidRequest(f"{name}: there is no run {run}; the file holds runs 1 to {len(sizes)}")
    return run - 1
