"""What the proxy says to an agent."""

from collections.abc import Sequence

from ullage.model.blocks import CompactionBlock, TextBlock, ToolUseBlock
from ullage.model.marker import render_marker
from ullage.model.message import Message

# Characters of what was said since, when a compaction is taken back: a few turns.
_SINCE = 40_000


def summary_prompt(focus: str) -> str:
    """Asks for the summary that a fresh session is to begin with."""
    wish = f"\nThe person wants this kept above all: {focus}" if focus else ""
    return (
        "This conversation will be continued by another assistant that has seen none of it. Write the summary it needs "
        "to go on without asking: the goal in the person's own words, what was decided and why, constraints and "
        "preferences, what is done with the paths of all files concerned, errors met and how they were solved, the "
        "state of the work now, and the next step. Quote paths, names, commands and figures exactly. Use no tools. "
        f"Answer with the summary alone.{wish}"
    )


def seed_of(block: CompactionBlock) -> str:
    """What a fresh session is told of the one before it."""
    return (
        "What follows is a record of this conversation so far, kept when its context was compacted. Go on from it; "
        f"the person's next message comes after it.\n\n{render_marker(block)}"
    )


def since_of(messages: Sequence[Message]) -> str:
    """What a session is told that was left for a while: what was said elsewhere since. Nothing if that is nothing."""
    told = "\n\n".join(text for message in messages if (text := _told(message)))
    if not told:
        return ""
    cut = "[…]\n" if len(told) > _SINCE else ""
    return (
        "Since your last message the conversation went on in another session, as follows. The person's next message "
        f"comes after it.\n\n{cut}{told[-_SINCE:]}"
    )


def _told(message: Message) -> str:
    said = [block.text for block in message.content if isinstance(block, TextBlock)]
    used = [f"({block.name}: {block.input})" for block in message.content if isinstance(block, ToolUseBlock)]
    text = "\n".join((*said, *used)).strip()
    return f"{message.role.value}: {text}" if text else ""
