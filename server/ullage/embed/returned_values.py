"""Results of the embeddable API."""

from msgspec import Struct

from ullage.model.message import Message
from ullage.model.updates import UsageMeta


class CompactionResult(Struct, frozen=True, kw_only=True):
    """What making room did. `removed` are the messages that left the context (cleared and shortened ones are still
    in it), `messages` are those it holds now, and `summary` replaces the removed ones, empty if nothing does. Sizes
    are tokens."""

    messages: tuple[Message, ...]
    removed: tuple[Message, ...]
    saved_tokens: int
    summary: str = ""


class ContextStats(UsageMeta, frozen=True, kw_only=True, rename="camel"):
    """All figures about the context's size: `used` tokens of a window of `size` (None while it is unknown), and
    those of `UsageMeta`: how `used` is known, the thresholds, the breakdown, the window's shares."""

    used: int
    size: int | None
