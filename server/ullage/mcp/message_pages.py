"""The pages of `open`: messages, quoted, in parts that fit into a result."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from ullage.mcp.result_size import MAX_RESULT
from ullage.model.errors import InvalidRequest
from ullage.redaction.quoting import HISTORY, quoted, size_of

# Bytes of a page, so that the lines around the quotation fit, too.
_PAGE = MAX_RESULT - 400
# Bytes that come with a head: a line break before it, and what may end it.
_AROUND_HEAD = len("\n, continued:")


class _Line(Struct, frozen=True):
    """A line of a stretch: which message it belongs to, and its text, quoted."""

    index: int
    text: str


def shown_page(reference: str, heads: Mapping[int, str], texts: Mapping[int, str], page: int) -> str:
    """Returns a page of the messages with these texts, by index, each under its head. `reference` is what the model has
    asked for, and asks for again to have the next page. Raises `InvalidRequest` if there is no such page."""
    pages = [*_pages(heads, [*_lines(texts)])]
    if page > len(pages):
        raise InvalidRequest(f"open: {reference.strip()[:40]} has {len(pages)} pages; there is no page {page}")
    begun = {line.index for earlier in pages[: page - 1] for line in earlier}
    body: list[str] = []
    for index, lines in groupby(pages[page - 1], key=lambda line: line.index):
        body += ["", heads[index] + (", continued:" if index in begun else ":"), *(line.text for line in lines)]
    more = f' Next: ullage_open with ref "{reference.strip()}" and page {page + 1}.' if page < len(pages) else ""
    return "\n".join([HISTORY, *body, "", f"Page {page} of {len(pages)}.{more}"])


def _lines(texts: Mapping[int, str]) -> Iterator[_Line]:
    for index, text in texts.items():
        for line in quoted(text) or ["(nothing that can be shown as text)"]:
            yield _Line(index, line)


def _pages(heads: Mapping[int, str], lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Divides the lines into pages that fit. A message that begins on a page also needs room for its head."""
    page: list[_Line] = []
    room = _PAGE
    for line in lines:
        whole_head = size_of(heads[line.index]) + _AROUND_HEAD
        head = 0 if page and page[-1].index == line.index else whole_head
        if page and size_of(line.text) + head > room:
            yield page
            page, room, head = [], _PAGE, whole_head
        page.append(line)
        room -= size_of(line.text) + head
    yield page
