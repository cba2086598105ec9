"""Hypothesis strategies for message histories.

`conversations` are as a well-behaved program makes them: turns alternate, calls are answered, ids are unique.
`histories` are anything a log may hold: results early, late, doubled or missing, blocks out of place, empty texts.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ullage.model.message import (
    ArtifactLedger,
    Block,
    CompactionBlock,
    FileAction,
    FileArtifact,
    ImageBlock,
    Message,
    ResourceBlock,
    ResultPart,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

# Whole texts that have broken counters, splitters or encoders, in place of arbitrary text. Each is one draw, so they
# are quick to make and to shrink.
PHRASES = (
    "word",
    "two words",
    "A sentence, with a comma and a number: 123456.",
    "x = 1\n\n\ndef f(y):\n    return y\n",
    "日本語のテキスト",
    "é\u0301 naïve 'll <|endoftext|>",
    "🙂👩‍👩‍👧\u2028next",
    "  indented\ttabs  \n",
    "many words " * 60,
    "https://example.org/a/b?c=d&e=%20",
)
BLANKS = ("", " ", "\n", " \n\t ", "\u2028")
ODD_PHRASES = (*PHRASES, *BLANKS, "\ud800", "broken \udfff pair", "\x00", "\ufeff")
TOOL_NAMES = ("Read", "Edit", "Bash", "mcp__server__tool")
# The beginning of an image. No rule here decodes the image.
IMAGE_DATA = "iVBORw0KGgo="


def texts() -> SearchStrategy[str]:
    """Draws text of well-behaved programs, never blank."""
    return st.sampled_from(PHRASES)


def any_texts() -> SearchStrategy[str]:
    """Draws text that may be blank, or impossible to encode."""
    return st.sampled_from(ODD_PHRASES)


def tool_inputs() -> SearchStrategy[dict[str, Any]]:
    """Draws arguments of a call, with a little nesting."""
    scalars = st.one_of(texts(), st.integers(-5, 5), st.booleans(), st.none())
    values = st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from("ab"), scalars))
    return st.dictionaries(st.sampled_from(("file_path", "command", "limit")), values, max_size=3)


def images() -> SearchStrategy[ImageBlock]:
    """Draws images, as data or as a URL."""
    data = st.builds(ImageBlock, media_type=st.sampled_from(("image/png", "image/jpeg")), data=st.just(IMAGE_DATA))
    sized = st.builds(ImageBlock, data=st.just(IMAGE_DATA), width=st.integers(1, 2000), height=st.integers(1, 2000))
    return st.one_of(data, sized, st.just(ImageBlock(url="https://example.org/picture.png")))


def resources() -> SearchStrategy[ResourceBlock]:
    """Draws files that are part of the conversation, and links to files."""
    return st.builds(ResourceBlock, uri=st.sampled_from(("file:///a.py", "file:///b.md")), text=st.none() | texts())


def result_parts() -> SearchStrategy[tuple[ResultPart, ...]]:
    """Draws what a tool returned."""
    part = st.one_of(st.builds(TextBlock, text=texts()), images(), resources())
    return st.lists(part, max_size=2).map(tuple)


def thinking_blocks() -> SearchStrategy[ThinkingBlock]:
    """Draws thinking: signed, unsigned or redacted."""
    return st.one_of(
        st.builds(ThinkingBlock, thinking=texts(), signature=st.sampled_from((None, "", "c2lnbmVk"))),
        st.just(ThinkingBlock(thinking="", redacted="cmVkYWN0ZWQ=")),
    )


def markers(compaction_number: int = 1) -> SearchStrategy[CompactionBlock]:
    """Draws compaction markers."""
    ledger = ArtifactLedger(files=(FileArtifact(path="a.py", action=FileAction.MODIFIED),))
    return st.builds(
        CompactionBlock,
        compaction_number=st.just(compaction_number),
        timestamp=st.just(1_700_000_000_000),
        summary=texts(),
        messages_archived=st.integers(1, 50),
        context_size_before=st.integers(1_000, 200_000),
        ledger=st.sampled_from((ArtifactLedger(), ledger)),
    )


class Call(NamedTuple):
    """A tool call and what it returned."""

    name: str
    input: dict[str, Any]
    result: tuple[ResultPart, ...]
    is_error: bool


class Round(NamedTuple):
    """What the assistant says before some calls, and the calls."""

    before: list[ThinkingBlock | TextBlock]
    calls: list[Call]


class Turn(NamedTuple):
    """A prompt, the rounds of calls that follow, and the answer."""

    asked: str
    attached: ImageBlock | ResourceBlock | None
    rounds: list[Round]
    answer: str


def conversations(max_turns: int = 4) -> SearchStrategy[tuple[Message, ...]]:
    """Draws a legal conversation: an optional system prompt, then turns of a user message, rounds of calls, an answer.

    The conversation may end after any message, so the last calls may have no result yet.
    """
    call = st.builds(Call, st.sampled_from(TOOL_NAMES), tool_inputs(), result_parts(), st.booleans())
    before = st.lists(st.one_of(thinking_blocks(), st.builds(TextBlock, text=texts())), max_size=2)
    rounds = st.builds(Round, before, st.lists(call, min_size=1, max_size=3))
    attached = st.one_of(st.none(), st.none(), images(), resources())
    turn = st.builds(Turn, texts(), attached, st.lists(rounds, max_size=2), texts())
    turns = st.lists(turn, min_size=1, max_size=max_turns)
    return st.builds(assemble, st.none() | texts(), turns, st.integers(0, 3))


def assemble(system: str | None, turns: list[Turn], cut: int) -> tuple[Message, ...]:
    """Returns the turns' messages without the last `cut`."""
    contents: list[tuple[Role, tuple[Block, ...]]] = []
    if system is not None:
        contents.append((Role.SYSTEM, (TextBlock(text=system),)))
    number = 0
    for turn in turns:
        asked = (TextBlock(text=turn.asked),)
        contents.append((Role.USER, (*asked, turn.attached) if turn.attached else asked))
        for before, calls in turn.rounds:
            ids = [f"toolu_{number + index:03d}" for index in range(len(calls))]
            number += len(calls)
            uses = [
                ToolUseBlock(id=id_, name=call.name, input=call.input) for id_, call in zip(ids, calls, strict=True)
            ]
            contents.append((Role.ASSISTANT, (*before, *uses)))
            contents.append((Role.USER, tuple(_result(id_, call) for id_, call in zip(ids, calls, strict=True))))
        contents.append((Role.ASSISTANT, (TextBlock(text=turn.answer),)))
    return numbered(contents[: max(1, len(contents) - cut)])


