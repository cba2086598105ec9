"""Replays recorded actions against a carried text: which can go ahead, and what the others must look up again.

Laws: a text that holds everything lets every action go ahead, an empty one none, and a text that holds more never lets
fewer go ahead nor costs more.
"""

from collections.abc import Sequence

from msgspec import Struct

from ullage.survive.actions import Recorded
from ullage.survive.fact import Haystack


class Outcome(Struct, frozen=True, kw_only=True):
    """How one arm did after one cut.

    - `size`: the tokens of what was carried.
    - `needing`: actions that need something from before the cut; `unblocked`: those that could go ahead.
    - `needed`: facts that they need; `carried`: those that were carried.
    - `lookups`: recorded look-ups that must be made again; `tokens`: what they took.
    - `unknown`: missing facts that no look-up had shown, so that only the conversation has them.
    - `missing_looked`: missing facts that the agent did look at again before it used them; `carried_looked`: the same
      of carried facts.
    """

    size: int
    needing: int
    unblocked: int
    needed: int
    carried: int
    lookups: int
    tokens: int
    unknown: int
    missing_looked: int
    carried_looked: int


def replay(recorded: Recorded, texts: Sequence[str], size: int) -> Outcome:
    """Returns how an agent does that carries `texts`, of `size` tokens, over the cut."""
    held = Haystack(texts)
    kept = {need.fact for need in recorded.needs if held.holds(need.fact)}
    missing = [need for need in recorded.needs if need.fact not in kept]
    sources = {need.source: need.tokens for need in missing if need.source >= 0}
    return Outcome(
        size=size,
        needing=len(recorded.actions),
        unblocked=sum(all(need.fact in kept for need in needs) for needs in recorded.actions),
        needed=len(recorded.needs),
        carried=len(kept),
        lookups=len(sources),
        tokens=sum(sources.values()),
        unknown=sum(need.source < 0 for need in missing),
        missing_looked=sum(need.looked_again for need in missing),
        carried_looked=sum(need.looked_again for need in recorded.needs if need.fact in kept),
    )
