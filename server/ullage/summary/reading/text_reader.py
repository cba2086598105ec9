"""Reads the texts of conversations for summaries, and remembers the results.

Most texts are read more than once: by the next try at a budget, by the compaction after a preview or a cancelled
compaction, and whenever an agent is shown a file again. A result depends on the text alone, so it never becomes
outdated.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import compress
from typing import Any, Generic, TypeVar

from msgspec import Struct

from ullage.agents.outcomes import judge, telling
from ullage.agents.results import FENCE
from ullage.agents.shell import Touch, first_line, is_test, only_looks, touched_files
from ullage.agents.shell_purpose import Purpose, purpose_of
from ullage.model.artifacts import Outcome
from ullage.redaction.clean import clean, redact
from ullage.summary.reading.anchors import find_in_each
from ullage.summary.reading.excerpts import RESULT_LIMIT, clip, cut_at_space, head_and_tail, prose
from ullage.summary.reading.listings import Listing, read_listing
from ullage.summary.reading.plan_lists import read_plan
from ullage.summary.reading.rows import NO_ROWS, Rows, find_rows

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

# Characters of text: the largest windows hold two million tokens.
ROOM = 8_000_000
# Memory of an entry in addition to its text, in characters.
_ENTRY = 200
# A text of more than this share of the room is not remembered, because it would displace too many others.
_LARGEST = 0.125
# Characters. An agent writes less into a call than it is shown in a result.
CALL_LIMIT = 12_000
# Shorter inputs are switches and single words.
_SHORTEST = 16
_SHOWN_LIMIT, _FIRST_LIMIT, _DETAIL_LIMIT = 140, 200, 180
# A commit's message is often a here-document. Its first line says what was done.
_COMMIT_MESSAGE = re.compile(r"\bgit commit\b[^\n]{0,200}<<-?\s*['\"]?\w+['\"]?\n\s*([^\n]{3,200})")
_LOOKED_AT = 4000
# Commands whose arguments may be files of tests, although they run none.
_MOVES = re.compile(r"(?:git|rm|cp|mv|touch|chmod|mkdir|cat|tee) ")
# How a region in conflict begins that a merge left in a file.
CONFLICT = "<<<<<<< "
_BOXES = ("[ ] ", "[x] ", "[X] ")


class _Generations(Generic[K, T]):
    """What is remembered by keys, in two generations of at most `room` characters each.

    A full young generation replaces the old one. An entry used from the old generation is copied to the young one.
    Threads may share an instance without a lock: entries are never removed from a generation, so at worst something is
    read twice.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._used = 0
        self._young: dict[K, T] = {}
        self._old: dict[K, T] = {}

    def _keep(self, key: K, known: T, size: int) -> None:
        if size > self._room * _LARGEST:
            return
        size += _ENTRY
        if self._used + size > self._room:
            self._young, self._old, self._used = {}, self._young, 0
        self._young[key] = known
        self._used += size


class Remembered(_Generations[K, T]):
    """Calls `read` once per key, which is a text or holds one, and remembers the result. `size` returns the characters
    of a key."""

    def __init__(self, read: Callable[[K], T], room: int = ROOM, size: Callable[[Any], int] = len) -> None:
        super().__init__(room)
        self._read = read
        self._size = size

    def __call__(self, key: K) -> T:
        """Returns the result of `read` for the key."""
        young, old = self._young, self._old
        if key in young:
            return young[key]
        known = old[key] if key in old else self._read(key)
        self._keep(key, known, self._size(key))
        return known


class RememberedOf(_Generations[Hashable, tuple[tuple[Any, ...], int, Any]]):
    """Remembers what was read of values that can't be keys, such as messages, by a key that says which they are."""

    def __call__(self, key: Hashable, of: tuple[Any, ...], read: Callable[..., tuple[T, int]]) -> T:
        """Returns the first value that `read(*of)` returns, or returned for an equal `of` and this key. The second are
        the characters that it and `of` hold."""
        young, old = self._young, self._old
        # `of` nearly always has the same objects, which are not compared any further.
        if key in young:
            if young[key][0] == of:
                return young[key][2]
        elif key in old and old[key][0] == of:
            self._keep(key, old[key], old[key][1])
            return old[key][2]
        found, size = read(*of)
        self._keep(key, (of, size, found), size)
        return found


