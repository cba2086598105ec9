"""A compaction's need for a summary, as a value."""

from msgspec import Struct

from ullage.model.blocks import CompactionBlock
from ullage.model.message import Message


class SummaryRequest(Struct, frozen=True, kw_only=True):
    """What to summarise and into how many tokens.

    `messages` are the archived ones in order, `indices` their places in the transcript; `kept` names those that stay
    verbatim anyway, `tail` are the messages behind them that do. `previous` is the marker this summary replaces,
    `focus` what the person asked to keep. `max_tokens` bounds the summary and the ledger together, by `count` of the
    session's counter.
    """

    messages: tuple[Message, ...]
    indices: tuple[int, ...]
    max_tokens: int
    previous: CompactionBlock | None = None
    kept: tuple[str, ...] = ()
    tail: tuple[Message, ...] = ()
    focus: str = ""
