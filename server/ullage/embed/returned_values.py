"""Results of the embeddable API."""

from msgspec import Struct

from ullage.model.message import Message
from ullage.model.updates import UsageMeta


class CompactionResult(Struct, frozen=True, kw_only=True):
    """What making room has changed. Sizes are in tokens.

    - `messages`: the messages that are in the context now.
    - `removed`: the messages that are no longer in it. Messages that were only cleared or shortened are not among them.
    - `saved_tokens`: the tokens before minus the tokens now.
    - `summary`: the text that replaces the removed messages, or "" if there is no new summary.
    """

    messages: tuple[Message, ...]
    removed: tuple[Message, ...]
    saved_tokens: int
    summary: str = ""


class ContextStats(UsageMeta, frozen=True, kw_only=True, rename="camel"):
    """All figures about the context's size, in tokens: `used` tokens of a window of `size`, and the fields of
    `UsageMeta`.

    `oldest_message_age` is the age of the oldest message in milliseconds, or None if there is no message.
    """

    used: int
    size: int
    oldest_message_age: int | None = None
