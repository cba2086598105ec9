"""Duplicate file reads: a read whose every line a later read of the same file shows is replaced by a notice.

The last read stays whole. A line that no later read shows keeps its read, so nothing is lost but the repetition.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.edits.counted import CountedView, Stamp
from ullage.model.edits import DuplicateReadsEdit, Replacement
from ullage.model.message import Message
from ullage.transcript.reads import FileRead, file_reads

# A read shorter than its notice would grow.
_MIN_CHARS = 200


def dedupe_reads(view: CountedView, stamp: Stamp) -> DuplicateReadsEdit | None:
    """The edit for a view, or None when no read is shown again."""
    replacements = tuple(_duplicates(view.messages))
    if not replacements:
        return None
    draft = DuplicateReadsEdit(id=stamp.id, timestamp=stamp.timestamp, trigger=stamp.trigger, replacements=replacements)
    saved = view.used - view.after(draft).used
    return replace(draft, tokens_saved=saved) if saved > 0 else None


def _duplicates(messages: Sequence[Message]) -> list[Replacement]:
    shown_later: dict[str, set[str]] = {}
    found: list[Replacement] = []
    for read in reversed(list(file_reads(messages))):
        lines = set(read.text.splitlines())
        later = shown_later.setdefault(read.path, set())
        if len(read.text) >= _MIN_CHARS and lines <= later:
            found.append(Replacement(message_id=read.message_id, block=read.block, text=_notice(read)))
        later |= lines
    return found[::-1]


def _notice(read: FileRead) -> str:
    return f"[{read.path} is shown again later in this conversation]"
