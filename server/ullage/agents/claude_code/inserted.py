"""What Claude Code inserts into the user's messages.

It inserts reminders, its own commands and their output, and an IDE's selection.
"""

import re

from ullage.agents.agent import Inserted

INSERTED = Inserted(
    summary_openings=("This session is being continued from a previous conversation",),
    not_typed=(
        r"<(?:local-command|command-(?:name|message|args)|(?:task|agent)-notification|ide_\w+)",
        r"<(?:bash-(?:input|stdout|stderr)|system-reminder)",
        r"\[Request interrupted",
        r"Caveat:",
        # The text of a skill, which Claude Code sends as a message of its own.
        r"Base directory for this skill: ",
        # The answer to `/context` where there is no terminal.
        r"## Context Usage\s+\*\*Model:",
    ),
    # After a plan that the user approved to be carried out in a new context.
    appended=(r"If you need specific details from before exiting plan mode\b",),
    tags=(r"ide_\w+",),
    reminder_tags=("system-reminder",),
    instruction_marks=("claudeMd",),
)
# What Claude Code lists before the first answer, and again in each session that has no record of the list: its model,
# tools that it offers by name alone, its agents and its skills. Seen with 2.1.316.
_NAMES = r"[A-Za-z]\w*(?:\n[A-Za-z]\w*)*"
_LISTED = re.compile(
    rf"\s*<system-reminder>\n(?:You are powered by the model |{_NAMES}\n</|- [\w:.-]+: )(?s:.*?)system-reminder>\s*"
)


def is_listed_again(text: str) -> bool:
    """Returns whether Claude Code itself wrote a message with the user's role, and writes such a message in every new
    session."""
    return _LISTED.fullmatch(text) is not None
