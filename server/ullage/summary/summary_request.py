"""The request for a summary, as a value."""

from msgspec import Struct

from ullage.model.message import CompactionBlock, Message


class SummaryRequest(Struct, frozen=True, kw_only=True):
    """What to summarize, and into how many tokens.

    `messages` are those before the tail in order, and `indices` their indices in the transcript. `kept` are the ids of
    those among them that stay in the context verbatim. `tail` are the messages after them, as they stay. If one of
    them was shortened, `whole` are the same messages as they were before, else none.

    `previous` is the marker that this summary replaces, None if there is none. `earlier` are the messages that it
    stands for, with `earlier_indices`; there are none if they are not known, and then the marker's own page is carried
    on. `conversation` is the id under which a reader remembers what it has folded, empty if it shall not. `cwd` is the
    project's folder, empty if unknown. `focus` is what the user wants the summary to keep. `max_tokens` limits the
    summary and the ledger together, by the session's counter.
    """

    messages: tuple[Message, ...]
    indices: tuple[int, ...]
    max_tokens: int
    previous: CompactionBlock | None = None
    earlier: tuple[Message, ...] = ()
    earlier_indices: tuple[int, ...] = ()
    kept: tuple[str, ...] = ()
    tail: tuple[Message, ...] = ()
    whole: tuple[Message, ...] = ()
    conversation: str = ""
    cwd: str = ""
    focus: str = ""
