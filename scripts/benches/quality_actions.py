"""The agent's tool calls before a cut, as the measures of state read them: what each did, to what, and how it ended.

This is a second reading of the calls, on purpose: the engine's own reading (`ullage/agents`, `ullage/summary`) is what
the bench judges. An end that the result does not show is None: a pipe hides the exit code, and many tools return text
alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from msgspec import Struct

from ullage.agents.inserted import is_typed
from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, Role

_COMMAND_KEYS = ("command", "cmd", "script")
_PATH_KEYS = ("file_path", "path", "filename", "notebook_path", "absolute_path", "target_file")
_CHANGE_KEYS = frozenset(
    {"old_string", "new_string", "old_str", "new_str", "oldText", "newText", "content", "file_text"}
    | {"edits", "patch", "changes", "replace", "diff"}
)
_LIST_KEYS = ("todos", "plan", "tasks")
_FILE_COMMANDS = {
    "view": "look",
    "create": "change",
    "str_replace": "change",
    "insert": "change",
    "undo_edit": "change",
}
_WRITES = re.compile(r"(?:^|[;&|] *)(?:sed -i|tee |cp |mv |rm |apply_patch|git apply|patch )|>>? *[\w./~-]+")
_EXIT = re.compile(r"(?:exit(?:ed with)?(?: code)?|returncode|exit_code|return code)\"?\W{1,4}(\d+)", re.IGNORECASE)
_FAILED = re.compile(
    r"^(?:FAILED?\b|--- FAIL|error(?:\[\w+\])?:|fatal:|panic:|Traceback \(|npm ERR!|\*\* \()|\bERROR\b.*\bfailed\b"
    r"|[1-9]\d* (?:failed|failures?|errors?)\b|tests? failed|command not found|No such file or directory"
    r"|timed out and has been killed",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"^(?:ok\s|PASS\b|--- PASS)|\b[1-9]\d* passed|\b0 (?:failed|failures|errors|issues)\b|All checks passed",
    re.MULTILINE,
)
# Commands that show text, in which words of failure are only quoted.
_SHOWS = re.compile(r"^(?:cat|grep|egrep|rg|sed -n|head|tail|less|find|ls|git (?:diff|log|show|status|grep)|gh )\b")
_LEAD = re.compile(
    r"^(?:(?:cd|source|export|set) [^;&|]*(?:&&|;)|[A-Z_]+=\S+ |timeout (?:-\S+ )*\d+\w? |sudo |time )\s*"
)
_REDIRECTED = re.compile(r"\s*(?:\d?>&\d|&?\d?> ?/dev/null)")
_TAIL = re.compile(
    r"\s*(?:\|\s*(?:tail|head|grep|egrep|rg|less|cat|tee|wc|sort|uniq|sed|awk)\b[^|;&]*|\|\|\s*true|;\s*echo\b[^;&|]*)$"
)
_FENCED = re.compile(r"```(?:bash|sh|mswea_bash_command)\n(.*?)```", re.DOTALL)


class Kind(StrEnum):
    """What a call does."""

    RUN = "run"
    CHANGE = "change"
    LOOK = "look"
    PLAN = "plan"


class Action(Struct, frozen=True, kw_only=True):
    """One call: the index of its message, what it does, its command or path, all strings of its input, and whether it
    passed (None if its result doesn't show it)."""

    index: int
    kind: Kind
    target: str
    text: str
    passed: bool | None = None
    input: Mapping[str, Any] = {}

    @property
    def changes(self) -> bool:
        """Whether the call changes files, as far as its input shows."""
        return self.kind is Kind.CHANGE or (self.kind is Kind.RUN and _WRITES.search(self.target) is not None)


def read_actions(messages: Sequence[Message]) -> list[Action]:
    """Returns the calls, in order."""
    results = {
        block.tool_use_id: block
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }
    return list(_actions(messages, results))


def _actions(messages: Sequence[Message], results: Mapping[str, ToolResultBlock]) -> Iterator[Action]:
    for index, message in enumerate(messages):
        if message.role is not Role.ASSISTANT:
            continue
        calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
        for call in calls:
            yield _action(index, call, results.get(call.id))
        after = messages[index + 1] if index + 1 < len(messages) else None
        # A message whose commands were refused is followed by the program's complaint.
        ran = after and after.role is Role.USER and is_typed(after.text)
        if not calls and after and ran and (fenced := _FENCED.findall(message.text)):
            command = fenced[-1].strip()
            yield Action(
                index=index, kind=Kind.RUN, target=command, text=command, passed=_outcome(command, after.text, False)
            )


def _action(index: int, call: ToolUseBlock, result: ToolResultBlock | None) -> Action:
    given = call.input
    shown = "\n".join(part.text for part in result.content if isinstance(part, TextBlock)) if result else ""
    error = result.is_error if result else False
    path = next((str(given[key]) for key in _PATH_KEYS if given.get(key)), "")
    command = next((_shell(given[key]) for key in _COMMAND_KEYS if given.get(key)), "")
    text = "\n".join(_strings(given))
    if command in _FILE_COMMANDS:
        kind, target = Kind(_FILE_COMMANDS[command]), path
    elif command:
        kind, target = Kind.RUN, command
    elif any(isinstance(given.get(key), list) for key in _LIST_KEYS) or call.name in ("TaskCreate", "TaskUpdate"):
        kind, target = Kind.PLAN, call.name
    elif _CHANGE_KEYS & set(given):
        kind, target = Kind.CHANGE, path
    else:
        kind, target = Kind.LOOK, path
    passed = _outcome(command, shown, error) if kind is Kind.RUN else not error
    return Action(index=index, kind=kind, target=target, text=text, passed=passed if result else None, input=given)


def _shell(value: object) -> str:
    parts = [str(part) for part in cast("list[object]", value)] if isinstance(value, list) else [str(value)]
    return parts[-1] if len(parts) == 3 and parts[1].startswith("-") and "c" in parts[1] else " ".join(parts)


def _outcome(command: str, shown: str, error: bool) -> bool | None:
    """Returns how a command ended. What the result says of its end counts more than the words of its output, and the
    exit code of a pipe says nothing of the commands before it."""
    ends = shown[:200] + "\n" + shown[-2000:]
    if error:
        return False
    code = _EXIT.search(ends)
    if code and int(code[1]):
        return False
    if not _SHOWS.match(command_key(command)):
        if _FAILED.search(ends):
            return False
        if _PASSED.search(ends):
            return True
    piped = re.search(r"\|(?!\|)|\|\| *true|; *echo", command) is not None
    return None if piped else True


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _strings(inner)


def command_key(command: str) -> str:
    """Returns what a command runs: without changes of folder, variables, redirections and the pipes that only choose
    what is shown."""
    text = " ".join(command.split())
    text = _REDIRECTED.sub("", text)
    while (shorter := _TAIL.sub("", _LEAD.sub("", text))) != text:
        text = shorter
    return text.strip()
