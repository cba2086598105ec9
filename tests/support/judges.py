"""Judges of what old messages are worth verbatim that a test can reason about."""

from collections.abc import Callable, Sequence

from ullage.edits.compaction import MakeJudge
from ullage.model.message import Message


class FixedJudge:
    """Says what a function says of the messages of a group and its first place; all but `forbidden` may stay."""

    def __init__(
        self, messages: Sequence[Message], worth: Callable[[Message, int], float], forbidden: frozenset[str]
    ) -> None:
        self._messages, self._worth, self._forbidden = messages, worth, forbidden

    def worth(self, group: range) -> float:
        return self._worth(self._messages[group.start], group.start)

    def may_stay(self, group: range) -> bool:
        return not any(self._messages[place].id in self._forbidden for place in group)


def judging(worth: Callable[[Message, int], float], forbidden: frozenset[str] = frozenset()) -> MakeJudge:
    """Makes a judge by the first message of a group and its place."""
    return lambda messages, _: FixedJudge(messages, worth, forbidden)
