"""What coding agents' tool calls mean: the one table of tool names and input keys.

Every reading of tool calls (`calls`, `file_reads`, `results`, the proxy's record, the summary's ledger) asks this
module. The names are those of Claude Code, Codex, Gemini CLI, Qwen Code, opencode, pi, Copilot, Cline, Roo, Cursor,
Windsurf, Crush, goose, Kimi, Zed, Continue, Droid, SWE-agent, trae, OpenHands and of MCP's file server, as their
documents and the recorded transcripts have them. Names and keys are compared in lower case without separators, so
`read_file`, `ReadFile` and `mcp__files__read-file` are one name, and `filePath` and `file_path` one key.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, cast

from ullage.model.artifacts import FileAction
from ullage.model.json_values import as_list, as_object


class Action(StrEnum):
    """What a tool does."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"
    SEARCH = "search"
    LIST = "list"
    RUN = "run"
    FETCH = "fetch"
    THINK = "think"


# Tool names by what the tools do. The first of each is the name we give a call whose agent gives none.
TOOLS: Mapping[Action, tuple[str, ...]] = {
    Action.READ: (
        *("read_file", "read", "read_files", "read_many_files", "read_multiple_files", "read_text_file"),
        *("read_notebook", "notebook_read", "read_file_range", "file_read", "fs_read", "get_file"),
        *("get_file_contents", "view", "view_file", "view_image", "view_code_item", "view_file_outline"),
        *("open", "open_file", "cat"),
    ),
    Action.WRITE: (
        *("write_file", "write", "write_to_file", "write_text_file", "create", "create_file", "create_new_file"),
        *("save_file", "fs_write", "file_write", "new_file", "add_file"),
    ),
    Action.EDIT: (
        *("edit_file", "edit", "multi_edit", "notebook_edit", "edit_notebook", "edit_notebook_file", "update_file"),
        *("edit_existing_file", "str_replace", "str_replace_file", "str_replace_editor", "str_replace_based_edit_tool"),
        *("file_editor", "text_editor", "editor", "replace", "replace_in_file", "replace_string_in_file"),
        *("multi_replace_string_in_file", "replace_file_content", "multi_replace_file_content", "search_replace"),
        *("search_and_replace", "single_find_and_replace", "insert", "insert_content", "insert_edit_into_file"),
        *("apply_diff", "apply_patch", "patch", "json_edit_tool", "reapply"),
    ),
    Action.DELETE: ("delete_file", "delete", "delete_path", "remove_file", "remove_files"),
    Action.SEARCH: (
        *("search", "search_files", "search_file", "search_dir", "search_file_content", "search_text"),
        *("search_codebase", "codebase_search", "semantic_search", "grep", "grep_search", "grep_files"),
        *("glob", "glob_file_search", "file_search", "find", "find_file", "find_by_name", "find_path"),
    ),
    Action.LIST: ("list_files", "ls", "list", "list_dir", "list_directory", "tree"),
    Action.RUN: (
        *("bash", "shell", "terminal", "execute", "execute_bash", "execute_command", "exec", "exec_command"),
        *("container.exec", "run", "run_command", "run_commands", "run_shell_command", "run_terminal_cmd"),
        *("run_terminal_command", "run_in_terminal", "local_shell", "local_shell_call", "shell_command", "cmd"),
        *("launch_process",),
    ),
    Action.FETCH: ("fetch", "web_fetch", "fetch_web_content", "web_search", "google_web_search"),
    Action.THINK: ("think", "thought", "sequential_thinking"),
}
# A tool for several actions (Anthropic's text editor and its kin) is told by `command` what to do.
EDITOR_COMMANDS: Mapping[str, Action] = {
    "view": Action.READ,
    "read": Action.READ,
    "create": Action.WRITE,
    "write": Action.WRITE,
    "str_replace": Action.EDIT,
    "insert": Action.EDIT,
    "append": Action.EDIT,
    "undo_edit": Action.EDIT,
    "delete": Action.DELETE,
}
FILE_ACTIONS: Mapping[Action, FileAction] = {
    Action.READ: FileAction.READ,
    Action.WRITE: FileAction.CREATED,
    Action.EDIT: FileAction.MODIFIED,
    Action.DELETE: FileAction.DELETED,
}
# Kinds of tool calls in the Agent Client Protocol.
ACP_KINDS: Mapping[str, Action] = {
    "read": Action.READ,
    "edit": Action.EDIT,
    "delete": Action.DELETE,
    "search": Action.SEARCH,
    "execute": Action.RUN,
    "fetch": Action.FETCH,
    "think": Action.THINK,
}