def _result(call_id: str, call: Call) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=call_id, content=call.result, is_error=call.is_error)


def histories(max_messages: int = 8) -> SearchStrategy[tuple[Message, ...]]:
    """Draws messages of any kind in any order. The ids of messages are unique, those of calls may repeat."""
    content = st.lists(_any_block(), max_size=4).map(tuple)
    return st.lists(st.tuples(st.sampled_from(Role), content), max_size=max_messages).map(numbered)


def numbered(contents: Sequence[tuple[Role, tuple[Block, ...]]]) -> tuple[Message, ...]:
    """Returns messages `m000`, `m001`, …, a second apart."""
    return tuple(
        Message(id=f"m{index:03d}", role=role, content=content, timestamp=1_700_000_000_000 + index * 1_000)
        for index, (role, content) in enumerate(contents)
    )


def _any_block() -> SearchStrategy[Block]:
    ids = st.sampled_from(("a", "b", "c", "call 1", "call_1", "", "ü" * 50))
    names = st.sampled_from((*TOOL_NAMES, "", "not legal!", "n" * 80))
    odd_image = st.sampled_from((ImageBlock(), ImageBlock(media_type="image/tiff", data=IMAGE_DATA)))
    return st.one_of(
        st.builds(TextBlock, text=any_texts()),
        st.builds(ToolUseBlock, id=ids, name=names, input=tool_inputs()),
        st.builds(ToolResultBlock, tool_use_id=ids, content=result_parts(), is_error=st.booleans()),
        st.one_of(thinking_blocks(), images(), odd_image, resources(), markers()),
    )
