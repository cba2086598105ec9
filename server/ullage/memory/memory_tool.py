"""Anthropic's memory tool `memory_20250818`: its six commands with their field names, and the definition that other
providers' models are offered.

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
"""

from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.message import ToolDefinition


class View(Struct, frozen=True, kw_only=True, tag_field="command", tag="view"):
    """The command that shows a folder's listing or a file's lines. `view_range` is the numbers of the first and the
    last line, counted from 1; -1 means the end of the file. None means the whole file."""

    path: str
    view_range: tuple[int, int] | None = None


class Create(Struct, frozen=True, kw_only=True, tag_field="command", tag="create"):
    """The command that writes a new file and makes the folders it needs. It fails if the path exists."""

    path: str
    file_text: str


class StrReplace(Struct, frozen=True, kw_only=True, tag_field="command", tag="str_replace"):
    """The command that replaces `old_str` by `new_str` in a file. It fails if `old_str` does not occur exactly once."""

    path: str
    old_str: str
    new_str: str = ""


class Insert(Struct, frozen=True, kw_only=True, tag_field="command", tag="insert"):
    """The command that inserts text, as whole lines, after line `insert_line` of a file; 0 is the beginning. It fails
    if the file has no such line."""

    path: str
    insert_line: int
    insert_text: str


class Delete(Struct, frozen=True, kw_only=True, tag_field="command", tag="delete"):
    """The command that deletes a file, or a folder with everything in it. It fails for the memory's own folder and for
    a path that does not exist."""

    path: str


class Rename(Struct, frozen=True, kw_only=True, tag_field="command", tag="rename"):
    """The command that renames or moves a file or folder. It fails if the new path exists."""

    old_path: str
    new_path: str


Command = View | Create | StrReplace | Insert | Delete | Rename


def read_command(arguments: dict[str, Any]) -> Command:
    """Returns the command that a call of the memory tool means. Raises `InvalidRequest` if the command is unknown, or a
    field is missing or of another type.

    Fields that are null count as left out, and numbers may be strings: models that must fill every field of a flat
    schema send both.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(given, Command, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"Error: The memory command cannot be read: {error}") from error


NAME = "memory"
# Anthropic's API is sent this type instead of a schema, because it knows the tool.
NATIVE_TYPE = "memory_20250818"

_PATH = "A path below /memories, for instance /memories/notes.md."
_FIELDS: dict[str, dict[str, Any]] = {
    "command": {
        "type": "string",
        "enum": ["view", "create", "str_replace", "insert", "delete", "rename"],
        "description": "What to do.",
    },
    "path": {"type": "string", "description": f"{_PATH} For every command but rename."},
    "view_range": {
        "type": "array",
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
        "description": "view of a file: first and last line to show, counted from 1; -1 as last for the end.",
    },
    "file_text": {"type": "string", "description": "create: the text of the new file."},
    "old_str": {"type": "string", "description": "str_replace: the text to replace; it must occur exactly once."},
    "new_str": {"type": "string", "description": "str_replace: what to put in its place."},
    "insert_line": {"type": "integer", "minimum": 0, "description": "insert: the line to insert after; 0 for the top."},
    "insert_text": {"type": "string", "description": "insert: the text to insert."},
    "old_path": {"type": "string", "description": "rename: the file or folder to rename or move."},
    "new_path": {"type": "string", "description": "rename: its new path, which must be free."},
}

DEFINITION = ToolDefinition(
    name=NAME,
    description=(
        "Keeps notes in files under /memories that outlast this conversation. Look there before starting work (view "
        "/memories), write down progress, decisions and what must not be forgotten, and keep the files short and in "
        "order: the context may be compacted at any time, the memory stays. view shows a folder or a file with line "
        "numbers; create writes a new file; str_replace and insert change one; delete and rename do what they say."
    ),
    input_schema={"type": "object", "properties": _FIELDS, "required": ["command"]},
)
