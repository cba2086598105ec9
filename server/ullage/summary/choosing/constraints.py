"""What holds until further notice: constraints in the user's requests, and standing instructions."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ullage.agents.calls import ToolCall
from ullage.agents.inserted import inserted_instructions
from ullage.agents.results import FENCE
from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role
from ullage.model.standing_instructions import is_instruction_file
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.sentences import FEWEST_WORDS
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import head_and_tail, numbered_lines, prose

_FORBIDS = re.compile(
    r"\b(?:[Nn]ever|NEVER|[Mm]ust|MUST|[Dd]o not|DO NOT|[Dd]on['’]t|(?<!is |re |as |be )[Oo]nly|[Aa]lways"
    r"|IMPORTANT(?=[:!])|[Nn]iemals|[Aa]uf keinen Fall|[Mm]uss|[Mm]üssen|[Dd]ürfen nicht|[Jj]amais|[Nn]unca)\b"
    r"|不要|不能|不得|请勿|切勿|禁止|绝不|必须|ないで|てはいけ|必ず"
)
# Characters. Shorter sentences are headings.
_SHORTEST_SENTENCE = 20
_INSTRUCTIONS_LIMIT = 24_000
_NO_PROSE = re.compile(r"\s*(?:#{1,6} |[│├└|+]|[-=*_]{3,}|</?[\w-]+>|[$>] )")
# Comments of a form that was filled in, and lines of a patch.
_NOT_SAID = re.compile(r"<!--.{0,4000}?-->|^[+-](?: {2,}|\t)[^\n]*$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"\S*[/.]\S+")
# Between the cells of a table that was pasted: a row says what something is, not what to do.
_CELL = re.compile(r"\t| \| ")
# Characters. What a request this short forbids is seen when the request is read.
_SHORT_REQUEST = 1_500


def constraints_of(digest: Digest) -> Iterator[Item]:
    """Yields, as items, the sentences of very long archived requests in which the user forbids or requires something,
    because a reader easily misses them."""
    for request in digest.requests:
        if not request.kept and len(request.text) > _SHORT_REQUEST:
            for order, piece, cues in demands_in(request.text):
                yield _item(Section.CONSTRAINTS, piece, request.index, order, float(cues))


@lru_cache(maxsize=256)
def demands_in(request: str) -> tuple[tuple[int, str, int], ...]:
    """Returns the sentences of a request in which the user forbids or requires something, each with its place and the
    number of words that say so. Remembered, because a conversation is often summarized again."""
    return tuple(
        (order, piece, cues)
        for order, piece in enumerate(prose(_NOT_SAID.sub("\n", FENCE.sub("\n", request))))
        if (cues := len(_FORBIDS.findall(piece)))
        and len(piece) >= (_SHORTEST_SENTENCE if piece.isascii() else _SHORTEST_SENTENCE // 2)
        and not piece.endswith(("?", ":"))
        and not _CELL.search(piece)
    )


def instructions_of(
    messages: Sequence[Message],
    indices: Sequence[int],
    kept: frozenset[str],
    calls: Sequence[ToolCall],
) -> Iterator[Item]:
    """Yields, as items, the sentences of instruction files: those that an agent inserted into archived messages, and
    those that it last read from each such file. `kept` are the ids of messages that stay verbatim, whose inserted texts
    are left out."""
    for message, index in zip(messages, indices, strict=True):
        if message.role is Role.USER and message.id not in kept:
            for block in message.content:
                if isinstance(block, TextBlock):
                    for text in inserted_instructions(head_and_tail(block.text, _INSTRUCTIONS_LIMIT)):
                        yield from _instructions(text, index)
    newest = {call.path: call for call in calls if is_instruction_file(call.path) and call.result and not call.failed}
    for call in newest.values():
        yield from _instructions(call.result, call.result_index)


def _instructions(text: str, index: int) -> Iterator[Item]:
    for order, piece, value in _told_by(head_and_tail(text, _INSTRUCTIONS_LIMIT)):
        yield _item(Section.INSTRUCTIONS, piece, index, order, value)


@lru_cache(maxsize=64)
def _told_by(text: str) -> tuple[tuple[int, str, float], ...]:
    """Returns what a file of instructions says in sentences and names in lists, each with its place and its worth. Its
    headings, code and drawings only describe the project. What demands or forbids is worth more than the rest.
    Remembered like `demands_in`."""
    told: list[tuple[int, str, float]] = []
    for order, piece in enumerate(prose(_said(clean(text)))):
        demands = len(_FORBIDS.findall(piece))
        whole = len(piece.split()) >= FEWEST_WORDS and not piece.endswith(":")
        if len(piece) >= _SHORTEST_SENTENCE and (demands or whole or _FILE.fullmatch(piece)):
            told.append((order, piece, 1.0 + demands))
    return tuple(told)


def _said(text: str) -> str:
    """Returns the lines of a Markdown text without the numbers that a tool wrote before them, its headings, its code
    and its drawings."""
    lines = "\n".join(numbered_lines(text)[0])
    return "\n".join(line for line in FENCE.sub("\n", lines).splitlines() if not _NO_PROSE.match(line))


def _item(section: Section, text: str, index: int, order: int, value: float) -> Item:
    return Item(section=section, text=text, index=index, order=order, anchors=find_anchors(text), value=value)
