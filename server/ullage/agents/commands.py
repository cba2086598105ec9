"""Shell commands as agents state them: a tool's arguments, or a fence at the end of an answer."""

import re
from collections.abc import Sequence
from typing import Any, cast

from ullage.model.json_values import as_list
from ullage.model.message import Message, Role

# Agents without function calling put one command at the end of their text; the next message is its output.
FENCE = re.compile(r"```[\w-]{0,20}[ \t]*\n(.*?)(?:\n```|$(?![\s\S]))", re.DOTALL)
_OBSERVATION = re.compile(
    r"\s*(?:<returncode>|<output>|OBSERVATION|EXECUTION RESULT|Observation:)"
    r"|.*\((?:Open file|Current directory):|.*bash-\$\s*$",
    re.DOTALL,
)
_SHELL_NAMES = re.compile(
    r"(?:bash|shell|execute_bash|terminal|run_(?:shell_)?command|run_terminal_cmd|exec(?:_command)?|execute_command"
    r"|local_shell(?:_call)?|container\.exec|run|cmd)$",
    re.IGNORECASE,
)


def shell_command(name: str, arguments: dict[str, Any]) -> str:
    """The command line among a tool's arguments, whatever the agent calls it."""
    if not _SHELL_NAMES.match(name):
        return ""
    value: Any = arguments.get("command") or arguments.get("cmd") or arguments.get("script") or ""
    if isinstance(value, list):
        words = [str(word) for word in as_list(cast("Any", value))]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return value if isinstance(value, str) else ""


def fenced_command(messages: Sequence[Message], position: int) -> str:
    """The command in the text at `position` when the next message is its output; empty otherwise."""
    message = messages[position]
    if message.role is not Role.ASSISTANT or position + 1 >= len(messages):
        return ""
    following = messages[position + 1]
    if following.role is not Role.USER or not _OBSERVATION.match(following.text[:400] + "\n" + following.text[-200:]):
        return ""
    fences = list(FENCE.finditer(message.text[-20_000:].rstrip()))
    return fences[-1][1].strip() if fences and message.text.rstrip().endswith("```") else ""
