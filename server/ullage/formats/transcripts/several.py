"""Documents that hold several conversations, such as databases and folders: which one is read, and their tables."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ullage.formats.parsing import Document, parse_json
from ullage.formats.transcripts.imported import SkippedLine, choose_run
from ullage.model.json_values import JsonObject, as_object


class Conversation(Struct, frozen=True, kw_only=True):
    """One conversation of a document that holds several, as the document lists it. `updated` is Unix milliseconds or
    any other number that grows with time. `messages` is their number. `is_child` is true for a sub-agent's
    conversation."""

    id: str
    title: str = ""
    updated: float = 0
    messages: int = 0
    is_child: bool = False


def choose(found: Sequence[Conversation], document: Document) -> tuple[int, tuple[SkippedLine, ...]]:
    """Returns the index in `found` of the conversation to read, and an entry for each of the others as skipped.

    If the document names none by `origin_id` or `run`, it is the newest: conversations with messages before empty ones,
    a user's own before a sub-agent's. Raises `InvalidRequest` if the document has no conversation with the wanted
    number.
    """
    named = next((at for at, known in enumerate(found) if document.origin_id and known.id == document.origin_id), -1)
    chosen = (
        named
        if named >= 0
        else max(
            range(len(found)),
            key=lambda at: (found[at].messages > 0, not found[at].is_child, found[at].updated),
            default=0,
        )
        if document.run is None
        else choose_run([known.messages for known in found], document.run, document.name)
    )
    others = tuple(
        SkippedLine(line=number, reason=f"another conversation: {known.title or known.id}", expected=True)
        for number, known in enumerate(found, start=1)
        if number != chosen + 1
    )
    return chosen, others


def file_named(document: Document, ending: str) -> Document | None:
    """Returns the first companion of a document whose name ends with `ending`, or None."""
    return next((file for file in document.companions if file.name.endswith(ending)), None)


def rows_of(document: Document, table: str) -> list[JsonObject]:
    """Returns the rows of one table of a database, in order, each as an object of columns."""
    return [as_object(value.get("row")) for value in document.objects if value.get("table") == table]


def parsed(text: Any) -> Any:
    """Returns the value of a column: text is parsed as JSON (None if it isn't JSON), any other value stays as it is."""
    return parse_json(text.encode())[0] if isinstance(text, str) else text
