"""Which files a tool call touches, for every agent's tools."""

import re
from collections.abc import Iterator
from typing import Any

from ullage.agents.calls import ToolCall
from ullage.agents.shell import Touch
from ullage.model.artifacts import FileAction
from ullage.model.json_values import as_object
from ullage.summary.reading.reader import Reader

_READS = re.compile(r"^(?:read|view|open|cat|read_?file|view_?file|notebook_?read|get_file)", re.IGNORECASE)
_CREATES = re.compile(r"^(?:write|create|write_?(?:to_)?file|create_?file|save_file)", re.IGNORECASE)
_EDITS = re.compile(
    r"^(?:edit|multi_?edit|notebook_?edit|str_replace|insert|replace|apply_diff|edit_?file|search_replace|update_file)",
    re.IGNORECASE,
)
_DELETES = re.compile(r"^(?:delete|remove)_?file", re.IGNORECASE)
_PATCH_LINE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_PATCH_ACTIONS = {
    "add": FileAction.CREATED,
    "update": FileAction.MODIFIED,
    "delete": FileAction.DELETED,
}
# Anthropic's editor tool and those that copied it name the action in the input.
_EDITOR_COMMANDS = {
    "view": FileAction.READ,
    "create": FileAction.CREATED,
    "str_replace": FileAction.MODIFIED,
    "insert": FileAction.MODIFIED,
    "undo_edit": FileAction.MODIFIED,
}


def touches_of(call: ToolCall, reader: Reader) -> list[Touch]:
    """Paths as the call names them, with what it does to each. A call that failed changed nothing."""
    command = call.command
    touches = [*_by_patch(call.input), *(reader.command(command).touches if command else _by_name(call))]
    if call.failed:
        return [(path, FileAction.READ) for path, action in touches if action is FileAction.READ]
    return touches


def _by_name(call: ToolCall) -> Iterator[Touch]:
    action = _action(call)
    if call.path and action:
        yield call.path, action


def _action(call: ToolCall) -> FileAction | None:
    command: Any = call.input.get("command")
    if isinstance(command, str) and command in _EDITOR_COMMANDS:
        return _EDITOR_COMMANDS[command]
    for pattern, action in (
        (_DELETES, FileAction.DELETED),
        (_CREATES, FileAction.CREATED),
        (_EDITS, FileAction.MODIFIED),
        (_READS, FileAction.READ),
    ):
        if pattern.match(call.name):
            return action
    return None


def _by_patch(arguments: dict[str, Any]) -> Iterator[Touch]:
    """Files of a patch in Codex's notation, or of the list of changes its events carry."""
    for value in arguments.values():
        if isinstance(value, str) and "*** " in value:
            for match in _PATCH_LINE.finditer(value):
                yield (match[2] or match[3]).strip(), _PATCH_ACTIONS[(match[1] or "add").lower()]
    for path, change in as_object(arguments.get("changes")).items():
        kinds = [kind for kind in _PATCH_ACTIONS if kind in as_object(change)]
        if kinds:
            yield path, _PATCH_ACTIONS[kinds[0]]
