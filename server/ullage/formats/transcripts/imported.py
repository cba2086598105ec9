"""A transcript as events, and the parts of its file that became none."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.events import Event


class SkippedLine(Struct, frozen=True, kw_only=True):
    """A part of a transcript file that was not turned into an event.

    `line` is its line number or the number of its element, from 1. `reason` says why it was skipped. `expected` is true
    for parts that the format has in addition to the conversation (progress lines, snapshots), and false for parts that
    could not be read.
    """

    line: int
    reason: str
    expected: bool


class ImportedTranscript(Struct, frozen=True, kw_only=True):
    """A conversation as events that can be appended to a new session.

    `agent` is the program that wrote the file, and `version` its version at the end. `session_id` is that program's own
    id of the conversation. `parent` is its id of the conversation that this one was forked from, or that started this
    one as a sub-agent's (`is_sub_agent`). These are empty if the file doesn't say; the events say when they changed.
    `skipped` lists the parts of the file that were not turned into events.
    """

    format: str
    events: tuple[Event, ...]
    model: str = ""
    cwd: str = ""
    title: str = ""
    agent: str = ""
    version: str = ""
    session_id: str = ""
    parent: str = ""
    is_sub_agent: bool = False
    skipped: tuple[SkippedLine, ...] = ()


def choose_run(sizes: Sequence[int], run: int | None, name: str) -> int:
    """Returns the index of the wanted conversation of a file. `sizes` are their numbers of messages. `run` counts from
    1; None means the longest, the first of equals. Raises `InvalidRequest` if the file doesn't contain the wanted run.
    """
    if run is None:
        return max(range(len(sizes)), key=lambda index: (sizes[index], -index), default=0)
    if not 1 <= run <= len(sizes):
        held = f"runs 1 to {len(sizes)}" if len(sizes) > 1 else "one conversation, run 1"
        raise InvalidRequest(f"{name}: there is no run {run}; the file holds {held}")
    return run - 1
