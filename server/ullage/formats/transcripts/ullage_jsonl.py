"""Reads and writes Ullage's own export: JSONL with a header `{"ullage": 1, …}`, then one record of the log per line."""

import msgspec
from msgspec import Struct

from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine
from ullage.formats.transcripts.format import Format
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import Event, MessageAppended, Record, SessionConfigured, SessionCreated, SessionForked
from ullage.model.settings import RESTRICTED

NAME = "ullage"
# Increased when a reader of the previous version could not read the file.
VERSION = 1


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line of an export, with facts of the session. `ullage` is the version of the export's format,
    `exported_at` is Unix milliseconds, 0 if unknown."""

    ullage: int = VERSION
    session_id: str = ""
    title: str = ""
    cwd: str = ""
    model: str = ""
    exported_at: int = 0


def write(header: Header, records: tuple[Record, ...]) -> bytes:
    """Returns the export of a session as JSONL. `records` is its whole log, including the records inherited by a
    fork."""
    # The struct omits default values, but the version must be written always.
    first = {**msgspec.to_builtins(header), "ullage": header.ullage}
    return b"".join(msgspec.json.encode(line) + b"\n" for line in (first, *records))


def matches(document: Document) -> bool:
    """Returns whether the file's first line is the header of an export."""
    first = document.lines[0].value if document.lines else None
    return first is not None and isinstance(first.get("ullage"), int)


def read(document: Document) -> ImportedTranscript:
    """Reads all events of an export except those that begin a log, because the import makes its own. Of a session's own
    settings, those of `RESTRICTED` are left out.

    Raises `UnreadableTranscript` if the export has a newer version or contains no message.
    """
    header = _read_header(document)
    events: list[Event] = []
    skipped: list[SkippedLine] = []
    for line in document.lines[1:]:
        try:
            event = msgspec.convert(line.value, Record).event
        except msgspec.ValidationError as error:
            reason = line.problem or f"not a record: {error}"
            skipped.append(SkippedLine(line=line.number, reason=reason, expected=line.comment))
            continue
        if isinstance(event, SessionConfigured):
            event, refused = _without_restricted(event)
            if refused:
                reason = f"a transcript may not set {' and '.join(refused)}"
                skipped.append(SkippedLine(line=line.number, reason=reason, expected=False))
        if isinstance(event, SessionCreated):
            header = _fill(header, event)
        elif not isinstance(event, SessionForked):
            events.append(event)
    if not any(isinstance(event, MessageAppended) for event in events):
        raise UnreadableTranscript(f"{document.name}: this export of Ullage holds no message")
    return ImportedTranscript(
        format=NAME,
        events=tuple(events),
        model=header.model,
        cwd=header.cwd,
        title=header.title,
        skipped=tuple(skipped),
    )


def _without_restricted(event: SessionConfigured) -> tuple[SessionConfigured, list[str]]:
    """Returns the event without the settings that only the user may decide, and those settings' names: the writer
    of the file could otherwise trust a folder, or have expressions run on every text."""
    refused = sorted(RESTRICTED & event.context.keys())
    kept = {name: value for name, value in event.context.items() if name not in RESTRICTED}
    return SessionConfigured(context=kept), refused


def _read_header(document: Document) -> Header:
    try:
        header = msgspec.convert(document.lines[0].value if document.lines else None, Header)
    except msgspec.ValidationError as error:
        raise UnreadableTranscript(f"{document.name}: not an export of Ullage: {error}") from error
    if header.ullage > VERSION:
        raise UnreadableTranscript(
            f"{document.name}: written by a newer Ullage (export version {header.ullage}, this one reads {VERSION}); "
            "update Ullage"
        )
    return header


def _fill(header: Header, created: SessionCreated) -> Header:
    """Returns the header with an empty folder or title filled from the log's first event. If that event names a model,
    it replaces the header's, because the session began with it."""
    return msgspec.structs.replace(
        header,
        model=created.model or header.model,
        cwd=header.cwd or created.cwd,
        title=header.title or created.title,
    )


FORMAT = Format(name=NAME, matches=matches, read=read)
