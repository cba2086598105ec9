"""SWE-agent's editor: its commands change the file that is open, and each result ends with that file's name.

Agents without function calling write the commands into a fenced code block, where others write a command for the shell.
"""

import re
from typing import Any

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
