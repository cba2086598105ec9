"""What the embeddable API answers with."""

from msgspec import Struct

from ullage.model.message import Message
from ullage.model.updates import UsageMeta


class CompactionResult(Struct, frozen=True, kw_only=True):
    """What making room did. `removed` left the context whole (cleared and shortened ones are still in it), `messages`
    are what it holds now, `summary` is what stands for the removed ones, empty if nothing does. Tokens."""

    messages: tuple[Message, ...]
    removed: tuple[Message, ...]
    saved_tokens: int
    summary: str = ""


class ContextStats(UsageMeta, frozen=True, kw_only=True, rename="camel"):
    """Everything known about the context's size: `used` tokens of a window of `size` (None while it is unknown), and
    what `UsageMeta` says: how that is known, the thresholds, the parts, the window's shares."""

    used: int
    size: int | None
