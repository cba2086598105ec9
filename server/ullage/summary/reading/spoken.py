"""Reads what each message says by itself: the prose and the plans of the agent, and what the user typed."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from ullage.agents.inserted import linked, typed_texts
from ullage.model.blocks import ResourceBlock, TextBlock, ThinkingBlock
from ullage.model.message import Message, Role
from ullage.summary.checks import Check, checked
from ullage.summary.reading.contents import Excerpt, Source, held_by
from ullage.summary.reading.excerpts import GAP
from ullage.summary.reading.text_reader import Piece, Reader, count_once

_REQUEST_LIMIT = 24_000


class Said(Struct, frozen=True, kw_only=True, gc=False):
    """What a message says by itself: the excerpts and plans of the agent's, the text of the user's."""

    excerpts: tuple[Excerpt, ...] = ()
    plans: tuple[tuple[str, ...], ...] = ()
    typed: str = ""


_SILENT = Said()
# Most messages have only calls or results.
_TOLD = (TextBlock, ThinkingBlock, ResourceBlock)


def read_said(messages: Sequence[Message], indices: Sequence[int], reader: Reader, check: Check) -> list[Said]:
    """Returns what each message says by itself."""
    read = partial(_read_message, reader)
    return [
        reader.said_by(message.id, (message, indices[position]), read)
        if any(isinstance(block, _TOLD) for block in message.content)
        else _SILENT
        for position, message in enumerate(checked(messages, check))
    ]


def _read_message(reader: Reader, message: Message, index: int) -> tuple[Said, int]:
    if message.role is Role.USER and not message.compaction:
        typed = typed_text(message)
        return (Said(typed=typed) if typed else _SILENT), held_by(message.content)
    if message.role is not Role.ASSISTANT:
        return _SILENT, held_by(message.content)
    texts = [
        (block.text, Source.AGENT)
        if isinstance(block, TextBlock)
        # Only the model's own thinking is signed. A paraphrase narrates, and what it finds, the agent says.
        else (block.thinking, Source.THINKING if block.signature else Source.PARAPHRASE)
        for block in message.content
        if isinstance(block, (TextBlock, ThinkingBlock))
    ]
    excerpts = [excerpt for text, source in texts for excerpt in _numbered(reader.said(text), index, source)]
    plans = [plan for text, source in texts if source is Source.AGENT and (plan := reader.plan(text))]
    return Said(excerpts=tuple(excerpts), plans=tuple(plans)), held_by(message.content)


def typed_text(message: Message) -> str:
    """Returns the text that the user typed, without text that editors and agents inserted, followed by the addresses of
    attached resources. Empty if there is neither, or if the agent's program wrote the message."""
    return "\n".join([*map(bounded, typed_texts(message)), *linked(message)])


def bounded(text: str) -> str:
    """Returns the text of a request; the middle of a very long one is left out."""
    if len(text) <= _REQUEST_LIMIT:
        return text
    return text[: _REQUEST_LIMIT // 2] + GAP + text[-_REQUEST_LIMIT // 2 :]


def _numbered(pieces: Iterable[Piece], index: int, source: Source) -> Iterator[Excerpt]:
    for order, piece in enumerate(pieces):
        counts = count_once(piece)
        yield Excerpt(text=piece.text, index=index, order=order, source=source, anchors=piece.anchors, counts=counts)
