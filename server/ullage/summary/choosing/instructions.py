"""Standing instructions: what a project or a person told the agent once and for all, outside the conversation."""

from collections.abc import Iterator, Sequence

from ullage.agents.calls import ToolCall
from ullage.agents.inserted import inserted_instructions
from ullage.model.blocks import TextBlock
from ullage.model.instruction_files import is_instruction_file
from ullage.model.message import Message, Role
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.excerpts import head_and_tail, prose

_LIMIT = 24_000
# Shorter ones are headings.
_SHORTEST = 20


def instructions_of(
    messages: Sequence[Message], indices: Sequence[int], kept: frozenset[str], calls: Sequence[ToolCall]
) -> Iterator[Item]:
    """Their sentences, as inserted into archived messages or as read last from their files."""
    for message, index in zip(messages, indices, strict=True):
        if message.role is Role.USER and message.id not in kept:
            for block in message.content:
                if isinstance(block, TextBlock):
                    for text in inserted_instructions(head_and_tail(block.text, _LIMIT)):
                        yield from _items(text, index)
    newest = {call.path: call for call in calls if is_instruction_file(call.path) and call.result and not call.failed}
    for call in newest.values():
        yield from _items(call.result, call.result_index)


def _items(text: str, index: int) -> Iterator[Item]:
    for order, piece in enumerate(prose(clean(head_and_tail(text, _LIMIT)))):
        if len(piece) >= _SHORTEST:
            yield Item(
                section=Section.INSTRUCTIONS,
                text=piece,
                index=index,
                order=order,
                anchors=find_anchors(piece),
                value=1.0,
                scale=0.2,
            )
