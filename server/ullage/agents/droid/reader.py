"""Reads the sessions of Factory's Droid (`~/.factory/sessions/*/ID.jsonl`).

One `{type, id, timestamp}` per line. The content of a `message` is in the shape of Anthropic's API. The model is named
in `ID.settings.json`; the usage there is the sum of a session, so it says nothing about the context.
"""

from pathlib import PurePosixPath

from ullage.formats.parsing import Document, Line, as_count, as_timestamp
from ullage.formats.transcripts.anthropic_blocks import read_blocks
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.json_values import as_object, as_text
from ullage.model.message import Role

NAME = "droid"
_OWN_LINES = {"todo_state", "agent_turn_outcome", "session_end"}
_SETTINGS = "settings"


def matches(document: Document) -> bool:
    """Returns whether any line of the file begins a session of Droid."""
    return any(value.get("type") == "session_start" and "id" in value for value in document.objects)


def companions(path: str) -> tuple[str, ...]:
    """Returns the name of the file with a session's settings, which is in the folder of the session's file. Empty if
    `path` is not a session's file."""
    return (f"{PurePosixPath(path).stem}.settings.json",) if "/.factory/" in path and path.endswith(".jsonl") else ()


def records(document: Document) -> Records:
    """Returns a record with the session's settings, if that file is there, then the lines of the session's file."""
    settings = tuple(
        Line(number=1, value={"type": _SETTINGS} | as_object(companion.value)) for companion in document.companions
    )
    return Records(lines=(*settings, *document.lines))


class DroidReader:
    """Reads the lines of one session of Droid. Each line is complete, so no event is held back."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._said: list[str] = []

    def take(self, record: Line) -> None:
        """Reads the settings or the next line of the session."""
        if record.value is None:
            self._builder.skip_unread(record)
            return
        kind = as_text(record.value.get("type"))
        if kind == "message":
            self._take_message(record)
        elif kind == "compaction_state":
            self._take_compaction(record)
        elif kind in ("session_start", _SETTINGS):
            self._take_facts(record)
        else:
            self._builder.skip(record.number, f"{kind or 'unknown'} line", expected=kind in _OWN_LINES)

    def finish(self) -> None:
        """Does nothing, because no event is held back."""

    def _take_facts(self, record: Line) -> None:
        value = record.value or {}
        self._builder.use_model(as_text(value.get("model")))
        if value.get("type") == _SETTINGS:
            return
        self._builder.agent = "Droid"
        # Older files have the number of the format here.
        self._builder.version = as_text(value.get("version"))
        self._builder.session_id = as_text(value.get("id"))
        self._builder.title = as_text(value.get("sessionTitle")) or as_text(value.get("title"))
        self._builder.cwd = as_text(value.get("cwd"))
        self._builder.skip(record.number, "session_start line", expected=True)

    def _take_message(self, record: Line) -> None:
        value = record.value or {}
        message = as_object(value.get("message"))
        if as_text(message.get("visibility")) == "user_only":
            self._builder.skip(record.number, "shown to the user and not sent to the model", expected=True)
            return
        answer = message.get("role") == "assistant"
        if answer:
            self._builder.use_model(as_text(message.get("modelId")))
        role = Role.ASSISTANT if answer else Role.SYSTEM if message.get("role") == "system" else Role.USER
        content = read_blocks(message.get("content"))
        self._said.append(
            self._builder.add(role, content, as_text(value.get("id")), as_timestamp(value.get("timestamp")))
        )

    def _take_compaction(self, record: Line) -> None:
        """Adds a compaction of the first `removedCount` messages, or of all if the line has no such count."""
        value = record.value or {}
        removed = as_count(value.get("removedCount")) or len(self._said)
        self._builder.compact(
            as_text(value.get("summaryText")) or as_text(as_object(value.get("summary")).get("body")),
            as_text(value.get("id")),
            as_timestamp(value.get("timestamp")),
            kept=self._said[removed:],
        )


FORMAT = incremental(NAME, matches, DroidReader, records)
