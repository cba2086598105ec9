"""`sliding_window`: keeps the last messages, by number."""

from ullage.edits.strategies.situation import Candidate, Situation
from ullage.edits.strategies.truncation import Truncation
from ullage.model.strategies import SlidingWindow


class SlidingWindowStrategy(SlidingWindow, Truncation, frozen=True, kw_only=True, tag="sliding_window"):
    """Drops every message outside the window, even if the context would fit its token limit."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        start = len(situation.messages) - self.max_messages
        return tuple(candidate for candidate in situation.candidates if candidate.places[0] < start)
