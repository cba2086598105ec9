"""What reading a foreign transcript gives."""

from msgspec import Struct

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
