"""Where to look for what the summary has no room for."""

from collections.abc import Iterator, Mapping, Set

from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.weights import Mention

# Names beyond these weigh too little to be looked for; a hint with more of them is no longer read.
_MOST_NAMES = 120
_NAMES_PER_HINT = 6


def hints_of(weights: Mapping[str, float], mentions: Mapping[str, Mention], told: Set[str]) -> Iterator[Item]:
    """One hint per archived message: names last seen there that the summary does not hold (`told`)."""
    untold = sorted((name for name in mentions if name not in told), key=lambda name: (-weights[name], name))
    by_message: dict[int, list[str]] = {}
    for name in untold[:_MOST_NAMES]:
        by_message.setdefault(mentions[name].last_index, []).append(name)
    for index, names in by_message.items():
        shown = tuple(names[:_NAMES_PER_HINT])
        yield Item(section=Section.LOOKUP, text=", ".join(shown), index=index, anchors=shown)
