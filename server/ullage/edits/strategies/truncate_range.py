"""`truncate_range`: a range behind the first exchange goes at once, as coding agents (Cline and its kin) do it."""

from collections.abc import Sequence

from ullage.edits.strategies.situation import Candidate, Situation
from ullage.edits.strategies.truncation import Truncation
from ullage.model.message import Message, Role
from ullage.model.strategies import RangeKeep, TruncateRange
from ullage.transcript.cut_points import groups


class RangeTruncationStrategy(TruncateRange, Truncation, frozen=True, kw_only=True, tag="truncate_range"):
    """Keeps the first exchange and, of the rest, what `keep` says, in whole groups. A range that is not enough is
    followed by the next one, which begins where it ended."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        spoken = [i for i, message in enumerate(situation.messages) if message.role is not Role.SYSTEM]
        roles = [situation.messages[i].role for i in spoken]
        gone: tuple[Candidate, ...] = ()
        end = first_exchange(situation.messages)
        deleted = first = sum(i < end for i in spoken)
        while situation.after(gone).excess > 0:
            removed = next_truncation_range(roles, deleted, self.keep)
            if not removed:
                break
            places = {spoken[i] for i in range(first, removed.stop)}
            gone = tuple(each for each in situation.free if places.issuperset(each.places))
            deleted = removed.stop
        return gone


def next_truncation_range(roles: Sequence[Role], start: int, keep: RangeKeep) -> range:
    """Which of the messages from `start` on (behind the first exchange, or behind the last truncation) go next.

    An even number goes, so that roles alternate behind the gap as before it: `half` and `quarter` say what is left,
    rounded to whole exchanges, `lastTwo` leaves one exchange, `none` nothing. Where the last to go is spoken by the
    one who spoke before the range's first, one message more stays.
    """
    rest = max(0, len(roles) - start)
    removed = {
        RangeKeep.NONE: rest,
        RangeKeep.LAST_TWO: max(0, rest - 2),
        RangeKeep.HALF: rest // 4 * 2,
        RangeKeep.QUARTER: rest * 3 // 4 // 2 * 2,
    }[keep]
    if removed and roles[start + removed - 1] is roles[start]:
        removed -= 1
    return range(start, start + removed)


def first_exchange(messages: Sequence[Message]) -> int:
    """Where the first exchange ends: behind the first answer and what it cannot be parted from."""
    for group in groups(messages):
        if any(messages[i].role is Role.ASSISTANT for i in group):
            return group.stop
    return len(messages)
