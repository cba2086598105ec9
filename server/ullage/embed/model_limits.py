"""A model's limits, and how the tokens of its window are divided."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from msgspec import Struct

from ullage.catalog import limits as catalog
from ullage.catalog.limits import LimitsSource
from ullage.embed.counters import get_counter
from ullage.model.errors import WindowUnknown
from ullage.model.settings import ContextSettings, ModelSettings
from ullage.model.usage import BudgetShares
from ullage.policy import budget as policy

_RESERVED = 1_000


class ContextLimits(Struct, frozen=True):
    """A model's limits in tokens.

    - `max_tokens`: the longest prompt.
    - `max_output_tokens`: the longest answer, or None if unknown.
    - `reserved_tokens`: the reserve, which is kept free for the answer.
    - `source`: where the limits come from.
    """

    model: str
    max_tokens: int
    max_output_tokens: int | None = None
    reserved_tokens: int = _RESERVED
    source: LimitsSource = LimitsSource.OVERRIDE

    @classmethod
    def for_model(cls, model: str, *, window: int | None = None, max_output: int | None = None) -> Self:
        """Returns the limits of a model, whose name may be spelled as any provider spells it. `window` and
        `max_output`, in tokens, replace the catalog's figures.

        The reserve is min(max output, 20,000, window / 4). Raises `WindowUnknown` if the catalog doesn't know the model
        and `window` is None: no window is guessed.
        """
        known = catalog.ContextLimits.for_model(model, {model: ModelSettings(window=window, max_output=max_output)})
        if known.input is None:
            raise WindowUnknown(f"the window of model {model!r} is not known; give it as `window`, in tokens")
        reserve = policy.make_budget(known.input, known.max_output, ContextSettings(), known.total).reserve
        return cls(model, known.input, known.max_output, reserve, known.source)

    @property
    def usable_tokens(self) -> int:
        """The tokens of the longest prompt that leaves the reserve free for an answer."""
        return max(0, self.max_tokens - self.reserved_tokens)


class ContextBudget(Struct, frozen=True):
    """How the `total` tokens of a window are divided now: the tokens of the system prompt, the conversation and the
    tools, and the reserve for the answer."""

    total: int
    system_prompt: int = 0
    conversation: int = 0
    tools: int = 0
    response_reserve: int = 0

    @classmethod
    def for_request(
        cls, limits: ContextLimits, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Self:
        """Returns the budget of a request with these messages and tools. Raises `InvalidRequest` if one of `messages`
        is not a message."""
        counter = get_counter(limits.model)
        system = [message for message in messages if message.get("role") in ("system", "developer")]
        system_prompt = counter.count_messages(system)
        return cls(
            total=limits.max_tokens,
            system_prompt=system_prompt,
            conversation=counter.count_messages(messages) - system_prompt,
            tools=counter.count_tools(tools),
            response_reserve=limits.reserved_tokens,
        )

    @classmethod
    def of(cls, window: int, used: int, shares: BudgetShares) -> Self:
        """Returns the budget of a conversation with `used` tokens in a window of `window` tokens. `shares` has the
        tokens of the system prompt and the tools, and the reserve."""
        return cls(
            total=window,
            system_prompt=shares.system_prompt,
            conversation=used - shares.system_prompt - shares.tools,
            tools=shares.tools,
            response_reserve=shares.reserve,
        )

    @property
    def available(self) -> int:
        """The tokens that are still free for new messages; 0 if there are none."""
        return max(0, self._left)

    @property
    def overflow(self) -> int:
        """The tokens by which system prompt, conversation, tools and reserve exceed the window; 0 if they fit."""
        return max(0, -self._left)

    @property
    def _left(self) -> int:
        return self.total - self.system_prompt - self.conversation - self.tools - self.response_reserve