# Keys of a call's input. Where an input has several of a list, the first of the list counts.
PATH_KEYS = (
    *("file_path", "path", "notebook_path", "filename", "file", "absolute_path", "absolute_file_path", "target_file"),
    *("target_notebook", "relative_path", "uri"),
)
# Lists of paths, or of objects that have a path.
PATHS_KEYS = ("paths", "file_paths", "files", "operations")
CONTENT_KEYS = ("content", "file_text", "contents", "text", "code_content", "file_content")
# What an edit puts into a file, and what it takes out.
NEW_TEXT_KEYS = (
    *("new_string", "new_str", "content", "file_text", "insert_text", "new_text", "new_source", "code_content"),
    *("code_edit", "replacement_content", "patch", "input", "diff"),
)
OLD_TEXT_KEYS = ("old_string", "old_str", "old_text", "target_content")
COMMAND_KEYS = ("command", "cmd", "script", "command_line", "commands")
# Lists of things to do.
PLAN_KEYS = ("todos", "plan", "items")
# What a call without a file is about.
SUBJECT_KEYS = ("url", "query", "pattern", "description", "task_id")

_SEPARATORS = re.compile(r"[\s_.-]")
_GLOB = re.compile(r"[*?{}]")


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """A tool's name or an input's key as the table compares it: lower case, without separators."""
    return _SEPARATORS.sub("", name).lower()


@lru_cache(maxsize=64)
def _plain_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plain(key) for key in keys)


_ACTIONS = {plain(name): action for action, names in TOOLS.items() for name in names}


def canonical_name(action: Action) -> str:
    """The name for a call of which only its action is known."""
    return TOOLS[action][0]


def action_of(name: str, given: Mapping[str, Any]) -> Action | None:
    """What the tool `name` does with the input `given`. Returns None for a tool that is not in the table.

    An MCP tool's server (`mcp__SERVER__TOOL`) is no part of its name.
    """
    action = _ACTIONS.get(plain(name.rsplit("__", 1)[-1]))
    command = given.get("command")
    if action in FILE_ACTIONS and isinstance(command, str):
        return EDITOR_COMMANDS.get(command, action)
    return action


def value_of(given: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of `keys` that the input has, unless it is empty. Returns None if there is none."""
    own = {plain(key): value for key, value in given.items()}
    return next((value for key in _plain_keys(keys) if (value := own.get(key))), None)


def text_of(given: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """The first text that the input has under one of `keys`; empty if it has none."""
    own = {plain(key): value for key, value in given.items() if isinstance(value, str)}
    return next((value for key in _plain_keys(keys) if (value := own.get(key))), "")


def has_key(key: str, keys: tuple[str, ...]) -> bool:
    """Whether an input's key is one of `keys`."""
    return plain(key) in _plain_keys(keys)


def path_of(given: Mapping[str, Any]) -> str:
    """The file that a call is about, as its input names it; empty if it names none or several."""
    paths = paths_of(given)
    return paths[0] if len(paths) == 1 else ""


def paths_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that a call is about: one, or those of a list. Patterns that stand for files are left out."""
    if path := text_of(given, PATH_KEYS):
        return (path,)
    found = (
        item if isinstance(item, str) else text_of(as_object(item), PATH_KEYS)
        for item in as_list(value_of(given, PATHS_KEYS))
    )
    return tuple(dict.fromkeys(path for path in found if path and not _GLOB.search(path)))


def command_of(name: str, given: Mapping[str, Any]) -> str:
    """The command line that a call runs; empty if the tool runs none.

    A list of words is a command, of which `bash -lc LINE` is its line. A list under `commands` holds one command each,
    in order.
    """
    if action_of(name, given) is not Action.RUN:
        return ""
    if several := as_list(given.get("commands")):
        return "\n".join(_command_line(each) for each in several)
    return _command_line(value_of(given, COMMAND_KEYS))


def _command_line(value: Any) -> str:
    if isinstance(value, dict):
        return text_of(cast("Mapping[str, Any]", value), COMMAND_KEYS)
    if isinstance(value, list):
        words = [str(word) for word in as_list(cast("Any", value))]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return value if isinstance(value, str) else ""


def strings_in(value: Any) -> Iterator[str]:
    """Every text in a value of a call's input, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in as_object(cast("Any", value)).values():
            yield from strings_in(inner)
    else:
        for inner in as_list(value):
            yield from strings_in(inner)