class Piece(Struct, frozen=True, gc=False):
    """A redacted piece of prose, short enough to quote in a summary, with its anchors."""

    text: str
    anchors: tuple[str, ...]


class NameCounts(Struct, frozen=True, gc=False):
    """The anchors in the pieces of a text: in how many pieces each is (`times`), and the characters from the beginning
    of the last of them to the end of the text (`from_end`). `size` are the characters of all pieces."""

    names: tuple[str, ...] = ()
    times: tuple[int, ...] = ()
    from_end: tuple[int, ...] = ()
    size: int = 0


class Lines(Struct, frozen=True, kw_only=True, gc=False):
    """A listing without secrets, the anchors of each of its pieces and of all, the rows among the lines that a tool
    printed, and whether a piece may have an entry of a checklist in Markdown (`[x] `) or a line may begin a region in
    conflict."""

    listing: Listing
    names: tuple[tuple[str, ...], ...]
    counts: NameCounts
    rows: Rows = NO_ROWS
    has_boxes: bool = False
    has_conflict: bool = False


class Written(Struct, frozen=True, kw_only=True, gc=False):
    """Lines that an agent wrote into a call: the pieces that add something to the name of the call's group, the anchors
    of each and of all."""

    lines: Lines
    texts: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    counts: NameCounts


class Command(Struct, frozen=True, kw_only=True, gc=False):
    """What a summary needs of a shell command, without secrets. `shown`: its text in a summary, empty if there is no
    command. `purpose`: what it is run for. `first`: its first line. `looks`: whether it only shows something and
    changes nothing. `touches`: the files that it reads or changes."""

    shown: str
    purpose: Purpose
    first: str
    looks: bool
    is_test: bool
    touches: tuple[Touch, ...]


