"""A line of a session log: its kind, its place in the tree of lines, and what it says."""

from typing import Any

from msgspec import Struct

from ullage.formats.parsing import Line, as_timestamp
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text


class Entry(Struct, frozen=True, kw_only=True):
    """A line of the log. What is asked of every line is a field, because there may be hundreds of thousands.

    - `number`: the line number, counted from 1. `value`: the parsed line.
    - `kind`: the line's type: `user`, `assistant`, `system`, `attachment`, `progress` and others.
    - `subtype`: the kind of a system line, such as `compact_boundary`; empty for most other lines.
    - `uuid`: the line's id in the tree; empty if the line does not belong to the tree.
    - `parent`: the id of the line before this one on its branch; empty for a root.
    - `message`: the message of the line in the shape of Anthropic's API; an empty object for lines without a message.
    """

    number: int
    value: JsonObject
    kind: str
    subtype: str
    uuid: str
    parent: str
    message: JsonObject

    @property
    def timestamp(self) -> int:
        """The line's time in Unix milliseconds, 0 if it has none."""
        return as_timestamp(self.value.get("timestamp"))

    @property
    def is_copied(self) -> bool:
        """Whether the line is a copy of another conversation's, with which this one was begun."""
        origin = as_text(as_object(self.value.get("forkedFrom")).get("sessionId"))
        return bool(origin) and origin != self.value.get("sessionId")

    @property
    def is_message(self) -> bool:
        """Whether the line is one of the user's messages or a part of an answer."""
        return self.kind in ("user", "assistant")

    @property
    def is_side(self) -> bool:
        """Whether the line belongs to a sub-agent's conversation."""
        return self.value.get("isSidechain") is True

    @property
    def content(self) -> Any:
        """The content of the line: text or a list of blocks in the shape of Anthropic's API; None if it has none."""
        return self.message.get("content")

    @property
    def answer_id(self) -> str:
        """The provider's id of the answer that an assistant line is a part of. Hand-written lines may have none."""
        return as_text(self.message.get("id")) if self.kind == "assistant" else ""

    @property
    def result_ids(self) -> list[str]:
        """The ids of the tool calls whose results the line contains."""
        blocks = as_objects(self.content) if self.kind == "user" else []
        return [as_text(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]


def entry_of(line: Line) -> Entry | None:
    """Returns the line as an entry, or None if it contains no JSON object."""
    value = line.value
    if value is None:
        return None
    return Entry(
        number=line.number,
        value=value,
        kind=as_text(value.get("type")),
        subtype=as_text(value.get("subtype")),
        uuid=as_text(value.get("uuid")),
        parent=as_text(value.get("parentUuid")),
        message=as_object(value.get("message")),
    )
