"""What Claude Code inserts into the user's messages.

It inserts reminders, its own commands and their output, and an IDE's selection.
"""

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
    ),
    tags=(r"ide_\w+",),
    reminder_tags=("system-reminder",),
    instruction_marks=("claudeMd",),
)
