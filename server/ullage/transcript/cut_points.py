"""Cut points: places where a sequence of messages may be split in two.

The legal cuts are the intersection of what each provider rule allows; one rule, one file in `rules/`. A rule names
ranges of cuts that it forbids. Cut `i` splits `messages[:i]` from `messages[i:]`; 0 and the length are always legal.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise

from ullage.model.message import Message
from ullage.transcript.rules import alternation, thinking, tool_pairs

Rule = Callable[[Sequence[Message]], Iterable[range]]

RULES: tuple[Rule, ...] = (tool_pairs.forbidden, thinking.forbidden, alternation.forbidden)


def cut_points(messages: Sequence[Message]) -> list[int]:
    """Returns all legal cuts in ascending order, from 0 to `len(messages)`."""
    depth = [0] * (len(messages) + 2)
    for rule in RULES:
        for cuts in rule(messages):
            depth[cuts.start] += 1
            depth[cuts.stop] -= 1
    inner = (cut for cut, covered in enumerate(accumulate(depth)) if 0 < cut < len(messages) and not covered)
    return [0, *inner, len(messages)] if messages else [0]


def groups(messages: Sequence[Message]) -> list[range]:
    """Returns the ranges of indices between neighbouring legal cuts, in order. The messages of one range must stay
    together; all ranges together cover all messages."""
    return [range(start, stop) for start, stop in pairwise(cut_points(messages))]


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Returns the indices of the messages that begin a prompt turn: messages with the user's role that hold more than
    tool results."""
    return [i for i, message in enumerate(messages) if tool_pairs.is_prompt(message)]
