"""How much each anchor matters: what the agent itself writes, again and lately, it will need again."""

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ullage.summary.history import History, Source

_SPOKEN = {Source.AGENT, Source.THINKING, Source.CALL}


class Mention(Struct):
    """How often an anchor was written by the agent and seen by it, and when last. Mutable: it is counted up."""

    said: int = 0
    seen: int = 0
    last_index: int = 0


def count_mentions(history: History) -> dict[str, Mention]:
    """Every anchor of the history."""
    mentions: dict[str, Mention] = {}
    for excerpt in history.excerpts:
        spoken = excerpt.source in _SPOKEN
        for name in excerpt.anchors:
            mention = mentions.get(name)
            if mention is None:
                mention = mentions[name] = Mention()
            mention.said += spoken
            mention.seen += not spoken
            mention.last_index = max(mention.last_index, excerpt.index)
    return mentions


def weigh(history: History, mentions: Mapping[str, Mention], focus: frozenset[str] = frozenset()) -> dict[str, float]:
    """A weight per anchor, about 0.3 to 8; names that hold a focus word weigh three times as much."""
    span = max(history.end_index - history.first_index, 1)
    weights: dict[str, float] = {}
    for name, mention in mentions.items():
        recency = (mention.last_index - history.first_index) / span
        spoken = 3.0 + math.log2(1 + mention.said) if mention.said else 0.0
        weight = (0.8 + spoken + 0.3 * math.log2(1 + mention.seen)) * (0.5 + 0.5 * recency)
        weights[name] = weight * (3.0 if focus and mentions_focus(name, focus) else 1.0)
    return weights


def mentions_focus(text: str, focus: Iterable[str]) -> bool:
    """Whether a text holds one of the focus words (lower case)."""
    lowered = text.lower()
    return any(word in lowered for word in focus)
