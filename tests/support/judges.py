"""Predictable answers to which old messages are worth keeping verbatim."""

from collections.abc import Callable

from ullage.edits.compaction import IsWorthKeeping
from ullage.model.message import Message


def judging(is_worth: Callable[[Message, int], bool], forbidden: frozenset[str] = frozenset()) -> IsWorthKeeping:
    """Returns what asks a function about a group's first message and its position. All but `forbidden` may stay."""
    return lambda messages, group: (
        is_worth(messages[group.start], group.start) and not any(messages[at].id in forbidden for at in group)
    )
