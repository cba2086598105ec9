"""A compacted conversation that an MCP client asks about, and how its results quote it."""

from pathlib import Path

from support.agent_homes import Conversation

NEEDLE = "The retry limit is 17, in src/cask.py."
# The most UTF-8 bytes of a result.
MOST_RESULT = 4_096


def talk(home: Path, project: Path, needle: str = NEEDLE) -> Conversation:
    """A conversation that has been compacted after the needle was said."""
    conversation = Conversation(home, project)
    conversation.say("Where is the retry limit?", 20_000, needle)
    conversation.say("Now the tests.", 150_000)
    conversation.compact(150_000, "The user works on a cask.")
    conversation.say("Go on.", 30_000)
    return conversation


def shown(text: str) -> list[str]:
    """The lines that come from the transcript."""
    return [line.removeprefix("> ") for line in text.splitlines() if line.startswith("> ")]
