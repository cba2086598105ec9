"""List prices, and the cost of a session's requests."""

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.usage import Usage

_MILLION = 1_000_000
CURRENCY = "USD"


class PriceTier(Struct, frozen=True, array_like=True):
    """US dollars for a million tokens of a request whose prompt has more than `above` tokens."""

    above: int
    input: float
    cache_read: float
    cache_write: float
    output: float


class Price(Struct, frozen=True):
    """A model's list prices, as tiers by prompt size, smallest prompts first."""

    tiers: tuple[PriceTier, ...]

    def cost(self, usage: Usage) -> float:
        """Returns the cost of one request in US dollars."""
        tier = max((tier for tier in self.tiers if tier.above < max(1, usage.prompt)), key=lambda tier: tier.above)
        return (
            usage.input_tokens * tier.input
            + usage.cache_read_input_tokens * tier.cache_read
            + usage.cache_creation_input_tokens * tier.cache_write
            + usage.output_tokens * tier.output
        ) / _MILLION


class Bill(Struct, frozen=True, kw_only=True):
    """The cost of a session's requests so far, in US dollars. `amount` is None once a request without a known price
    was made. `answer_id` is the last answer's id, because its usage may be reported again."""

    amount: float | None = 0.0
    answer_id: str = ""
    last: float = 0.0

    def charge(self, answer_id: str, cost: float | None) -> "Bill":
        """Returns the bill with one more usage report. A second report of the last answer replaces the first."""
        if self.amount is None or cost is None:
            return Bill(amount=None, answer_id=answer_id)
        known = self.amount - self.last if answer_id == self.answer_id else self.amount
        return Bill(amount=known + cost, answer_id=answer_id, last=cost)

    def add(self, cost: float | None) -> "Bill":
        """Returns the bill with one more request that produced no answer in the transcript."""
        if self.amount is None or cost is None:
            return replace(self, amount=None)
        return replace(self, amount=self.amount + cost)
