"""How much each anchor matters: how likely the agent is to write it again without being shown it first."""

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.reading.digest import Excerpt, Source
from ullage.summary.tuning import TUNING, Tuning

_CALLED = Source.CALL
_SPOKEN = {Source.AGENT, Source.THINKING}


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
    excerpts: Sequence[Excerpt], behind: Sequence[Excerpt] = (), check: Check = go_on, tuning: Tuning = TUNING
) -> dict[str, Mention]:
    """Every anchor of the excerpts; those `behind` them only tell how long ago that was."""
    mentions: dict[str, Mention] = {}
    characters = sum(len(excerpt.text) for excerpt in behind)
    for excerpt in checked(reversed(excerpts), check, MANY):
        characters += len(excerpt.text)
        for name in excerpt.anchors:
            mention = mentions.get(name)
            if mention is None:
                since = characters / tuning.distance_characters / 1000
                mention = mentions[name] = Mention(last_index=excerpt.index, behind=since)
            mention.said += excerpt.source in _SPOKEN
            mention.called += excerpt.source is _CALLED
            mention.seen += excerpt.source is Source.RESULT
    return mentions


def weigh(mentions: Mapping[str, Mention], check: Check = go_on, tuning: Tuning = TUNING) -> dict[str, float]:
    """A weight per anchor, 0 to 8."""
    return {name: weight_of(mention, tuning) for name, mention in checked(mentions.items(), check, MANY)}


def focused(weights: Mapping[str, float], focus: frozenset[str], tuning: Tuning = TUNING) -> dict[str, float]:
    """The weights; names that hold a focus word weigh three times as much."""
    if not focus:
        return dict(weights)
    factor = tuning.focus_factor
    return {name: weight * (factor if mentions_focus(name, focus) else 1.0) for name, weight in weights.items()}


def weight_of(mention: Mention, tuning: Tuning = TUNING) -> float:
    """The weight of one anchor."""
    written, said, called, seen, distance = features_of(mention)
    counted = tuning.said * said + tuning.called * called + tuning.seen * seen + tuning.distance * distance
    return tuning.full_weight / (1 + math.exp(-(tuning.base + tuning.written * written + counted)))


def features_of(mention: Mention) -> tuple[float, float, float, float, float]:
    """What the likelihood is computed from: whether the agent wrote the anchor, how often the agent said it, wrote it
    in calls and was shown it, and the thousands of tokens since. All but the first are log2(1 + x)."""
    return (
        float(mention.written),
        math.log2(1 + mention.said),
        math.log2(1 + mention.called),
        math.log2(1 + mention.seen),
        math.log2(1 + mention.behind),
    )


def mentions_focus(text: str, focus: Iterable[str]) -> bool:
    """Whether a text holds one of the focus words (lower case)."""
    lowered = text.lower()
    return any(word in lowered for word in focus)
