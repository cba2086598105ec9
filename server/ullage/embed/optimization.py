"""Cheap edits for programs that keep their own list of messages: notices in place of repeated file reads, ranges of
messages to drop, and a file that stores the edits. A `ContextManager` makes these edits by itself.

An edit refers to messages by their index in the list, so between making and applying an edit a list may only grow.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ullage.edits.counted import Stamp, count_view
from ullage.edits.drop import first_exchange, next_truncation_range
from ullage.edits.duplicate_reads import dedupe_reads
from ullage.embed.counters import TokenCounter, engine_counter
from ullage.embed.messages import MessageList
from ullage.model.edits import DuplicateReadsEdit, RepeatedFile
from ullage.model.errors import StoreUnavailable
from ullage.model.message import Role
from ullage.model.settings import RangeKeep
from ullage.transcript.view import Item, apply_edit

Edits = tuple[DuplicateReadsEdit, ...]


class FileReadOptimizer:
    """Finds files that the messages show more than once, and makes the edit that puts a notice in place of the earlier
    lines."""

    def find_and_save_duplicates(
        self, messages: Sequence[Any], counter: TokenCounter, *, timestamp: int = 0
    ) -> DuplicateReadsEdit | None:
        """Returns the edit that replaces repeated file reads by notices, with the tokens that it saves per file.
        Returns None if no file is repeated.

        `timestamp` (Unix milliseconds) is the time of the edit. Nothing is stored. Raises `InvalidRequest` if one of
        `messages` is not a message.
        """
        view = count_view(MessageList(messages).messages, engine_counter(counter))
        return dedupe_reads(view, Stamp(id=f"reads-{timestamp}", timestamp=timestamp))


class ContextUpdateApplicator:
    """Applies edits to the list of messages that they were made for."""

    def apply_updates(self, messages: Sequence[Any], edits: Sequence[DuplicateReadsEdit]) -> list[Any]:
        """Returns the messages after the edits, which are applied in order. A message that no edit changes is returned
        as the same object. Raises `InvalidRequest` if one of `messages` is not a message."""
        given = MessageList(messages)
        items = [Item(at, message) for at, message in enumerate(given.messages)]
        for edit in edits:
            items = apply_edit(items, edit)
        return given.give_back([item.message for item in items])


class TruncationCalculator:
    """Calculates which range of messages to drop to make room."""

    def calculate_range(
        self, messages: Sequence[Any], keep: RangeKeep | str = RangeKeep.HALF, deleted: tuple[int, int] | None = None
    ) -> tuple[int, int] | None:
        """Returns the first and the last index of the range to drop, or None if no message may be dropped. The indices
        don't count system prompts.

        `keep` is how much of the messages after the first exchange remains. The first exchange is kept, and the range
        has an even length, so that roles alternate across the gap. `deleted` is the range that was dropped before: the
        new range begins where it began and includes it.
        """
        spoken = [message for message in MessageList(messages).messages if message.role is not Role.SYSTEM]
        first = first_exchange(spoken)
        start = first if deleted is None else deleted[1] + 1
        found = next_truncation_range([message.role for message in spoken], start, RangeKeep(keep))
        return (first if deleted is None else deleted[0], found.stop - 1) if found else None


class Impact(Struct, frozen=True, kw_only=True):
    """What edits save: the tokens before and after them, the saved share (0.0 to 1.0), and the saved tokens per
    file."""

    before: int
    after: int
    share: float
    files: tuple[RepeatedFile, ...]


class OptimizationMetrics:
    """Measures what cheap edits save, so that the program can decide whether they are enough."""

    def calculate_impact(
        self, messages: Sequence[Any], edits: Sequence[DuplicateReadsEdit], counter: TokenCounter
    ) -> Impact:
        """Returns how many tokens the edits save if they are applied to the messages. Raises `InvalidRequest` if one of
        `messages` is not a message."""
        engine = engine_counter(counter)
        before = engine.count_messages(MessageList(messages).messages)
        edited = ContextUpdateApplicator().apply_updates(messages, edits)
        after = engine.count_messages(MessageList(edited).messages)
        return Impact(
            before=before,
            after=after,
            share=(before - after) / before if before else 0.0,
            files=tuple(file for edit in edits for file in edit.files),
        )


class ContextHistoryStorage:
    """Stores the edits of one conversation in the file `context_history.json` in a folder."""

    def __init__(self, directory: Path | str) -> None:
        self.path = Path(directory) / "context_history.json"

    def save_to_disk(self, edits: Sequence[DuplicateReadsEdit]) -> None:
        """Writes the edits to the file, in place of those in it. A reader sees the old file or the whole new one.
        Creates the folder. Raises `StoreUnavailable` if the file can't be written."""
        unfinished = self.path.with_suffix(".unfinished")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(msgspec.json.encode(tuple(edits)))
            unfinished.replace(self.path)
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self.path}: {error.strerror or error}") from error

    def load_from_disk(self) -> Edits:
        """Returns the edits in the file, or an empty tuple if there is no file. Raises `StoreUnavailable` if the file
        can't be read."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Edits)
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError) as error:
            raise StoreUnavailable(f"cannot read {self.path}: {error}") from error
