"""Carried-anchor recall: which names that an agent writes later are still in its context, and with which words around
them.

The measure needs no judge and no model. It shares no code with the engine that it measures, and defines anchors here.

- An *anchor* is a path, a file name, a compound identifier (an underscore or an inner capital) or a hash.
- An anchor is *carried* over a cut if the agent itself writes it after the cut (in its text or a tool's input, not in
  its thinking), a message before the cut has it, and no tool result or user message after the cut showed it first.
- An anchor is *found* in a context that has it letter for letter, not as a part of a longer word.
- An anchor is *grounded* in a context if at least three of the words around one of its places before the cut (all of
  them, if there are fewer) are also around one of its places in the context. The words around a place are the twelve
  before and the twelve after it, of three letters or more, in lower case, without those of the anchor itself and the
  commonest English ones. The same windows are used for the transcript and for every contender's context.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from msgspec import Struct

from ullage.model.marker import render_marker
from ullage.model.message import Message, ResourceBlock, Role, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock

WORDS_AROUND = 12
WORDS_SHARED = 3
_PATH = r"(?<![\w/:.~-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w"
_FILE = r"(?<![\w/.-])[\w-]+\.(?:[a-z]{1,4}|[a-z]{2}\d|json[l5]|html)(?![\w(])"
_IDENTIFIER = r"(?<![\w/.-])[A-Za-z_]\w{4,80}(?!\w)"
_HASH = r"(?<!\w)(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?!\w)"
_ANCHOR = re.compile(f"({_PATH})|({_FILE})|({_HASH})|({_IDENTIFIER})")
_COMPOUND = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_PATH_END = re.compile(r"\.[A-Za-z]\w{0,5}$")
_WORD = re.compile(r"[A-Za-z]{3,}")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for that this with from are was were not but you your have has had can will would should its all any "
        "been there their they which what when then than into also now let use one our out",
    )
)


class Anchor(Struct, frozen=True, kw_only=True):
    """A carried anchor. `distance` is the number of tokens from the message with its last place before the cut, that
    message included, up to the cut."""

    name: str
    distance: int


class Text:
    """A text in which anchors are looked up."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[str, frozenset[frozenset[str]]] = {}

    def places(self, name: str) -> Iterator[int]:
        """Yields the positions of `name` where it is not a part of a longer word."""
        start = self.text.find(name)
        while start >= 0:
            stop = start + len(name)
            before, behind = self.text[start - 1 : start], self.text[stop : stop + 1]
            if not _in_word(before) and not _in_word(behind):
                yield start
            start = self.text.find(name, start + 1)

    def holds(self, name: str) -> bool:
        """Whether the text has `name` anywhere."""
        return next(self.places(name), None) is not None

    def windows(self, name: str) -> Iterator[frozenset[str]]:
        """Yields the words around each place of `name`."""
        starts, words = self._words
        for place in self.places(name):
            first, last = bisect_left(starts, place), bisect_left(starts, place + len(name))
            yield frozenset(words[max(0, first - WORDS_AROUND) : first] + words[last : last + WORDS_AROUND])

    def known(self, name: str) -> frozenset[frozenset[str]]:
        """Returns what `windows` yields. A text of a whole transcript is asked for a name many times."""
        if name not in self._known:
            self._known[name] = frozenset(self.windows(name))
        return self._known[name]

    @cached_property
    def _words(self) -> tuple[list[int], list[str]]:
        found = [(match.start(), match[0].lower()) for match in _WORD.finditer(self.text)]
        kept = [(start, word) for start, word in found if word not in _COMMON]
        return [start for start, _ in kept], [word for _, word in kept]


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


class Cut(Struct, frozen=True, kw_only=True):
    """A transcript divided in two: the `messages` before the cut, the text of the head, and the carried anchors."""

    messages: tuple[Message, ...]
    head: Text
    anchors: tuple[Anchor, ...]


def make_cut(messages: Sequence[Message], tokens: Sequence[int], at: int) -> Cut:
    """Returns the cut before message `at`. `tokens` are the messages' counts."""
    texts = [text_of(message) for message in messages[:at]]
    head = Text("\n".join(texts))
    ends, position = list[int](), 0
    for text in texts:
        position += len(text) + 1
        ends.append(position)
    behind = [0] * (at + 1)
    for index in range(at - 1, -1, -1):
        behind[index] = behind[index + 1] + tokens[index]
    anchors = [
        Anchor(name=name, distance=behind[bisect_left(ends, last + 1)])
        for name in _written_first(messages[at:])
        if (last := max(head.places(name), default=-1)) >= 0
    ]
    return Cut(messages=tuple(messages[:at]), head=head, anchors=tuple(anchors))


def _written_first(messages: Sequence[Message]) -> Iterator[str]:
    """Yields the anchors that the agent writes before any tool result or user message after the cut shows them, each
    once."""
    written: set[str] = set()
    shown = Text("")
    for message in messages:
        if message.role is not Role.ASSISTANT:
            shown = Text(f"{shown.text}\n{text_of(message)}")
            continue
        for name in find_anchors(_written(message)):
            if name not in written:
                written.add(name)
                if not shown.holds(name):
                    yield name


def find_anchors(text: str) -> Iterator[str]:
    """Yields the anchors in a text."""
    for match in _ANCHOR.finditer(text):
        path, file, digest, identifier = match.groups()
        if path:
            inner = path.strip("./~").count("/")
            if len(path) >= 6 and (path[0] in "/~" or inner > 1 or _PATH_END.search(path)):
                yield path
        elif file or digest or _COMPOUND.search(identifier):
            yield match[0]


def grounded_in(context: Text, anchor: Anchor, head: Text) -> bool:
    """Whether a context has the anchor among words that were around it before the cut."""
    here = set(context.windows(anchor.name))
    return any(
        len(window & known) >= min(WORDS_SHARED, len(known)) for known in head.known(anchor.name) for window in here
    )


def text_of(message: Message) -> str:
    """Returns all text of a message that a model is sent, one line per part."""
    return "\n".join(part for block in message.content for part in _block_texts(block))


def _written(message: Message) -> str:
    return "\n".join(
        part for block in message.content if isinstance(block, TextBlock | ToolUseBlock) for part in _block_texts(block)
    )


def _block_texts(block: object) -> Iterator[str]:
    match block:
        case TextBlock(text=text) | ThinkingBlock(thinking=text):
            yield text
        case ToolUseBlock(input=given):
            yield from _strings(given)
        case ToolResultBlock(content=parts):
            for part in parts:
                yield from _block_texts(part)
        case ResourceBlock(uri=uri, text=text):
            yield f"{uri}\n{text or ''}"
        case _:
            pass


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _strings(inner)


def context_text(messages: Sequence[Message]) -> Text:
    """Returns a context as one text, with markers rendered as a model is sent them."""
    return Text("\n".join(render_marker(block) if (block := m.compaction) else text_of(m) for m in messages))
