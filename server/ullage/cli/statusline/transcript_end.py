"""The size of a context by its transcript alone, for a conversation of Claude Code that no process follows.

The end of the file has the last report, or a compaction that no report has followed. After a compaction the context
holds what it left and what is in every prompt without being in the file. That hidden part is what the first report of
the file has more than the messages before it. Both are counted roughly here: without msgspec and a vocabulary.
"""

import os

from ullage.bounds import open_plain
from ullage.cli.statusline.files import as_list, as_object, parse
from ullage.model.usage_report import context_of, count_of, filling_pass, prompt_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

# Bytes at the end of a transcript that are searched for the last report. A tool's result may have as many.
_TAIL = 1 << 20
# Bytes at its beginning that are searched for the first one.
_HEAD = 1 << 18
# As `ullage.tokens.counter` counts, which takes 30 ms to import.
_TOKENS_PER_WORD, _BYTES_PER_TOKEN = 1.3, 4
# Parts of a block that the model does not read as text.
_NO_TEXT = ("type", "id", "tool_use_id", "uuid", "signature", "source", "thinking", "data")


def context_at_end(path: str) -> tuple[int | None, bool]:
    """Returns the size of the context in tokens and whether it is an estimate. It is the last report's, or an estimate
    if a compaction has followed. The size is None if there is neither or the file can't be read."""
    lines = _lines(path, tail=_TAIL)
    after: list[dict[str, Any]] = []
    for place, record in _backwards(lines):
        if record.get("isSidechain") is True:
            continue
        if record.get("subtype") == "compact_boundary":
            left = _left(as_object(record.get("compactMetadata")), after, lines[:place])
            hidden = _hidden(_lines(path, head=_HEAD)) if left else None
            return (None, False) if left is None or hidden is None else (left + hidden, True)
        used = context_of(as_object(as_object(record.get("message")).get("usage")))
        if used:
            return used, False
        after.append(record)
    return None, False


def _left(metadata: "dict[str, Any]", after: "Iterable[dict[str, Any]]", before: "list[bytes]") -> int | None:
    """Returns the tokens of the messages that a compaction has left, None if nothing says it yet. The record of newer
    versions has their number. Else they are the messages `after` its record, and those that it names of the lines
    `before`: these are not written again."""
    recorded = count_of(metadata.get("postTokens"))
    if recorded:
        return recorded
    texts = {str(record.get("uuid", number)): _tokens(record) for number, record in enumerate(after)}
    if not any(texts.values()):
        return None
    segment = as_object(metadata.get("preservedSegment"))
    listed = as_object(metadata.get("preservedMessages"))
    named = as_list(listed.get("allUuids")) or as_list(listed.get("uuids"))
    last, first = segment.get("tailUuid"), segment.get("headUuid")
    is_kept = False
    for _, record in _backwards(before) if named or (first and last) else ():
        uuid = record.get("uuid")
        is_kept = is_kept or uuid == last
        if uuid in named or (is_kept and not named):
            texts[str(uuid)] = _tokens(record)
        if uuid == first or (named and uuid == named[0]):
            break
    return sum(texts.values())


def _hidden(lines: "Iterable[bytes]") -> int | None:
    """Returns the tokens of the first reported prompt that its messages do not explain, None without a report."""
    seen = 0
    for line in lines:
        record = _record(line)
        if record.get("isSidechain") is True:
            continue
        if record.get("subtype") == "compact_boundary":
            seen = 0
        prompt = prompt_of(filling_pass(as_object(as_object(record.get("message")).get("usage"))))
        if prompt:
            return max(0, prompt - seen)
        seen += _tokens(record)
    return None


def _lines(path: str, tail: int = 0, head: int = 0) -> "list[bytes]":
    """Returns the lines of so many bytes at the end or the beginning of a file; none if it can't be read."""
    try:
        with open_plain(path) as file:
            if tail:
                file.seek(max(0, file.seek(0, os.SEEK_END) - tail))
            return file.read(tail or head).split(b"\n")
    except OSError:
        return []


def _backwards(lines: "list[bytes]") -> "Iterator[tuple[int, dict[str, Any]]]":
    for place in range(len(lines) - 1, -1, -1):
        record = _record(lines[place])
        if record:
            yield place, record


def _record(line: bytes) -> "dict[str, Any]":
    """Returns the record of a line, empty if it has none. Most other lines are no part of the context."""
    if b'"message"' not in line and b'"attachment"' not in line and b'"compact_boundary"' not in line:
        return {}
    try:
        return as_object(parse(line))
    except (ValueError, RecursionError):
        return {}


def _tokens(record: "dict[str, Any]") -> int:
    content = as_object(record.get("message")).get("content")
    return round(_tokens_of(content) + _tokens_of(record.get("attachment")))


def _tokens_of(value: "Any") -> float:
    if value.__class__ is str:
        size = len(value.encode("utf-8", "surrogatepass"))
        return max(len(value.split()) * _TOKENS_PER_WORD, size / _BYTES_PER_TOKEN)
    if value.__class__ is dict:
        return sum(_tokens_of(part) for name, part in value.items() if name not in _NO_TEXT)
    return sum(map(_tokens_of, as_list(value)))
