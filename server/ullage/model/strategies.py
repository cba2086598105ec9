"""Strategies as settings: which whole messages leave the context first. `ullage.edits.strategies` carries them out.

Field docs become the settings schema. What every strategy keeps is no setting: the system prompt, the first user
message, pinned messages and the last exchange stay, and what a provider wants together goes together.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

Messages = Annotated[int, Meta(ge=0)]


class TruncationMode(StrEnum):
    """What happens when the context is full: whole messages go by one of the strategies, or a summary is made."""

    SLIDING_WINDOW = "sliding_window"
    TOKEN_BUDGET = "token_budget"
    SMART = "smart"
    SUMMARIZE = "summarize"


class Speaker(StrEnum):
    """The kind of a group of messages: a tool use with its results, the assistant's text, or the user's."""

    TOOL = "tool"
    ASSISTANT = "assistant"
    USER = "user"


class RangeKeep(StrEnum):
    """How much of the messages after the first exchange a truncated range leaves, in the terms that coding agents
    use."""

    NONE = "none"
    LAST_TWO = "lastTwo"
    HALF = "half"
    QUARTER = "quarter"


class _Strategy(
    Struct, frozen=True, kw_only=True, tag_field="type", rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The tag is the strategy's name in the field."""


class SlidingWindow(_Strategy, frozen=True, kw_only=True, tag="sliding_window"):
    """The last messages stay, by number, whatever they count."""

    max_messages: Annotated[Messages, Meta(description="Messages that stay.")] = 20


class TokenBudget(_Strategy, frozen=True, kw_only=True, tag="token_budget"):
    """The oldest messages go until the rest fits."""


class Selective(_Strategy, frozen=True, kw_only=True, tag="selective"):
    """Messages go by who speaks, oldest first; those of a kind that is not named stay as long as that is possible."""

    order: Annotated[tuple[Speaker, ...], Meta(description="What goes first, what next.")] = (
        Speaker.TOOL,
        Speaker.ASSISTANT,
    )


class Smart(_Strategy, frozen=True, kw_only=True, tag="smart"):
    """The first and the last messages stay; of those between them the oldest go until the rest fits."""

    keep_first: Annotated[Messages, Meta(description="Messages that stay at the beginning.")] = 2
    keep_last: Annotated[Messages, Meta(description="Messages that stay at the end.")] = 10


class TruncateRange(_Strategy, frozen=True, kw_only=True, tag="truncate_range"):
    """Drops a range after the first exchange at once, again and again until the rest fits."""

    keep: Annotated[RangeKeep, Meta(description="How much of the rest stays.")] = RangeKeep.HALF


StrategySettings = SlidingWindow | TokenBudget | Selective | Smart | TruncateRange
