"""The user's side of the conversation: the task, standing instructions, constraints, and every request."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ullage.agents.calls import ToolCall
from ullage.agents.inserted import inserted_instructions
from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role
from ullage.model.standing_instructions import is_instruction_file
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import clip, head_and_tail, prose

_CONSTRAINS = re.compile(
    r"\b(?:never|must(?:n't)?|do(?:es)? not|don['’]t|only|always|without|avoid|shall|required?|ensure|forbidden|cannot"
    r"|can['’]t|should(?:n't)?|no more than|at (?:least|most)|instead of|make sure|keep|NOT|IMPORTANT)\b"
)
_FORBIDS = re.compile(r"\b(?:[Nn]ever|NEVER|[Mm]ust|MUST|[Dd]o not|DO NOT|[Dd]on['’]t|[Oo]nly|[Aa]lways|IMPORTANT)\b")
# Characters. Shorter sentences are headings.
_SHORTEST_SENTENCE = 20
_FEWEST_WORDS = 4
_INSTRUCTIONS_LIMIT = 24_000
# Characters. The constraints of a request this short are seen when the request is read.
_SHORT_REQUEST = 300


def task_of(digest: Digest) -> Iterator[Item]:
    """Yields the first request. If its message stays in the context, only the first sentence is quoted."""
    if digest.requests:
        first = digest.requests[0]
        opening = clip(next((line for line in first.text.splitlines() if _is_sentence(line)), first.text), 160)
        text = f"{opening} (the message stays in the context)" if first.kept else first.text
        yield _item(Section.TASK, text, first.index)


def _is_sentence(line: str) -> bool:
    """Returns whether a line is a sentence, and not a heading or a tag."""
    words = line.split()
    return len(words) >= _FEWEST_WORDS and words[-1][-1] not in ":>"


def constraints_of(digest: Digest) -> Iterator[Item]:
    """Yields sentences of long requests in which the user forbids, requires or limits something, because a reader
    easily misses them."""
    for request in digest.requests:
        if not request.kept and len(request.text) > _SHORT_REQUEST:
            for piece in prose(request.text):
                cues = len(_CONSTRAINS.findall(piece)) + len(_FORBIDS.findall(piece))
                if cues and len(piece) >= _SHORTEST_SENTENCE:
                    yield replace(_item(Section.CONSTRAINTS, piece, request.index), value=float(cues))


def requests_of(digest: Digest) -> Iterator[Item]:
    """Yields every request after the first, verbatim."""
    for request in digest.requests[1:]:
        if not request.kept:
            yield _item(Section.REQUESTS, request.text, request.index)


def instructions_of(
    messages: Sequence[Message],
    indices: Sequence[int],
    kept: frozenset[str],
    calls: Sequence[ToolCall],
) -> Iterator[Item]:
    """Yields the sentences of instruction files: those that an agent inserted into archived messages, and those that
    it last read from each such file."""
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
    for order, piece in enumerate(prose(clean(head_and_tail(text, _INSTRUCTIONS_LIMIT)))):
        if len(piece) >= _SHORTEST_SENTENCE:
            yield Item(
                section=Section.INSTRUCTIONS,
                text=piece,
                index=index,
                order=order,
                anchors=find_anchors(piece),
                value=1.0,
            )


def _item(section: Section, text: str, index: int) -> Item:
    return Item(section=section, text=text, index=index, anchors=find_anchors(text))
