"""The summariser that needs no model: it chooses what to quote, by rank, and writes it under fixed headings."""

from collections.abc import Iterator

from ullage.summary.choosing.compose import compose
from ullage.summary.request import SummaryRequest
from ullage.tokens.counter import TokenCounter


def summarize(request: SummaryRequest, counter: TokenCounter) -> Iterator[str]:
    """The summary, a section at a time; the pieces put together are the text. Together with the ledger that
    `compose` gives for the same request it takes at most `request.max_tokens` as rendered."""
    yield from compose(request, counter).pieces
