"""The weight of each anchor: the likelihood that the agent writes it again before anything shows it."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log2

from msgspec import Struct

from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.reading.contents import Excerpt, Seen, Source
from ullage.summary.tuning import CHARACTERS_PER_TOKEN, TUNING, Tuning

_AGENT, _CALLED, _SHOWN = Source.AGENT, Source.CALL, Source.RESULT


class Mention(Struct):
    """Counts of one anchor in the archived messages. `said`: in how many excerpts the agent wrote it in prose or
    thinking. `called`: in how many pieces of its tool calls. `times`: in how many excerpts and pieces at all.
    `last_index`: the last message it occurs in. `since`: thousands of tokens after that occurrence. `last`: the
    contents with that occurrence. `told`: the last of the agent's prose that has it, None if none has. Mutable, because
    it is counted up."""

    said: int = 0
    called: int = 0
    times: int = 0
    last_index: int = 0
    since: float = 0.0
    last: Excerpt | Seen | None = None
    told: Excerpt | Seen | None = None

    @property
    def written(self) -> bool:
        """Whether the agent itself wrote the anchor, in prose, thinking or a call."""
        return bool(self.said or self.called)


def count_mentions(
    contents: Sequence[Excerpt | Seen], after: Sequence[Excerpt | Seen] = (), check: Check = go_on
) -> dict[str, Mention]:
    """Returns the counts of every anchor in the `contents` of messages. The contents `after` them, such as those of the
    tail, only add to the distance since an anchor's last occurrence."""
    mentions: dict[str, Mention] = {}
    known = mentions.get
    characters = sum([one.counts.size for one in after])
    for one in checked(reversed(contents), check, MANY):
        counts = one.counts
        if counts.names:
            source, index = one.source, one.index
            for name, times, from_end in zip(counts.names, counts.times, counts.from_end, strict=True):
                mention = known(name)
                if mention is None:
                    since = (characters + from_end) / CHARACTERS_PER_TOKEN / 1000
                    mention = mentions[name] = Mention(last_index=index, since=since, last=one)
                if source is _CALLED:
                    mention.called += times
                elif source is not _SHOWN:
                    mention.said += times
                    if source is _AGENT and mention.told is None:
                        mention.told = one
                mention.times += times
        characters += counts.size
    return mentions


def weigh(mentions: Mapping[str, Mention], check: Check = go_on, tuning: Tuning = TUNING) -> dict[str, float]:
    """Returns the weight of each anchor, from 0 to 1: the likelihood that the agent writes it again before anything
    shows it."""
    return {name: weight_of(mention, tuning) for name, mention in checked(mentions.items(), check, MANY)}


def weight_of(mention: Mention, tuning: Tuning = TUNING) -> float:
    """Returns the likelihood that the agent writes the anchor again before anything shows it, by a logistic model."""
    written, said, called, distance = features_of(mention)
    counted = tuning.said * said + tuning.called * called + tuning.distance * distance
    return 1 / (1 + exp(-(tuning.base + tuning.written * written + counted)))


def features_of(mention: Mention) -> tuple[float, float, float, float]:
    """Returns the features of the logistic model: whether the agent wrote the anchor (0 or 1), how often in prose or
    thinking, how often in calls, and the thousands of tokens since. All but the first as log2(1 + x)."""
    said, called = mention.said, mention.called
    written = 1.0 if said or called else 0.0
    return written, log2(1 + said), log2(1 + called), log2(1 + mention.since)


def mentions_focus(text: str, focus: Iterable[str]) -> bool:
    """Returns whether a text contains one of the focus words, which must be in lower case."""
    lowered = text.lower()
    return any(word in lowered for word in focus)
