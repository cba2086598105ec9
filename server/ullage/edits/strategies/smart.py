"""`smart`: keeps the beginning and the end, and drops the middle."""

from ullage.edits.strategies.situation import Candidate, Situation, until_fits
from ullage.edits.strategies.truncation import Truncation
from ullage.model.strategies import Smart


class SmartTruncationStrategy(Smart, Truncation, frozen=True, kw_only=True, tag="smart"):
    """Drops only as much of the middle as needed, the oldest messages first."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        start, stop = self.keep_first, len(situation.messages) - self.keep_last
        middle = (each for each in situation.free if start <= each.places[0] and each.places[-1] < stop)
        return until_fits(middle, situation.excess)
