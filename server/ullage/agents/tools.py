"""The one table of what coding agents' tool calls mean: tool names by action, and input keys.

Every reading of tool calls uses this module: `calls`, `file_reads`, `results`, the proxy's record and the summary's
ledger. The names come from the documents and recorded transcripts of Claude Code, Codex, Gemini CLI, Qwen Code,
opencode, pi, Copilot, Cline, Roo, Cursor, Windsurf, Crush, goose, Kimi, Zed, Continue, Droid, SWE-agent, trae,
OpenHands and MCP's file server. Names and keys are compared in lower case without separators, so `read_file`,
`ReadFile` and `mcp__files__read-file` are one name, and `filePath` and `file_path` one key.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, cast

from ullage.model.json_values import as_list, as_object
from ullage.model.message import FileAction


class Action(StrEnum):
    """What a tool of a coding agent does with its call: read a file, run a command and so on."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"
    SEARCH = "search"
    LIST = "list"
    RUN = "run"
    FETCH = "fetch"
    THINK = "think"


# Tool names by what the tools do. The first name of each action is used for a call whose agent gives no name.
TOOLS: Mapping[Action, tuple[str, ...]] = {
    Action.READ: (
        *("read_file", "read", "read_files", "read_many_files", "read_multiple_files", "read_text_file"),
        *("read_notebook", "notebook_read", "read_file_range", "file_read", "fs_read", "get_file"),
        *("get_file_contents", "view", "view_file", "view_image", "view_code_item", "view_file_outline"),
        *("open", "open_file", "cat", "read_media_file"),
    ),
    Action.WRITE: (
        *("write_file", "write", "write_to_file", "write_text_file", "create", "create_file", "create_new_file"),
        *("save_file", "fs_write", "file_write", "new_file", "add_file", "download"),
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
        *("code_search", "sourcegraph", "list_code_definition_names", "lsp_references", "lsp_symbols"),
    ),
    Action.LIST: ("list_files", "ls", "list", "list_dir", "list_directory", "tree"),
    Action.RUN: (
        *("bash", "shell", "terminal", "execute", "execute_bash", "execute_command", "exec", "exec_command"),
        *("container.exec", "run", "run_command", "run_commands", "run_shell_command", "run_terminal_cmd"),
        *("run_terminal_command", "run_in_terminal", "local_shell", "local_shell_call", "shell_command", "cmd"),
        *("launch_process", "shell_exec", "run_terminal", "powershell"),
    ),
    Action.FETCH: (
        *("fetch", "web_fetch", "fetch_url", "agentic_fetch", "fetch_web_content", "fetch_webpage", "read_url_content"),
        *("web_search", "google_web_search", "search_web"),
    ),
    Action.THINK: ("think", "thought", "sequential_thinking"),
}
# The values of `command` for tools with several actions, such as Anthropic's text editor, and the action of each.
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
# The kinds of tool calls in the Agent Client Protocol.
ACP_KINDS: Mapping[str, Action] = {
    "read": Action.READ,
    "edit": Action.EDIT,
    "delete": Action.DELETE,
    "search": Action.SEARCH,
    "execute": Action.RUN,
    "fetch": Action.FETCH,
    "think": Action.THINK,
}

# Keys of a call's input that name its file. If an input has several of these keys, the first in this order is used.
PATH_KEYS = (
    *("file_path", "path", "notebook_path", "filename", "file", "absolute_path", "absolute_file_path", "target_file"),
    *("target_notebook", "relative_path", "uri"),
)
# Keys of lists of paths, or of objects that contain a path.
PATHS_KEYS = ("paths", "file_paths", "files", "operations", "include")
CONTENT_KEYS = ("content", "file_text", "contents", "text", "code_content", "file_content")
# Keys of the text that an edit inserts, and of the text that it removes.
NEW_TEXT_KEYS = (
    *("new_string", "new_str", "content", "file_text", "insert_text", "new_text", "new_source", "code_content"),
    *("code_edit", "replacement_content", "patch", "input", "diff"),
)
OLD_TEXT_KEYS = ("old_string", "old_str", "old_text", "target_content")
COMMAND_KEYS = ("command", "cmd", "script", "command_line", "commands")
# Keys of to-do lists.
PLAN_KEYS = ("todos", "todo_list", "plan", "items")

_SEPARATORS = re.compile(r"[\s_.-]")
_GLOB = re.compile(r"[*?{}]")


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Returns a tool's name or an input's key in lower case without separators, as names and keys are compared."""
    return _SEPARATORS.sub("", name).lower()


@lru_cache(maxsize=64)
def _plain_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plain(key) for key in keys)


_ACTIONS = {plain(name): action for action, names in TOOLS.items() for name in names}


def canonical_name(action: Action) -> str:
    """Returns the tool name that is used for a call if only its action is known."""
    return TOOLS[action][0]


def action_of(name: str, given: Mapping[str, Any]) -> Action | None:
    """Returns what the tool `name` does if called with the input `given`, or None if no known agent has such a tool.

    An MCP tool's server (`mcp__SERVER__TOOL`) is ignored.
    """
    action = _ACTIONS.get(plain(name.rsplit("__", 1)[-1]))
    command = given.get("command")
    if action in FILE_ACTIONS and isinstance(command, str):
        return EDITOR_COMMANDS.get(command, action)
    return action


def value_of(given: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """Returns the first value of a tool input under one of `keys`, in their order, that is not empty, or None if there
    is none. Capitals and separators in keys make no difference: `filePath` is `file_path`."""
    return next(_values(given, keys), None)


def text_of(given: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Returns the first string of a tool input under one of `keys`, in their order, that is not empty, or an empty
    string if there is none. Capitals and separators in keys make no difference: `filePath` is `file_path`."""
    return next((value for value in _values(given, keys) if isinstance(value, str)), "")


def _values(given: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Any]:
    wanted = _plain_keys(keys)
    own = {name: value for key, value in given.items() if (name := plain(key)) in wanted}
    return (own[key] for key in wanted if own.get(key)) if own else iter(())


def path_of(given: Mapping[str, Any]) -> str:
    """Returns the path of a call's file, as its input has it, or an empty string if the input names no file or
    several."""
    paths = paths_of(given)
    return paths[0] if len(paths) == 1 else ""


def paths_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the paths of a call's files, as its input has them: one path, or a list of paths without repetition.

    Glob patterns are left out.
    """
    if path := text_of(given, PATH_KEYS):
        return (path,)
    found = (
        item if isinstance(item, str) else text_of(as_object(item), PATH_KEYS)
        for item in as_list(value_of(given, PATHS_KEYS))
    )
    return tuple(dict.fromkeys(path for path in found if path and not _GLOB.search(path)))


def command_of(name: str, given: Mapping[str, Any]) -> str:
    """Returns the command line that a call of the tool `name` runs, or an empty string if the tool doesn't run
    commands.

    A list of words is joined with spaces; of `["bash", "-lc", LINE]` only LINE is returned. A list under `commands`
    holds one command per entry; they are joined with line breaks.
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
    """Yields every string in a value of a call's input, at any depth, in order. Keys are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in as_object(cast("Any", value)).values():
            # Nearly every value is a string, for which another generator would cost the most.
            if isinstance(inner, str):
                yield inner
            else:
                yield from strings_in(inner)
    else:
        for inner in as_list(value):
            yield from strings_in(inner)