class Reader:
    """Reads texts for summaries and remembers the results, for all sessions of a process: `clean`, `redact`, `command`
    (a shell command), `said` (pieces of prose), `plan` (the entries of a plan in prose), and the methods. `said_by`,
    `called_by`, `joined` and `named_by` remember what was read of messages and calls. Remembers up to `room` characters
    of each kind of text. May be used from any thread."""

    def __init__(self, room: int = ROOM) -> None:
        self.clean = Remembered(clean, room)
        self.redact = Remembered(redact, room)
        self.command = Remembered(self._read_command, room)
        self.said = Remembered(self._read_prose, room)
        self.plan = Remembered(read_plan, room)
        self.said_by, self.called_by, self.joined, self.named_by = (RememberedOf(room) for _ in range(4))
        # A command is cleaned for what it is called by, too. A result is read once.
        self._called = Remembered(partial(self._read_lines, self.clean, CALL_LIMIT), room)
        self._written = Remembered(self._read_written, room, size=_size_of_written)
        self._shown = Remembered(partial(self._read_lines, clean, RESULT_LIMIT), room)
        self._ends = {failed: Remembered(partial(_read_end, failed), room) for failed in (None, False, True)}

    def called(self, text: str) -> Lines:
        """Returns the redacted lines of a text that an agent wrote as a call's input. Of a text of more than
        `CALL_LIMIT` characters only the beginning and the end are read."""
        return self._called(head_and_tail(text, CALL_LIMIT))

    def written(self, text: str, group: str) -> Written:
        """Returns what `called` does, for a call in a group: without the pieces that the group's name says as well."""
        return self._written((head_and_tail(text, CALL_LIMIT), group))

    def shown(self, text: str) -> Lines:
        """Returns the redacted lines of a text that a tool returned. Of a text of more than `RESULT_LIMIT` characters
        only the beginning and the end are read."""
        return self._shown(head_and_tail(text, RESULT_LIMIT))

    def end(self, output: str, failed: bool | None) -> tuple[Outcome, str]:
        """Returns a command's outcome and the most informative line of its output. `failed` is what the tool reported,
        None if it reported nothing."""
        return self._ends[failed](telling(output))

    def _read_prose(self, text: str) -> tuple[Piece, ...]:
        cleaned = self.clean(text)
        texts = prose(FENCE.sub("\n", cleaned) if "```" in cleaned else cleaned)
        return tuple(map(Piece, texts, find_in_each(texts)))

    def _read_lines(self, clean: Callable[[str], str], limit: int, text: str) -> Lines:
        cleaned = clean(text)
        listing = read_listing(cleaned, limit)
        names = find_in_each(listing.texts)
        told = "\n".join(listing.texts)
        # What an agent writes, and the lines of a file, which tools number, are no lists of a tool.
        is_output = limit == RESULT_LIMIT and not any(listing.numbers[:1])
        rows = find_rows(listing.lines) if is_output else NO_ROWS
        return Lines(
            listing=listing,
            names=tuple(names),
            counts=count_names(listing.texts, names),
            rows=rows,
            has_conflict=CONFLICT in cleaned,
            has_boxes=any(box in told for box in _BOXES),
        )

    def _read_written(self, key: tuple[str, str]) -> Written:
        text, group = key
        lines = self._called(text)
        adds = [len(text) >= _SHORTEST and text not in group for text in lines.listing.texts]
        if all(adds):
            return Written(lines=lines, texts=lines.listing.texts, names=lines.names, counts=lines.counts)
        texts, names = tuple(compress(lines.listing.texts, adds)), tuple(compress(lines.names, adds))
        return Written(lines=lines, texts=texts, names=names, counts=count_names(texts, names))

    def _read_command(self, line: str) -> Command:
        """Returns what a summary says of one shell command, whose text may have several lines, without secrets."""
        looks = only_looks(line)
        purpose = purpose_of(line)
        return Command(
            shown=self._shown_command(line, purpose),
            purpose=purpose,
            # Redacted before it is clipped, because half a secret can't be recognized as one.
            first=clip(self.clean(first_line(line)), _FIRST_LIMIT),
            looks=looks,
            is_test=not looks and any(is_test(key) and not _MOVES.match(key) for key in purpose.keys),
            touches=tuple(touched_files(line)),
        )

    def _shown_command(self, line: str, purpose: Purpose) -> str:
        commit = _COMMIT_MESSAGE.search(line[:_LOOKED_AT]) if "git commit" in line else None
        # The whole line is cleaned before it is taken apart: a secret may be known by the line before it.
        cleaned = self.clean(line)
        shown = purpose.shown if cleaned == line else purpose_of(cleaned).shown
        first = f"git commit: {commit[1]}" if commit else shown
        return cut_at_space(" ".join(self.clean(first).split()).replace("`", "'"), _SHOWN_LIMIT)


def count_once(piece: Piece) -> NameCounts:
    """Returns the anchors of one piece."""
    size, many = len(piece.text), len(piece.anchors)
    return NameCounts(names=piece.anchors, times=(1,) * many, from_end=(size,) * many, size=size)


def count_names(texts: Sequence[str], names: Sequence[tuple[str, ...]]) -> NameCounts:
    """Returns the anchors of the pieces of a text, whose texts and anchors are in the text's order."""
    size, last, times = 0, dict[str, int](), dict[str, int]()
    for text, found in zip(reversed(texts), reversed(names), strict=True):
        size += len(text)
        for name in found:
            if name in times:
                times[name] += 1
            else:
                last[name], times[name] = size, 1
    return NameCounts(names=tuple(last), times=tuple(times.values()), from_end=tuple(last.values()), size=size)


def _size_of_written(key: tuple[str, str]) -> int:
    return len(key[0])


def _read_end(failed: bool | None, output: str) -> tuple[Outcome, str]:
    outcome, detail = judge(output, failed)
    return outcome, clip(clean(detail), _DETAIL_LIMIT) if detail else ""
