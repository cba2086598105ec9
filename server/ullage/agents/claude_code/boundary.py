"""What the log says of one of Claude Code's own compactions: a `compact_boundary` line, and the summary after it."""

from collections.abc import Mapping

from msgspec import Struct

from ullage.agents.claude_code.entry import Entry
from ullage.formats.parsing import as_count
from ullage.model.edits import CompactionCause
from ullage.model.json_values import as_list, as_object, as_text

# Milliseconds. Claude Code looks once a minute whether a conversation idles.
_IDLE = 60_000


class Compaction(Struct, frozen=True, kw_only=True):
    """What the log says of one of Claude Code's compactions.

    `before` is the context's size in tokens, 0 if unknown. `trigger` is `manual`, `auto`, `plugin` or empty, and
    `is_precomputed` says that the summary was written before the compaction. `at` is its time, 0 if unknown. `kept` are
    the ids of the lines that stay in the context: they are not written again, and the next line names the last of them
    as its parent. `keeps_beginning` says that they stay before the summary, not after it. `end` is the id of the last
    line before the compaction; empty if unknown.
    """

    before: int
    trigger: str
    is_precomputed: bool
    at: int
    kept: tuple[str, ...]
    keeps_beginning: bool
    end: str

    def cause(self, last_at: int, *, is_due: bool, is_forced: bool) -> CompactionCause:
        """Returns why Claude Code compacted. `last_at` is the time of the last message, `is_due` says whether a request
        was due then, and `is_forced` that the provider had refused one.

        The log has the trigger `auto` for all that no user and no plugin asked for. All 44 recorded compactions at the
        threshold came while a request was due: after a prompt, a call or its result. A compaction after the end of a
        turn is that of a conversation that idles, which 2.1.286 and later make before the cache of the prompt is lost.
        A summary that was written beforehand is used when the provider refuses a request, or while the conversation
        idles (2.1.318).
        """
        if self.trigger == "manual":
            return CompactionCause.BY_HAND
        if self.trigger == "plugin":
            return CompactionCause.PLUGIN
        if self.trigger not in ("auto", ""):
            return CompactionCause.UNKNOWN
        if is_due:
            return CompactionCause.OVERFLOW if is_forced or self.is_precomputed else CompactionCause.THRESHOLD
        idles = self.is_precomputed or (self.at and last_at and self.at - last_at >= _IDLE)
        return CompactionCause.IDLE if idles else CompactionCause.UNKNOWN


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
        is_precomputed=metadata.get("precomputed") is True,
        at=boundary.timestamp if boundary else 0,
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
