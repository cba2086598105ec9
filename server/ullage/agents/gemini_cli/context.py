"""The context of a Gemini CLI conversation while its log is read: which messages the model is sent, in order.

The log writes the whole context again when a conversation is resumed (the same messages), and after a compaction (a
summary, and the messages that were kept, under new ids). Both are compared with what is known, so that no message is
added twice.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.parsing import to_json
from ullage.formats.transcripts.branches import kept_place
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import Block, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.message import Role

# The first words of the summary that a compaction puts in the place of older messages.
_SUMMARY_OPENING = "<state_snapshot>"
# What the program itself answers to that summary. A model may have left out the words above.
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"


class Entry(Struct, frozen=True, kw_only=True):
    """A message as the log has it. `id` is the id in the log; it may be empty."""

    id: str
    role: Role
    blocks: tuple[Block, ...]
    timestamp: int = 0

    @property
    def is_summary(self) -> bool:
        """Whether the message is the summary of a compaction."""
        return self.role is Role.USER and join_texts(self.blocks).lstrip().startswith(_SUMMARY_OPENING)

    @property
    def results(self) -> list[str]:
        """The ids of the calls whose results the message holds."""
        return [block.tool_use_id for block in self.blocks if isinstance(block, ToolResultBlock)]

    @property
    def likeness(self) -> str:
        """A text by which two copies of one message under different ids are recognised: its results' ids, or its text
        and calls."""
        if self.results:
            return to_json(self.results)
        calls = [(block.name, block.input) for block in self.blocks if isinstance(block, ToolUseBlock)]
        return to_json([self.role, join_texts(self.blocks), calls])


class _Known(Struct, frozen=True):
    """A message that is in the context: the ids that the log has used for it, the message, its ids in the transcript
    (several if it was added in parts), and the place right after it, as `TranscriptBuilder.tip` gives it."""

    ids: frozenset[str]
    entry: Entry
    message_ids: tuple[str, ...]
    place: str


class Context:
    """The messages that the model is sent, while a log is read. Adds new messages to a builder, and makes the builder's
    context equal to the log's."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._known: list[_Known] = []
        # The context before messages were last taken away: a program that starts writes its first message alone, and
        # then the whole context that it resumes.
        self._earlier: list[_Known] = []
        self._acknowledgements: set[str] = set()
        # The log's ids of all messages that were added, so that a new one is not looked for.
        self._added: set[str] = set()

    def add(self, entry: Entry) -> str:
        """Adds a message to the transcript or, if its beginning was added before, its new blocks. Returns the added
        message's id, empty if nothing is new."""
        # The newest message is written again in parts, and all messages when a conversation is resumed.
        is_old = entry.id in self._added
        old = next((known for known in reversed(self._known) if entry.id in known.ids), None) if is_old else None
        self._added |= {entry.id} - {""}
        blocks = tuple(block for block in entry.blocks if old is None or block not in old.entry.blocks)
        if not blocks:
            return ""
        message_id = self._builder.add(entry.role, blocks, entry.id, entry.timestamp)
        if old is not None and old is self._known[-1]:
            self._known[-1] = _Known(old.ids, entry, (*old.message_ids, message_id), message_id)
        else:
            self._known.append(_Known(frozenset({entry.id} - {""}), entry, (message_id,), message_id))
        return message_id

    def rewind(self, to: str) -> None:
        """Leaves the message with the log's id `to` and all later ones out of the context; all messages if the id is
        unknown."""
        self._keep(next((at for at, known in enumerate(self._known) if to in known.ids), 0))

    def replace(self, entries: Sequence[Entry]) -> None:
        """Makes `entries` the context. The log writes them after a compaction, or repeats them when the conversation is
        resumed."""
        entries = [entry for entry in entries if entry.id not in self._acknowledgements]
        found = _find(entries, self._known)
        earlier = _find(entries, self._earlier)
        if _common(earlier) > _common(found):
            found = earlier
            self._known, self._earlier = self._earlier, []
            self._builder.rewind(self._known[-1].place)
        for entry, place in zip(entries, found, strict=True):
            if place >= 0:
                known = self._known[place]
                if entry.id in known.ids:
                    self._mask(known, entry)
                said = entry if entry.id in known.ids else known.entry
                self._known[place] = replace(known, ids=known.ids | {entry.id}, entry=said)
        summary = next((at for at, place in enumerate(found) if place < 0 and _is_summary(entries, at)), -1)
        if summary >= 0:
            self._compact(entries, found, summary)
            return
        common = _common(found)
        self._keep(common)
        for entry, place in zip(entries, found, strict=True):
            if not 0 <= place < common:
                self.add(entry)

    def _mask(self, known: _Known, entry: Entry) -> None:
        """Clears those results of a known message that differ in the log's new copy, because the program replaced them
        by a notice to make room."""
        for at, (old, new) in enumerate(zip(known.entry.blocks, entry.blocks, strict=False)):
            if isinstance(old, ToolResultBlock) and isinstance(new, ToolResultBlock) and old.content != new.content:
                self._builder.clear_results(known.message_ids[-1], [at], join_texts(new.content), entry.timestamp)

    def _compact(self, entries: Sequence[Entry], found: Sequence[int], summary: int) -> None:
        marker = entries[summary]
        before = [self._known[place] for place in dict.fromkeys(found[:summary]) if place >= 0]
        after = [self._known[place] for place in sorted(set(found[summary:])) if place >= 0]
        edit_id = self._builder.compact(
            join_texts(marker.blocks),
            marker.id,
            marker.timestamp,
            leading=[message_id for known in before for message_id in known.message_ids],
            kept=[message_id for known in after for message_id in known.message_ids],
        )
        place = kept_place(edit_id, before[-1].message_ids[-1]) if before else edit_id
        kept = [replace(known, place=kept_place(edit_id, known.message_ids[-1])) for known in after]
        self._known = [*before, _Known(frozenset({marker.id}), marker, (edit_id,), place), *kept]
        # What was taken away before a compaction is not resumed after it.
        self._earlier = []
        new = [entry for entry, place in zip(entries, found, strict=True) if place < 0 and entry is not marker]
        # The program answers its own summary: no model said that. Whatever else is new was said.
        if new and new[0].role is Role.ASSISTANT:
            self._acknowledgements.add(new.pop(0).id)
        for entry in new:
            self.add(entry)

    def _keep(self, count: int) -> None:
        if count < len(self._known):
            self._builder.rewind(self._known[count - 1].place if count else "")
            self._earlier, self._known = self._known, self._known[:count]


