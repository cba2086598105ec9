"""`selective`: drops messages by their role."""

from ullage.edits.strategies.situation import Candidate, Situation, until_fits
from ullage.edits.strategies.truncation import Truncation
from ullage.model.strategies import Selective


class SelectiveStrategy(Selective, Truncation, frozen=True, kw_only=True, tag="selective"):
    """Drops the oldest messages of the first role in `order`, then those of the next role once none of the first is
    left."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        ordered = (each for speaker in self.order for each in situation.free if each.speaker is speaker)
        return until_fits(ordered, situation.excess)
