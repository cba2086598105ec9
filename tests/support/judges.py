"""Judges with predictable results for which old messages are worth keeping verbatim."""

from collections.abc import Callable, Sequence

from ullage.edits.compaction import MakeJudge
from ullage.model.message import Message


class FixedJudge:
    """Asks a function for the worth of a group's messages at its first position. All but `forbidden` may stay."""

    def __init__(
        self, messages: Sequence[Message], worth: Callable[[Message, int], float], forbidden: frozenset[str]
    ) -> None:
        self._messages, self._worth, self._forbidden = messages, worth, forbidden

    def worth(self, group: range) -> float:
        return self._worth(self._messages[group.start], group.start)

    def may_stay(self, group: range) -> bool:
        return not any(self._messages[place].id in self._forbidden for place in group)


def judging(worth: Callable[[Message, int], float], forbidden: frozenset[str] = frozenset()) -> MakeJudge:
    """Returns a maker of judges that use the first message of a group and its position."""
    return lambda messages, _: FixedJudge(messages, worth, forbidden)
