"""Joins the files of one Codex conversation.

A fork and a reverted conversation begin with a reference to another file (`history_base`): the records of that file
come first, up to an ordinal number. The other file may begin with a reference, too. Older versions copy the records of
the conversation that a fork was made from into its file.
"""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from ullage.formats.parsing import Document, Line, as_count, as_timestamp
from ullage.formats.transcripts.builder import SkippedLine
from ullage.formats.transcripts.format import Records
from ullage.model.json_values import JsonObject, as_object, as_text

_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# `rollout-<time>-<thread>_<segment>.jsonl`: the file that continues a conversation after the user went back.
_SEGMENT = re.compile(rf"rollout-[\dT-]+-(?P<thread>{_THREAD.pattern})_[^/]*\.jsonl(?:\.zst)?")
# Milliseconds. Copied records are written at once; the model takes longer to answer the first prompt after them.
_AT_ONCE = 1_000
_PLACE = re.compile(r".*/(?P<archive>archived_)?sessions(?P<days>/\d+/\d+/\d+)?")


def companions(path: str) -> tuple[str, ...]:
    """Returns glob patterns, relative to the file's folder, for the files with earlier records of the same
    conversation. Empty unless the file's name says that there are any."""
    folder, _, name = path.rpartition("/")
    match = _SEGMENT.fullmatch(name)
    return _files_of(match["thread"], folder) if match and _PLACE.fullmatch(folder) else ()


def references(document: Document) -> tuple[str, ...]:
    """Returns glob patterns, relative to the file's folder, for the files of the conversation that this one was forked
    from, which only the first line of the file names."""
    thread = as_text(Segment(document.lines[:1]).base.get("thread_id"))
    folder = document.name.replace("\\", "/").rpartition("/")[0]
    if not _THREAD.fullmatch(thread):
        return ()
    # Outside of the folders that Codex has, files may have been renamed; their first lines still name them.
    return _files_of(thread, folder) if _PLACE.fullmatch(folder) else ("*.jsonl",)


def _files_of(thread: str, folder: str) -> tuple[str, ...]:
    """Returns patterns, relative to a folder, for a conversation's files: in it, or in the folders that Codex has."""
    name = f"rollout-*-{thread}*.jsonl*"
    place = _PLACE.fullmatch(folder)
    if place is None:
        return (name,)
    if place["days"]:
        return (f"../../../*/*/*/{name}", f"../../../../archived_sessions/{name}")
    return (name, f"../sessions/*/*/*/{name}") if place["archive"] else (name,)


def records(document: Document) -> Records:
    """Returns the records of the conversation: its own first line, those of the referenced files, and its other lines.

    If a referenced file is not among the document's companions, its absence is listed as skipped. The conversation then
    counts as split from the one whose file is missing, even if both have the same id.
    """
    own = Segment(document.lines)
    others = [Segment(companion.lines) for companion in document.companions]
    lines = own.lines[1:]
    skipped: tuple[SkippedLine, ...] = ()
    first, seen = own, {own.start}
    while first.base:
        thread, end = as_text(first.base.get("thread_id")), as_count(first.base.get("end_ordinal_exclusive"))
        found = [other for other in others if other.thread == thread and other.start < end and other.start not in seen]
        if not found:
            reason = f"the conversation begins in another file, the session file of {thread}, which was not given"
            skipped = (SkippedLine(line=1, reason=reason, expected=False),)
            own = Segment(_split_from(thread, own.lines))
            break
        first = max(found, key=lambda other: other.start)
        seen.add(first.start)
        base = (line for line in first.lines if _ordinal(line) < end)
        lines = (*(replace(line, is_copied=first.thread != own.thread) for line in base), *lines)
    return Records(lines=(*own.lines[:1], *lines), skipped=skipped)


def _split_from(thread: str, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    value = lines[0].value or {}
    payload = {"forked_from_id": thread} | as_object(value.get("payload"))
    return (replace(lines[0], value=value | {"payload": payload}), *lines[1:])


class Segment:
    """One session file of a conversation.

    - `thread`: the id of the conversation in the file, empty if the first line names none.
    - `start`: the ordinal number of the first line, 0 if it has none.
    - `base`: the reference to the file whose records come before this file's, Codex's `history_base`; empty if the
      conversation begins here.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = tuple(lines)
        first = self.lines[0] if self.lines else Line(number=1)
        meta: JsonObject = as_object((first.value or {}).get("payload"))
        self.thread = as_text(meta.get("id"))
        self.start = _ordinal(first)
        self.base = as_object(meta.get("history_base"))


class CopiedBeginning:
    """Decides which records of a fork's file are those of the conversation that it was made from: `is_here` says it of
    the record that was read last.

    `made_at` is when the conversation was begun, in Unix milliseconds. `is_inside` is set at a line that names the
    other conversation, from which the records after it come.

    Records of another file are marked. Records that were copied into the file follow a `session_meta` line of the other
    conversation. Nothing marks their end. They either have the times of the other conversation, from before the fork
    was made, or they were all written at once. Where neither shows in the times, the first total that does not continue
    the last one is the fork's own.
    """

    def __init__(self) -> None:
        self.is_here = False
        self.is_inside = self._is_old = self._is_burst = False
        self.made_at = self._last_at = self._total = 0

    def read(self, record: Line) -> None:
        time = as_timestamp((record.value or {}).get("timestamp"))
        if self.is_inside and time:
            is_next = self._last_at >= self.made_at and 0 <= time - self._last_at <= _AT_ONCE
            if (self._is_old and time >= self.made_at) or (self._is_burst and not is_next):
                self.is_inside = False
            self._is_old |= time < self.made_at
            self._is_burst |= is_next
        self._last_at = time or self._last_at
        self.is_here = record.is_copied or self.is_inside

    def count(self, info: JsonObject) -> None:
        """Notes the usage of a request, with the total of the conversation that made it."""
        total = as_count(as_object(info.get("total_token_usage")).get("total_tokens"))
        last = as_count(as_object(info.get("last_token_usage")).get("total_tokens"))
        if self.is_inside and self._total and total not in (self._total, self._total + last):
            self.is_inside = self.is_here = False
        self._total = total


def _ordinal(line: Line) -> int:
    return as_count((line.value or {}).get("ordinal"))
