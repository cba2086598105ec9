"""Separates the text that agents insert into the user's messages from the text that the user typed.

The patterns are those of all agents of the table.
"""

import re
from collections.abc import Iterator

from ullage.agents.table import AGENTS
from ullage.model.instruction_files import INSTRUCTION_FILES

_KNOWN = tuple(agent.inserted for agent in AGENTS)
_SUMMARY_OPENINGS = tuple(opening for known in _KNOWN for opening in known.summary_openings)
_NOT_TYPED = re.compile(rf"\s*(?:{'|'.join(pattern for known in _KNOWN for pattern in known.not_typed)})")
# Characters. A longer text in tags is not recognised; the bound keeps the search fast on large messages.
_LONGEST = 20_000
_TAGS = "|".join(tag for known in _KNOWN for tag in (*known.tags, *known.instruction_tags, *known.reminder_tags))
_TAGGED = re.compile(rf"<({_TAGS})>.{{0,{_LONGEST}}}?</\1>", re.DOTALL)
_FILE_NAMES = [re.escape(path.rsplit("/", 1)[-1]) for path in INSTRUCTION_FILES]
_MARKS = "|".join([*(mark for known in _KNOWN for mark in known.instruction_marks), *_FILE_NAMES])
_INSTRUCTION_TAGS = "|".join(tag for known in _KNOWN for tag in known.instruction_tags)
_REMINDER_TAGS = "|".join(tag for known in _KNOWN for tag in known.reminder_tags)
_INSTRUCTIONS = re.compile(
    rf"<({_INSTRUCTION_TAGS})>(.{{0,{_LONGEST}}}?)</\1>"
    rf"|<({_REMINDER_TAGS})>(?=.{{0,2000}}?(?:{_MARKS}))(.{{0,{_LONGEST}}}?)</\3>",
    re.DOTALL,
)


def is_summary(text: str) -> bool:
    """Returns whether a user's message is the summary with which an agent continues after its own compaction."""
    return text.startswith(_SUMMARY_OPENINGS)


def is_typed(text: str) -> bool:
    """Returns whether the user may have typed a text, judged by how the text begins."""
    return _NOT_TYPED.match(text) is None


def without_inserted(text: str) -> str:
    """Returns a text of a user's message without the tagged parts that agents and editors have inserted."""
    return _TAGGED.sub("", text) if "</" in text else text


def inserted_instructions(text: str) -> Iterator[str]:
    """Yields the standing instructions that agents have inserted into a user's message, each without its tags."""
    if "</" in text:
        for match in _INSTRUCTIONS.finditer(text):
            yield match[2] or match[4] or ""
