"""Roles alternate: what a provider receives as one assistant message is not parted.

Anthropic merges neighbouring messages of one role into one; an answer cut in the middle would begin where its
first half ended. Neighbouring user messages may be parted: each stands for itself.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ullage.model.message import Message, Role


def forbidden(messages: Sequence[Message]) -> Iterator[range]:
    """Cuts between neighbouring assistant messages."""
    for i, (before, after) in enumerate(pairwise(messages), start=1):
        if before.role is Role.ASSISTANT and after.role is Role.ASSISTANT:
            yield range(i, i + 1)
