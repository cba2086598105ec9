"""The contents of messages: excerpts of prose and thinking, and the lines of calls and results."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from ullage.agents.tools import strings_in
from ullage.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.summary.reading.text_reader import Lines, NameCounts


class Source(StrEnum):
    """Where an excerpt comes from: the agent's prose, its thinking, a provider's paraphrase of thinking, a tool call's
    input, or a tool's result."""

    AGENT = "agent"
    THINKING = "thinking"
    PARAPHRASE = "paraphrase"
    CALL = "call"
    RESULT = "result"


class Excerpt(Struct, frozen=True, kw_only=True, gc=False):
    """A redacted sentence or two of the agent's prose or thinking. `index` is the message's index in the transcript,
    `order` the excerpt's place in the message, `counts` its anchors and characters."""

    text: str
    index: int
    order: int = 0
    source: Source
    anchors: tuple[str, ...]
    counts: NameCounts

    @property
    def texts(self) -> tuple[str]:
        """The one text, as `Seen` has several."""
        return (self.text,)

    @property
    def names(self) -> tuple[tuple[str, ...]]:
        """The anchors of the one text."""
        return (self.anchors,)


class Seen(Struct, frozen=True, kw_only=True, gc=False):
    """The redacted lines that the agent wrote into a call or that a tool returned. `index` is the message's index in
    the transcript, `order` the place of the first line among those of all calls. `group` is the file or command in
    which the lines were seen. `texts` are the pieces that add something to the group, `names` the anchors of each, and
    `counts` those of all."""

    lines: Lines
    index: int
    order: int
    source: Source
    group: str
    texts: Sequence[str]
    names: Sequence[tuple[str, ...]]
    counts: NameCounts


def held_by(blocks: Iterable[Block]) -> int:
    """Returns the characters that blocks of a message hold, so that what is remembered of them can be bounded."""
    size = 0
    for block in blocks:
        match block:
            case ToolUseBlock():
                size += sum(map(len, strings_in(block.input)))
            case ToolResultBlock():
                size += held_by(block.content)
            case ThinkingBlock():
                size += len(block.thinking) + len(block.redacted or "")
            case TextBlock():
                size += len(block.text)
            case ImageBlock() | ResourceBlock():
                size += len(block.data or "")
            case CompactionBlock():
                size += len(block.summary)
    return size


def names_of(contents: Iterable[Excerpt | Seen]) -> Iterator[str]:
    """Yields the anchors of the contents of messages."""
    for one in contents:
        if isinstance(one, Excerpt):
            yield from one.anchors
        else:
            yield from one.counts.names
