"""`selective`: messages go by who speaks."""

from ullage.edits.strategies.situation import Candidate, Situation, until_fits
from ullage.edits.strategies.truncation import Truncation
from ullage.model.strategies import Selective


class SelectiveStrategy(Selective, Truncation, frozen=True, kw_only=True, tag="selective"):
    """Of each kind in `order` the oldest go first; the next kind's turn comes when none of the last is left."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        ordered = (each for speaker in self.order for each in situation.free if each.speaker is speaker)
        return until_fits(ordered, situation.excess)
