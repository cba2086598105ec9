"""List prices, and the cost of a session's requests."""

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.usage import Usage

_MILLION = 1_000_000
# Anthropic's prices of cache writes are shares of the price of input: 1.25 for five minutes, which the lists give, and
# 2 for an hour (docs, "Prompt caching").
_HOUR = 2.0
CURRENCY = "USD"


class PriceTier(Struct, frozen=True, array_like=True):
    """The prices in US dollars for a million tokens of each kind, for a request whose prompt has more than `above`
    tokens and at most the `above` of the next tier."""

    above: int
    input: float
    cache_read: float
    cache_write: float
    output: float


class Price(Struct, frozen=True):
    """A model's list prices. The tiers are sorted by prompt size, the smallest first."""

    tiers: tuple[PriceTier, ...]

    def cost(self, usage: Usage) -> float:
        """Returns the cost of one request in US dollars. The size of its prompt, cached tokens included, chooses the
        tier."""
        tier = max((tier for tier in self.tiers if tier.above < max(1, usage.prompt)), key=lambda tier: tier.above)
        return (
            usage.input_tokens * tier.input
            + usage.cache_read_input_tokens * tier.cache_read
            + (usage.cache_creation_input_tokens - usage.cache_creation_1h_input_tokens) * tier.cache_write
            + usage.cache_creation_1h_input_tokens * tier.input * _HOUR
            + usage.output_tokens * tier.output
        ) / _MILLION


class Bill(Struct, frozen=True, kw_only=True):
    """The cost of a session's requests so far, in US dollars. `amount` is None once the price of a request is unknown.
    `answer_id` and `last` are the id and the cost of the last answer, because its usage may be reported again."""

    amount: float | None = 0.0
    answer_id: str = ""
    last: float = 0.0

    def charge(self, answer_id: str, cost: float | None) -> "Bill":
        """Returns the bill after a usage report of the answer `answer_id`, whose request cost `cost` US dollars. A
        second report of the last answer replaces the first. If `cost` is None (no known price), the amount is unknown
        from then on."""
        if self.amount is None or cost is None:
            return Bill(amount=None, answer_id=answer_id)
        known = self.amount - self.last if answer_id == self.answer_id else self.amount
        return Bill(amount=known + cost, answer_id=answer_id, last=cost)

    def add(self, cost: float | None) -> "Bill":
        """Returns the bill after one more request that cost `cost` US dollars and added no answer to the transcript,
        such as one for a summary. If `cost` is None, the amount is unknown from then on."""
        if self.amount is None or cost is None:
            return replace(self, amount=None)
        return replace(self, amount=self.amount + cost)
