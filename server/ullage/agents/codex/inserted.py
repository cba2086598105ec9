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


def is_context(text: str) -> bool:
    """Returns whether Codex itself wrote a message with the user's role, judged by how its text begins."""
    return _CONTEXT.match(text) is not None or text.startswith(INSERTED.summary_openings)
