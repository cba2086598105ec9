"""How much each anchor matters: how likely the agent is to write it again without being shown it first."""

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.reading.history import Excerpt, Source

_CALLED = Source.CALL
_SPOKEN = {Source.AGENT, Source.THINKING}
_CHARACTERS_PER_TOKEN = 4
# A logistic model of that likelihood, fitted to recorded sessions: what was written is written again, what was said
# in prose more than what stood in a call, and both the sooner the less was said since. What tools show again and again
# will be shown once more. Distances are thousands of tokens, all figures base-2 logarithms of 1 + count.
_BASE, _WRITTEN, _SAID, _IN_CALLS, _SEEN, _DISTANCE = -0.5, 0.9, 0.45, 0.2, -0.2, -0.45
# A certain anchor's weight; items state their own value on the same scale.
_SCALE = 8.0
_FOCUS_FACTOR = 3.0


class Mention(Struct):
    """How often an anchor was said by the agent, written in its calls and seen by it, when last, and how many
    thousand tokens were said since. Mutable: it is counted up."""

    said: int = 0
    called: int = 0
    seen: int = 0
    last_index: int = 0
    behind: float = 0.0

    @property
    def written(self) -> bool:
        """Whether the agent itself ever wrote it."""
        return bool(self.said or self.called)


def count_mentions(
    excerpts: Sequence[Excerpt], behind: Sequence[Excerpt] = (), check: Check = go_on
) -> dict[str, Mention]:
    """Every anchor of the excerpts; those `behind` them only tell how long ago that was."""
    mentions: dict[str, Mention] = {}
    characters = sum(len(excerpt.text) for excerpt in behind)
    for excerpt in checked(reversed(excerpts), check, MANY):
        characters += len(excerpt.text)
        for name in excerpt.anchors:
            mention = mentions.get(name)
            if mention is None:
                since = characters / _CHARACTERS_PER_TOKEN / 1000
                mention = mentions[name] = Mention(last_index=excerpt.index, behind=since)
            mention.said += excerpt.source in _SPOKEN
            mention.called += excerpt.source is _CALLED
            mention.seen += excerpt.source is Source.RESULT
    return mentions


def weigh(mentions: Mapping[str, Mention], check: Check = go_on) -> dict[str, float]:
    """A weight per anchor, 0 to 8."""
    return {name: weight_of(mention) for name, mention in checked(mentions.items(), check, MANY)}


def focused(weights: Mapping[str, float], focus: frozenset[str]) -> dict[str, float]:
    """The weights; names that hold a focus word weigh three times as much."""
    if not focus:
        return dict(weights)
    return {name: weight * (_FOCUS_FACTOR if mentions_focus(name, focus) else 1.0) for name, weight in weights.items()}


def weight_of(mention: Mention) -> float:
    """The weight of one anchor."""
    counted = (
        (_SAID, mention.said),
        (_IN_CALLS, mention.called),
        (_SEEN, mention.seen),
        (_DISTANCE, mention.behind),
    )
    logit = _BASE + _WRITTEN * mention.written + sum(share * math.log2(1 + count) for share, count in counted)
    return _SCALE / (1 + math.exp(-logit))


def mentions_focus(text: str, focus: Iterable[str]) -> bool:
    """Whether a text holds one of the focus words (lower case)."""
    lowered = text.lower()
    return any(word in lowered for word in focus)
