"""Roles alternate: messages that a provider receives as one assistant message must stay together.

Anthropic merges neighbouring messages of one role. If an answer were cut in the middle, the conversation would begin
with its second half. Neighbouring user messages may be split, because each is complete.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ullage.model.message import Message, Role


def forbidden(messages: Sequence[Message]) -> Iterator[range]:
    """Yields ranges of forbidden cuts: those between neighbouring assistant messages."""
    for i, (before, after) in enumerate(pairwise(messages), start=1):
        if before.role is Role.ASSISTANT and after.role is Role.ASSISTANT:
            yield range(i, i + 1)
