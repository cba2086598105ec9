"""Which process has which conversation, according to the files that an agent keeps while it runs."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from ullage.agents.machine import Machine
from ullage.model.json_values import JsonObject, as_text

_NUMBER = re.compile(r"\d+")


class Running(Struct, frozen=True, kw_only=True):
    """An agent's process: its process id, and the agent's own id of the conversation that it has."""

    process_id: int
    session_id: str


class Processes(Struct, frozen=True, kw_only=True):
    """How an agent says which of its processes has which conversation.

    `patterns` returns glob patterns with absolute paths for its files. `running_in` returns what such a file says,
    judged by its path (with forward slashes) and its records, or None if it names no process or no conversation. A file
    may be left over from a process that was killed.
    """

    patterns: Callable[[Machine], tuple[str, ...]]
    running_in: Callable[[str, Sequence[JsonObject]], Running | None]


def running_in_record(_: str, records: Sequence[JsonObject]) -> Running | None:
    """Returns the process in the first record, under `pid`, and its conversation, under `sessionId`."""
    process_id, session_id = (records[0].get(key) for key in ("pid", "sessionId")) if records else (None, None)
    # A bool is an int, too.
    if type(process_id) is not int or process_id <= 0 or not as_text(session_id):
        return None
    return Running(process_id=process_id, session_id=as_text(session_id))


def running_in_name(path: str, _: Sequence[JsonObject]) -> Running | None:
    """Returns the process whose id is in the file's name, and the conversation whose id is the name of its folder."""
    file = PurePosixPath(path)
    number = _NUMBER.search(file.name)
    return Running(process_id=int(number[0]), session_id=file.parent.name) if number else None
