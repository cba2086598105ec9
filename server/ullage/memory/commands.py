"""The six commands of Anthropic's memory tool `memory_20250818`, with its field names.

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
"""

from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest


class View(Struct, frozen=True, kw_only=True, tag_field="command", tag="view"):
    """Shows a folder's listing or a file's lines. `view_range` is the first and the last line, counted from 1; -1
    means the end."""

    path: str
    view_range: tuple[int, int] | None = None


class Create(Struct, frozen=True, kw_only=True, tag_field="command", tag="create"):
    """Writes a new file and makes the folders it needs."""

    path: str
    file_text: str


class StrReplace(Struct, frozen=True, kw_only=True, tag_field="command", tag="str_replace"):
    """Replaces `old_str`, which must occur in the file exactly once."""

    path: str
    old_str: str
    new_str: str = ""


class Insert(Struct, frozen=True, kw_only=True, tag_field="command", tag="insert"):
    """Inserts text after line `insert_line`; 0 is the beginning of the file."""

    path: str
    insert_line: int
    insert_text: str


class Delete(Struct, frozen=True, kw_only=True, tag_field="command", tag="delete"):
    """Deletes a file, or a folder with everything in it."""

    path: str


class Rename(Struct, frozen=True, kw_only=True, tag_field="command", tag="rename"):
    """Renames or moves a file or folder. Fails if the new name is taken."""

    old_path: str
    new_path: str


Command = View | Create | StrReplace | Insert | Delete | Rename


def read_command(arguments: dict[str, Any]) -> Command:
    """Returns the command with which a model called the tool. Raises `InvalidRequest`.

    Fields that are null count as left out, and numbers may be strings: models that must fill every field of a flat
    schema send both.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(given, Command, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"Error: The memory command cannot be read: {error}") from error
