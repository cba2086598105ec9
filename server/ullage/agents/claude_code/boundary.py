"""What the log says of one of Claude Code's own compactions: a `compact_boundary` line, and the summary after it."""

from collections.abc import Mapping

from msgspec import Struct

from ullage.agents.claude_code.entry import Entry
from ullage.formats.parsing import as_count
from ullage.model.json_values import as_list, as_object, as_text


class Compaction(Struct, frozen=True, kw_only=True):
    """What the log says of one of Claude Code's compactions.

    `before` is the context's size in tokens, 0 if unknown. `trigger` is `manual`, `auto` or empty. `kept` are the ids
    of the lines that stay in the context: they are not written again, and the next line names the last of them as its
    parent. `keeps_beginning` says that they stay before the summary, not after it. `end` is the id of the last line
    before the compaction; empty if unknown.
    """

    before: int
    trigger: str
    kept: tuple[str, ...]
    keeps_beginning: bool
    end: str


def read_boundary(boundary: Entry | None, parents: Mapping[str, str]) -> Compaction:
    """Returns the facts of a compaction from its boundary line. Early versions (1.0.53) write none; then `boundary` is
    None and nothing is known. `parents` maps the id of each line to that of its parent."""
    value = boundary.value if boundary else {}
    metadata = as_object(value.get("compactMetadata"))
    segment = as_object(metadata.get("preservedSegment"))
    listed = as_object(metadata.get("preservedMessages"))
    kept = [as_text(uuid) for uuid in as_list(listed.get("allUuids")) or as_list(listed.get("uuids"))]
    return Compaction(
        before=as_count(metadata.get("preTokens")),
        trigger=as_text(metadata.get("trigger")),
        kept=tuple(kept or _segment(as_text(segment.get("headUuid")), as_text(segment.get("tailUuid")), parents)),
        keeps_beginning=boundary is not None and bool(segment) and segment.get("anchorUuid") == boundary.uuid,
        end=as_text(segment.get("tailUuid")) or as_text(value.get("logicalParentUuid")),
    )


def _segment(head: str, tail: str, parents: Mapping[str, str]) -> list[str]:
    """Returns the ids of the lines from `head` to its descendant `tail`; empty if `tail` does not descend from
    `head`."""
    lines: dict[str, None] = {}
    while head and tail and tail not in lines:
        lines[tail] = None
        if tail == head:
            return list(lines)[::-1]
        tail = parents.get(tail, "")
    return []
