"""Reads which anchors a message has, from the same readings of its texts that a summary is made of."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from ullage.agents.results import is_output, printed
from ullage.agents.tools import command_of, path_of
from ullage.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.model.message import Message, Role
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.called import texts_written
from ullage.summary.reading.contents import held_by
from ullage.summary.reading.spoken import bounded
from ullage.summary.reading.text_reader import Reader


def names_in(reader: Reader, message: Message) -> frozenset[str]:
    """Returns the anchors in what a message says, writes into files and commands, and shows."""
    return reader.named_by(message.id, (message,), partial(_read_names, reader))


def _read_names(reader: Reader, message: Message) -> tuple[frozenset[str], int]:
    names = chain.from_iterable(_names(reader, block, message.role) for block in message.content)
    return frozenset(chain.from_iterable(names)), held_by(message.content)


def _names(reader: Reader, block: Block, role: Role) -> Iterator[Iterable[str]]:
    """Yields the anchors of each text of a block."""
    match block:
        case TextBlock() if role is Role.ASSISTANT:
            yield from (piece.anchors for piece in reader.said(block.text))
        case TextBlock() if is_output(block.text):
            yield reader.shown(block.text).counts.names
        case TextBlock():
            yield find_anchors(bounded(block.text))
        case ToolUseBlock():
            yield find_anchors(path_of(block.input))
            for text in texts_written(command_of(block.name, block.input), block.input):
                yield reader.called(text).counts.names
        case ToolResultBlock():
            yield reader.shown(printed(text_and_resources(block.content))).counts.names
        case _:
            pass
