"""What Qwen Code puts into the user's messages: what hooks add to a prompt."""

from ullage.agents.agent import Inserted

INSERTED = Inserted(
    not_typed=(r"<qwen:user-prompt-submit-context>",),
    tags=("qwen:user-prompt-submit-context",),
)