def _is_summary(entries: Sequence[Entry], at: int) -> bool:
    entry, after = entries[at], entries[at + 1 : at + 2]
    is_answered = any(one.role is Role.ASSISTANT and join_texts(one.blocks) == _ACKNOWLEDGED for one in after)
    return entry.is_summary or (entry.role is Role.USER and is_answered)


def _find(entries: Sequence[Entry], context: Sequence[_Known]) -> list[int]:
    """Returns the index of each entry in the context, -1 if it is not there.

    Compares ids, then the content. Goes from the end, because a compaction keeps the later of two equal messages.
    """
    by_id = {known_id: at for at, known in enumerate(context) for known_id in known.ids}
    alike: dict[str, list[int]] = {}
    if any(entry.id not in by_id for entry in entries):
        for at, known in enumerate(context):
            alike.setdefault(known.entry.likeness, []).append(at)
    found: list[int] = []
    last = len(context)
    for entry in reversed(entries):
        place = by_id.get(entry.id, -1)
        if place < 0 and not entry.is_summary:
            # The log has a result twice: under its own id and under that of the call.
            end = last + 1 if entry.results else last
            place = max((at for at in alike.get(entry.likeness, ()) if at < end), default=-1)
        last = place if place >= 0 else last
        found.append(place)
    return found[::-1]


def _common(found: Sequence[int]) -> int:
    """Returns how many messages at the beginning of the context are found, in their order and without a gap. `found` is
    the result of `_find`."""
    places = list(dict.fromkeys(place for place in found if place >= 0))
    return next((at for at, place in enumerate(places) if place != at), len(places))
