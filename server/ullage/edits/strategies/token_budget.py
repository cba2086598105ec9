"""`token_budget`: drops the oldest messages until the rest fits."""

from ullage.edits.strategies.situation import Candidate, Situation, until_fits
from ullage.edits.strategies.truncation import Truncation
from ullage.model.strategies import TokenBudget


class TokenBudgetStrategy(TokenBudget, Truncation, frozen=True, kw_only=True, tag="token_budget"):
    """Keeps as many of the newest messages as fit."""

    def choose(self, situation: Situation) -> tuple[Candidate, ...]:
        return until_fits(situation.candidates, situation.excess)
