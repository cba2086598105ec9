"""Results of the embeddable API."""

from msgspec import Struct

from ullage.model.message import Message
from ullage.model.updates import UsageMeta
from ullage.service.archive.search import Found
from ullage.service.ports.store import SearchHit


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


class SearchResults(tuple[SearchHit, ...]):
    """The messages that a search has found, best first.

    - `unread`: the number of stored records that are not indexed yet, so that the search knows nothing of them.
    - `note`: a sentence on what is to know of the results, or "" if there is nothing.
    """

    unread: int
    note: str

    def __new__(cls, found: Found) -> "SearchResults":
        """Makes the results of what the search returned."""
        results = super().__new__(cls, found.hits)
        results.unread, results.note = found.unread, found.note
        return results
