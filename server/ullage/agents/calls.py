"""Tool calls, each with its result and in the same shape for every agent, and the files that they touch.

A call is a native tool use, or a command in a fenced code block.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from ullage.agents.results import FENCED, printed
from ullage.agents.shell import Touch, touched_files
from ullage.agents.tools import FILE_ACTIONS, Action, action_of, command_of, path_of, paths_of
from ullage.model.json_values import as_object
from ullage.model.message import FileAction, ToolResultBlock, ToolUseBlock, text_and_resources

# The stars first: a search for literal text is many times faster than one that is tried at every line.
_PATCH_LINE = re.compile(r"\*\*\* (?<![^\n]\*\*\* )(?:(Add|Update|Delete) File: (.+)|Move to: (.+))$", re.MULTILINE)
# What the program that applies such patches prints once it has, and what it or its shell prints if it could not.
_PATCHED = "Success. Updated the following files"
_NOT_PATCHED = re.compile(
    r"Failed to find (?:expected lines|context)|\binvalid (?:hunk|patch)\b|\bverification failed\b"
    r"|^Exit code [1-9]|\Afailed in sandbox\b.{0,200}\bexit code: [1-9]",
    re.IGNORECASE | re.MULTILINE,
)
_PATCH_ACTIONS = {
    "add": FileAction.CREATED,
    "update": FileAction.MODIFIED,
    "delete": FileAction.DELETED,
}


# What tools say that wrote a file which was there before, in so many characters.
_WROTE_OVER, _SAID_WITHIN = re.compile(r"\bhas been updated\b|\boverwr(?:ote|itten)\b", re.IGNORECASE), 400


class ToolCall(Struct, frozen=True, kw_only=True, dict=True):
    """A tool call and its result.

    `index` is the index of the call's message, `result_index` that of the result's message, -1 if there is no result.
    `result` is what the tool printed: an envelope that an agent puts around it is read and left out.
    `failed` is what the tool reported; None means that it did not report whether it failed.
    """

    index: int
    name: str
    input: dict[str, Any]
    result: str = ""
    result_index: int = -1
    failed: bool | None = None

    @cached_property
    def command(self) -> str:
        """The shell command that this call runs; empty if the tool doesn't run commands."""
        return command_of(self.name, self.input)

    @cached_property
    def path(self) -> str:
        """The path of the call's file, as its input has it; empty if the input names no file or several. Where the
        input of a change names none, the path of the file that the result says is open."""
        path = path_of(self.input)
        if path or not self.result or action_of(self.name, self.input) is not Action.EDIT or paths_of(self.input):
            return path
        return open_file(self.result)


def joined_call(use: ToolUseBlock, index: int, result: ToolResultBlock | None, result_index: int) -> ToolCall:
    """Returns a tool use with its result as a call. `index` and `result_index` are those of their messages."""
    return ToolCall(
        index=index,
        name=use.name,
        input=use.input,
        result=printed(text_and_resources(result.content)) if result else "",
        result_index=result_index,
        failed=True if result and result.is_error else None,
    )


def touches_of(call: ToolCall) -> list[Touch]:
    """Returns the files that a call reads or changes: pairs of a path as the call has it and the action.

    A failed call changes no file, so of a failed call only the files that it reads are returned, and neither does a
    patch that its result says could not be applied.
    """
    touches = [*_by_patch(call), *(touched_files(call.command) if call.command else _by_name(call))]
    if call.failed:
        return [(path, action) for path, action in touches if action is FileAction.READ]
    return touches


def _by_name(call: ToolCall) -> Iterator[Touch]:
    action = action_of(call.name, call.input)
    if action and action in FILE_ACTIONS:
        touch = FILE_ACTIONS[action]
        if touch is FileAction.CREATED and _WROTE_OVER.search(call.result[:_SAID_WITHIN]):
            touch = FileAction.MODIFIED
        yield from ((path, touch) for path in paths_of(call.input) or filter(None, (call.path,)))


def _by_patch(call: ToolCall) -> Iterator[Touch]:
    """Yields the files, with the actions, of a patch in Codex's notation that was applied and of the list of changes
    in Codex's events."""
    # Few calls hold a patch. Only their results are searched, which takes longer than to find the patch.
    patched = list(_patched(call))
    if patched and (_PATCHED in call.result or not _NOT_PATCHED.search(call.result)):
        yield from ((path, action) for path, action, _ in patched)
    for path, change in as_object(call.input.get("changes")).items():
        kinds = [kind for kind in _PATCH_ACTIONS if kind in as_object(change)]
        if kinds:
            yield path, _PATCH_ACTIONS[kinds[0]]


def _patched(call: ToolCall) -> Iterator[tuple[str, FileAction, str]]:
    """Yields each file of the patches in a call: its path, what the patch does to it, and the part of the patch about
    it."""
    texts = [value for value in call.input.values() if isinstance(value, str)]
    for text in dict.fromkeys([*texts, call.command]):
        heads = list(_PATCH_LINE.finditer(text)) if "*** " in text else []
        for head, following in zip_longest(heads, heads[1:]):
            body = text[head.end() : following.start() if following else len(text)]
            yield (head[2] or head[3]).strip(), _PATCH_ACTIONS[(head[1] or "add").lower()], body


def fenced_call(command: str, index: int, output: str) -> ToolCall:
    """Returns a command in a fenced code block as a call. `output` is the text of the next message; `index` is that of
    the command's message."""
    name, given, failed = editor_call(command, output) or (FENCED, {"command": command}, None)
    return ToolCall(index=index, name=name, input=given, result=output, result_index=index + 1, failed=failed)


# The last lines of a result: the open file, the folder and the prompt.
_STATE = re.compile(r"\(Open file: ([^()\n]{1,1000})\)\r?\n\(Current directory: [^\n]*\)\r?\n\S{0,20}\$\s*$")
_LONGEST_STATE = 4_000
_NO_FILE = "n/a"
_NAMES_FILE = re.compile(r"(create|open)[ \t]+(\S+)(?:[ \t]+\d+)?\s*")
# The text of an edit ends with a line that says so.
_EDITS = re.compile(r"edit[ \t]+\d+:\d+[ \t]*\n(?:(.*)\n)?end_of_edit\s*", re.DOTALL)
_REFUSED = re.compile(r"Your (?:proposed edit|edit) .{0,80}(?:syntax error|not applied)|ERROR\b|Error\b", re.IGNORECASE)


def open_file(result: str) -> str:
    """Returns the path of the file that was open after a call, empty if the result does not name one."""
    if "(Open file: " not in result[-_LONGEST_STATE:]:
        return ""
    state = _STATE.search(result[-_LONGEST_STATE:])
    return state[1] if state and state[1] != _NO_FILE else ""


def editor_call(command: str, result: str) -> tuple[str, dict[str, Any], bool | None] | None:
    """Returns the tool, the input and whether it failed, if a fenced command is one of the editor's, else None. A
    failure that the result does not show is None."""
    opened = open_file(result)
    if not opened:
        return None
    failed = True if _REFUSED.match(result) else None
    if named := _NAMES_FILE.fullmatch(command):
        # The file that was open stays so if this one could not be opened.
        path = opened if opened.endswith(named[2].removeprefix("./")) else named[2]
        return named[1], {"path": path}, failed
    if edits := _EDITS.fullmatch(command):
        return "edit", {"path": opened, "new_string": edits[1] or ""}, failed
    return None
