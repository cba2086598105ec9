"""What pi puts into the user's messages: summaries, and commands that the user ran.

The texts are those that pi sends a model; its record has their parts.
"""

import re

from ullage.agents.agent import Inserted

_COMPACTED = "The conversation history before this point was compacted into the following summary:"
_CAME_BACK = "The following is a summary of a branch that this conversation came back from:"

# In place of a message that pi sends no more.
LEFT_OUT = "[pi left a message out of the context here.]"

INSERTED = Inserted(
    summary_openings=(_COMPACTED, _CAME_BACK),
    not_typed=(r"Ran `[^`]{1,4000}`\n(?:```\n|\(no output\))", re.escape(LEFT_OUT)),
)


def compaction_text(summary: str) -> str:
    """Returns the text of pi's own summary of a conversation."""
    return f"{_COMPACTED}\n\n<summary>\n{summary}\n</summary>"


def branch_text(summary: str) -> str:
    """Returns the text of the summary of a branch that the conversation left."""
    return f"{_CAME_BACK}\n\n<summary>\n{summary}</summary>"


def command_text(command: str, output: str, status: int, *, cancelled: bool) -> str:
    """Returns the text of a shell command that the user ran and its output."""
    shown = f"```\n{output}\n```" if output else "(no output)"
    end = "\n\n(command cancelled)" if cancelled else f"\n\nCommand exited with code {status}" if status else ""
    return f"Ran `{command}`\n{shown}{end}"
