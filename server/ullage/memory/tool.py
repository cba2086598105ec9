"""The definition of the memory tool, as offered to a model."""

from typing import Any

from ullage.model.message import ToolDefinition

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
