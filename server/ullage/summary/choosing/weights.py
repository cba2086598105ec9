"""How much each anchor matters: how likely the agent is to write it again without being shown it first."""

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.reading.digest import Excerpt, Source
from ullage.summary.tuning import CHARACTERS_PER_TOKEN, TUNING, Tuning

_CALLED = Source.CALL
_SPOKEN = {Source.AGENT, Source.THINKING}


class Mention(Struct):
    """How often an anchor was said by the agent and written in its calls, the index of the message it last stood in,
    and how many thousand tokens came after that. Mutable: it is counted up."""

    said: int = 0
    called: int = 0
    times: int = 0
    last_index: int = 0
    behind: float = 0.0

    @property
    def written(self) -> bool:
        """Whether the agent itself ever wrote it."""
        return bool(self.said or self.called)


def count_mentions(
    excerpts: Sequence[Excerpt], after: Sequence[Excerpt] = (), check: Check = go_on
) -> dict[str, Mention]:
    """Every anchor of the excerpts. Those `after` them add no names, only distance."""
    mentions: dict[str, Mention] = {}
    characters = sum(len(excerpt.text) for excerpt in after)
    for excerpt in checked(reversed(excerpts), check, MANY):
        characters += len(excerpt.text)
        for name in excerpt.anchors:
            mention = mentions.get(name)
            if mention is None:
                since = characters / CHARACTERS_PER_TOKEN / 1000
                mention = mentions[name] = Mention(last_index=excerpt.index, behind=since)
            mention.said += excerpt.source in _SPOKEN
            mention.called += excerpt.source is _CALLED
            mention.times += 1
    return mentions


def weigh(mentions: Mapping[str, Mention], check: Check = go_on, tuning: Tuning = TUNING) -> dict[str, float]:
    """A weight per anchor, 0 to 1."""
    return {name: weight_of(mention, tuning) for name, mention in checked(mentions.items(), check, MANY)}


def weight_of(mention: Mention, tuning: Tuning = TUNING) -> float:
    """The likelihood that the agent writes the anchor again before anything shows it, by a logistic model."""
    written, said, called, distance = features_of(mention)
    counted = tuning.said * said + tuning.called * called + tuning.distance * distance
    return 1 / (1 + math.exp(-(tuning.base + tuning.written * written + counted)))


def features_of(mention: Mention) -> tuple[float, float, float, float]:
    """The features of that model: whether the agent wrote the anchor, how often it said it, how often it wrote it in a
    call, and the thousands of tokens since. All but the first are log2(1 + x)."""
    return (
        float(mention.written),
        math.log2(1 + mention.said),
        math.log2(1 + mention.called),
        math.log2(1 + mention.behind),
    )


def mentions_focus(text: str, focus: Iterable[str]) -> bool:
    """Whether a text holds one of the focus words (lower case)."""
    lowered = text.lower()
    return any(word in lowered for word in focus)
