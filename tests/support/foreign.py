"""Builds foreign transcripts in a test, and reads them."""

import json
from collections.abc import Iterable
from typing import Any

from ullage.agents.transcripts import read
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import MessageAppended, UsageReported
from ullage.model.message import Message
from ullage.transcript.fold import project


def to_lines(*values: Any) -> bytes:
    """Returns the values as JSONL. A string is written as it is."""
    return b"".join((value if isinstance(value, str) else json.dumps(value)).encode() + b"\n" for value in values)


def read_lines(*values: Any, format_name: str | None = None) -> ImportedTranscript:
    """Reads a JSONL transcript."""
    return read(to_lines(*values), "test.jsonl", format_name)


def read_value(value: Any, format_name: str | None = None, run: int | None = None) -> ImportedTranscript:
    """Reads a transcript that is one JSON value."""
    return read(json.dumps(value).encode(), "test.json", format_name, run)


def messages_of(transcript: ImportedTranscript) -> list[Message]:
    """Returns the messages in order."""
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


def view_of(transcript: ImportedTranscript) -> list[Message]:
    """Returns the context: the messages that the model would be sent."""
    return list(project(transcript.events))


def reports_of(transcript: ImportedTranscript) -> list[UsageReported]:
    """Returns the providers' usages in order."""
    return [event for event in transcript.events if isinstance(event, UsageReported)]


def ids_of(messages: Iterable[Message]) -> list[str]:
    """Returns the id of each message."""
    return [message.id for message in messages]


def texts_of(messages: Iterable[Message]) -> list[str]:
    """Returns the text of each message, with its role before it."""
    return [f"{message.role.value}: {message.text}" for message in messages]


def unexplained(transcript: ImportedTranscript) -> list[str]:
    """Returns why parts of the file were skipped that could not be read."""
    return [skipped.reason for skipped in transcript.skipped if not skipped.expected]
