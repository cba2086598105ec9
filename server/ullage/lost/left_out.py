"""What the compaction of a conversation left out, from its log: the one question of the command line, the editors and
the MCP server."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from ullage.lost.finding import find_lost
from ullage.lost.last_compaction import LastCompaction, last_compaction
from ullage.lost.loss import Loss
from ullage.model.events import Record
from ullage.survive.fact import Kind


class LeftOut(Struct, frozen=True, kw_only=True):
    """A compaction, and what it left out, by kind and then by weight. `in_short` are files that the agent's context
    names in short. Nothing is known of a compaction whose summary is not readable, so there are no losses then."""

    compaction: LastCompaction
    losses: tuple[Loss, ...]
    in_short: tuple[Loss, ...] = ()

    @property
    def for_brief(self) -> tuple[Loss, ...]:
        """What a brief is chosen from."""
        return (*self.losses, *self.in_short)

    @property
    def counts(self) -> dict[str, int]:
        """How many were left out of each kind, in the order of the kinds."""
        return count_kinds(self.losses)


def left_out(records: Sequence[Record], cwd: str = "", edit_id: str | None = None) -> LeftOut | None:
    """Returns what the compaction `edit_id` of a log left out, or the last one in force. Returns None if there is none.
    Paths under the folder `cwd` are written without it."""
    compaction = last_compaction(records, edit_id)
    if compaction is None:
        return None
    found = find_lost(compaction.before, compaction.carried, cwd) if compaction.is_readable else ()
    return LeftOut(
        compaction=compaction,
        losses=tuple(loss for loss in found if not loss.in_short),
        in_short=tuple(loss for loss in found if loss.in_short),
    )


def count_kinds(losses: Sequence[Loss]) -> dict[str, int]:
    """Returns how many losses there are of each kind, in the order in which the kinds come, without files that are
    named in short."""
    counts = Counter[Kind](loss.kind for loss in losses if not loss.in_short)
    return {kind.value: count for kind, count in counts.items()}
