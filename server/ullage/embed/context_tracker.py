"""Tracks how full a context is, for a program that manages the context itself."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from ullage.embed.counters import TokenCounter, engine_counter, get_counter
from ullage.embed.keywords import checked
from ullage.embed.messages import MessageList
from ullage.embed.model_limits import ContextLimits
from ullage.formats.provider_usage import convert_usage
from ullage.model.errors import InvalidRequest
from ullage.model.message import Message
from ullage.model.usage import UsageSource
from ullage.tokens import tracker


@checked
class ContextTracker:
    """Counts the tokens of one context's messages and compares them with a model's limits.

    Counts are estimates until `update_usage` is given the usage that the provider reports. Without `limits`, those of
    the catalog are used. Raises `WindowUnknown` if the catalog doesn't know the model.
    """

    def __init__(self, model: str, limits: ContextLimits | None = None, counter: TokenCounter | None = None) -> None:
        self.model = model
        self.limits = limits or ContextLimits.for_model(model)
        self.counter = counter or get_counter(model)
        self._engine = engine_counter(self.counter)
        self._clear()

    @classmethod
    def restore(cls, model: str, limits: ContextLimits, state: tracker.TrackerState) -> Self:
        """Returns a tracker that continues from `state`, the state of one of the engine's own trackers
        (`ullage.tokens`)."""
        restored = cls(model, limits)
        restored._tracker, restored._count = tracker.ContextTracker.restore(state), state.messages
        return restored

    def update(self, messages: Sequence[Mapping[str, Any] | Message]) -> int:
        """Replaces all messages of the context, and drops reported usage. Returns the tokens in the context. Raises
        `InvalidRequest` if one of `messages` is not a message."""
        read = MessageList(messages).messages
        self._clear()
        self._add(read)
        return self.used_tokens

    def add_message(self, message: Mapping[str, Any] | Message) -> int:
        """Adds a message at the end of the context. Returns the tokens in the context. Raises `InvalidRequest` if it is
        not a message."""
        self._add(MessageList([message]).messages)
        return self.used_tokens

    def update_usage(self, usage: Mapping[str, Any]) -> None:
        """Sets the context's size to the usage that the provider reported with the last message, which must be an
        answer. `usage` is in the provider's own form. Raises `InvalidRequest` if no message was added yet."""
        if not self._count:
            raise InvalidRequest("a usage belongs to an answer; add the answer first")
        self._tracker.report(convert_usage(usage), str(self._count), 0)

    @property
    def used_tokens(self) -> int:
        """The tokens in the context."""
        return self._tracker.reading.used

    @property
    def source(self) -> UsageSource:
        """Where the figure `used_tokens` comes from: `reported` by the provider, `stale` (reported before an edit), or
        `estimated`."""
        return self._tracker.reading.source

    @property
    def available_tokens(self) -> int:
        """The tokens that are still free for messages, without the reserve for the answer; 0 if there are none."""
        return max(0, self.limits.usable_tokens - self.used_tokens)

    def exceeds_limit(self, additional: int = 0) -> bool:
        """Returns whether the context, with `additional` more tokens, leaves no room for an answer."""
        return self.used_tokens + additional > self.limits.usable_tokens

    def overflow_amount(self) -> int:
        """Returns by how many tokens the context is too large to leave room for an answer; 0 if it leaves room."""
        return max(0, self.used_tokens - self.limits.usable_tokens)

    def _clear(self) -> None:
        self._tracker = tracker.ContextTracker()
        self._count = 0

    def _add(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._count += 1
            self._tracker.append(str(self._count), message.role, self._engine.break_down(message))
