"""What a conversation's requests cost by list prices, and how much of that was paid because a prompt was no longer in
the provider's cache."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.events import Event, ModelChanged, SummaryReported, UsageReported
from ullage.model.usage import CacheMissCause, Pass, Usage
from ullage.policy.prompt_cache import CachedPrompt

# Returns the cost of a request to a model in US dollars, None if the model has no list price.
CostOf = Callable[[str, Usage], float | None]


class PaidRequest(Struct, frozen=True, array_like=True):
    """A request at the time `at` (Unix milliseconds, 0 if unknown).

    `answer` is the id of its answer, "" for a summary's. `tokens` are those of its prompt and its answer. `amount` is
    its cost in US dollars, None if the model has no list price. `again` is the part of it that was paid because what
    the request before it had left in the cache was not read, and `cause` says why; 0 and None if all of it was read.
    All of what a summary costs is paid because of a compaction.
    """

    at: int
    answer: str
    model: str
    tokens: int
    amount: float | None
    again: float = 0.0
    cause: CacheMissCause | None = None


def request_cost(report: UsageReported, model: str, cost: CostOf) -> float | None:
    """Returns the cost of an answer in US dollars: of all its passes, each at its model's price. `model` is that of the
    conversation. Returns None if a price is not known."""
    costs = [cost(one.model or model, one.usage) for one in _passes(report)]
    return None if None in costs else sum(known or 0.0 for known in costs)


def paid_requests(events: Iterable[tuple[Event, int]], model: str, cost: CostOf) -> Iterator[PaidRequest]:
    """Yields the requests of a conversation that began with this model, without those that another conversation made
    and paid for. Each event has the time at which it was recorded, in Unix milliseconds, 0 if unknown. A second report
    of the same answer replaces the first."""
    cached, newest, before = CachedPrompt(), None, CachedPrompt()
    for event, recorded in events:
        match event:
            case ModelChanged():
                model = event.model
            case SummaryReported(usage=usage):
                amount = cost(event.model or model, usage)
                again, cause = amount or 0.0, CacheMissCause.COMPACTION
                yield PaidRequest(recorded, "", event.model or model, usage.total, amount, again, cause)
            case UsageReported(message_id=answer):
                at, is_again = event.timestamp or recorded, newest is not None and newest.answer == answer
                # What an answer found is what was there before its first report.
                before = before if is_again else cached
                cached = cached.after(event, at)
                if event.is_copied:
                    continue
                tokens = sum(one.usage.total for one in _passes(event))
                one = PaidRequest(at, answer, model, tokens, request_cost(event, model, cost))
                missed = None if cached.miss is before.miss else cached.miss
                if missed is not None:
                    one = replace(one, again=_again(event.usage, before, model, cost), cause=missed.cause)
                if newest is not None and not is_again:
                    yield newest
                newest = one
            case _:
                cached = cached.after(event, recorded)
    if newest is not None:
        yield newest


def _passes(report: UsageReported) -> tuple[Pass, ...]:
    return report.passes or (Pass(usage=report.usage),)


def _again(usage: Usage, before: CachedPrompt, model: str, cost: CostOf) -> float:
    """Returns what a request cost more than one that finds in the cache what the request before it had left."""
    found = min(before.tokens, usage.prompt) - usage.cache_read_input_tokens
    written = min(found, usage.cache_creation_input_tokens)
    warm = replace(
        usage,
        input_tokens=usage.input_tokens - (found - written),
        cache_creation_input_tokens=usage.cache_creation_input_tokens - written,
        cache_creation_1h_input_tokens=max(0, usage.cache_creation_1h_input_tokens - written),
        cache_read_input_tokens=usage.cache_read_input_tokens + found,
    )
    paid, due = cost(model, usage), cost(model, warm)
    return 0.0 if paid is None or due is None else max(0.0, paid - due)


class Spent(Struct, frozen=True, kw_only=True):
    """What requests cost in US dollars, by its cause.

    `cold` was paid because the provider's cache had lost a prompt, and `compactions` for summaries and because they
    replaced what was in the cache; `sub_agents` is all that sub-agents cost; `work` is the rest. `requests` is the
    number of requests and `tokens` those of their prompts and answers; `unpriced` is the number of those without a list
    price, which the amounts lack.
    """

    work: float = 0.0
    cold: float = 0.0
    compactions: float = 0.0
    sub_agents: float = 0.0
    requests: int = 0
    tokens: int = 0
    unpriced: int = 0

    @property
    def total(self) -> float:
        return self.work + self.cold + self.compactions + self.sub_agents

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


def spent_on(request: PaidRequest, *, is_side: bool) -> Spent:
    """Returns what one request cost. `is_side` says whether a sub-agent made it."""
    amount = request.amount or 0.0
    is_compaction = request.cause is CacheMissCause.COMPACTION
    return Spent(
        work=0.0 if is_side else amount - request.again,
        cold=0.0 if is_side or is_compaction else request.again,
        compactions=request.again if is_compaction and not is_side else 0.0,
        sub_agents=amount if is_side else 0.0,
        requests=1,
        tokens=request.tokens,
        unpriced=int(request.amount is None),
    )
