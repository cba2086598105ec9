"""What Codex puts into the user's messages, and how it begins the message after a compaction."""

import re

from ullage.agents.agent import Inserted

_TAGS = (
    *("environment_context", "turn_aborted", "user_shell_command", "skill", "subagent_notification", "user_action"),
    *("hook_prompt", "goal_context"),
)
_INSTRUCTION_TAGS = ("user_instructions", "INSTRUCTIONS")

INSERTED = Inserted(
    summary_openings=("Another language model started to solve this problem and produced a summary",),
    not_typed=(r"# AGENTS\.md instructions",),
    tags=_TAGS,
    instruction_tags=_INSTRUCTION_TAGS,
)
_CONTEXT = re.compile(rf"\s*(?:<(?:{'|'.join((*_TAGS, *_INSTRUCTION_TAGS))})\b|{'|'.join(INSERTED.not_typed)})")
# What Codex puts before the conversation, again at every resume.
_AGAIN = re.compile(r"\s*(?:<(?:environment_context|user_instructions)\b|# AGENTS\.md instructions)")


def is_added_again(text: str) -> bool:
    """Returns whether Codex itself wrote a message with the user's role, and writes such a message at every resume."""
    return _AGAIN.match(text) is not None


def is_context(text: str) -> bool:
    """Returns whether Codex itself wrote a message with the user's role, judged by how its text begins."""
    return _CONTEXT.match(text) is not None or text.startswith(INSERTED.summary_openings)
