"""Strategies as settings: which whole messages are dropped first. `ullage.edits.strategies` carries them out.

Field docs become the settings schema. Every strategy keeps the system prompt, the first user message, pinned messages
and the last exchange; no setting changes that. Messages that a provider requires together are dropped together.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

Messages = Annotated[int, Meta(ge=0)]


class TruncationMode(StrEnum):
    """What happens when the context is full: a strategy drops whole messages, or a compaction summarizes them."""

    SLIDING_WINDOW = "sliding_window"
    TOKEN_BUDGET = "token_budget"
    SMART = "smart"
    SUMMARIZE = "summarize"


class Speaker(StrEnum):
    """The kind of a group of messages that are dropped together: a tool use with its results, a text of the assistant,
    or a message of the user."""

    TOOL = "tool"
    ASSISTANT = "assistant"
    USER = "user"


class RangeKeep(StrEnum):
    """How much of the messages after the first exchange a truncation keeps: nothing, the last two messages, the last
    half or the last quarter of them. The choices are those of other coding agents."""

    NONE = "none"
    LAST_TWO = "lastTwo"
    HALF = "half"
    QUARTER = "quarter"


class _Strategy(
    Struct, frozen=True, kw_only=True, tag_field="type", rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The base of the strategies' settings. The tag of each is the strategy's name in the settings."""


class SlidingWindow(_Strategy, frozen=True, kw_only=True, tag="sliding_window"):
    """Keeps the last `maxMessages` messages and drops the older ones, even if the context would fit without that."""

    max_messages: Annotated[Messages, Meta(description="Messages that stay.")] = 20


class TokenBudget(_Strategy, frozen=True, kw_only=True, tag="token_budget"):
    """Drops the oldest messages until the context fits the target."""


class Selective(_Strategy, frozen=True, kw_only=True, tag="selective"):
    """Drops messages kind by kind in the given order, and of one kind the oldest first. Messages of a kind that is not
    named are kept as long as that is possible."""

    order: Annotated[tuple[Speaker, ...], Meta(description="The kinds that are dropped, in this order.")] = (
        Speaker.TOOL,
        Speaker.ASSISTANT,
    )


class Smart(_Strategy, frozen=True, kw_only=True, tag="smart"):
    """Keeps the first and the last messages. Drops the oldest of the messages between them until the context fits the
    target."""

    keep_first: Annotated[Messages, Meta(description="Messages that stay at the beginning.")] = 2
    keep_last: Annotated[Messages, Meta(description="Messages that stay at the end.")] = 10


class TruncateRange(_Strategy, frozen=True, kw_only=True, tag="truncate_range"):
    """Drops a range of messages after the first exchange, and again a range of the remaining ones, until the context
    fits the target."""

    keep: Annotated[RangeKeep, Meta(description="How much of those messages is kept.")] = RangeKeep.HALF


StrategySettings = SlidingWindow | TokenBudget | Selective | Smart | TruncateRange
