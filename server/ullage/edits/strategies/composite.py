"""`composite`: runs strategies one after the other until the target is met."""

from msgspec import Struct

from ullage.edits.strategies.situation import Candidate, Situation
from ullage.edits.strategies.truncation import Truncation, TruncationStrategy


class CompositeStrategy(Struct, Truncation, frozen=True):
    """A chain of strategies. A strategy runs only if those before it were not enough."""

    strategies: tuple[TruncationStrategy, ...]

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        gone: tuple[Candidate, ...] = ()
        for strategy in self.strategies:
            if situation.excess <= 0:
                break
            chosen = strategy.choose(situation)
            situation = situation.after(chosen)
            gone += chosen
        return gone
