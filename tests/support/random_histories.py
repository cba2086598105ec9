"""Histories from a seed, fast enough for 100,000. They have what `histories.py` draws with Hypothesis, drawn here
with `random.Random`, and cases in which making room is hard: huge blocks, images, repeated files, disorder."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

from support.histories import (
    BLANKS,
    IMAGE_DATA,
    ODD_PHRASES,
    PHRASES,
    TOOL_NAMES,
    Call,
    Round,
    Turn,
    assemble,
    numbered,
)
from ullage.model.message import (
    Block,
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

_FILES = ("src/app.py", "src/store.py", "docs/plan.md")
_REASONING = (
    ThinkingBlock(thinking="Let me see what calls this.", signature="c2lnbmVk"),
    ThinkingBlock(thinking="Hm, unsigned."),
    ThinkingBlock(thinking="", redacted="cmVkYWN0ZWQ=" * 40),
)
_IMAGES = (
    ImageBlock(data=IMAGE_DATA),
    ImageBlock(media_type="image/jpeg", data=IMAGE_DATA, width=1_600, height=1_200),
    ImageBlock(url="https://example.org/picture.png"),
)
_MOST_TURNS = 7
# Shares of what is drawn: rare enough for most histories to be ordinary, common enough for thousands that are not.
_HUGE, _ODD, _DISORDERLY = 0.04, 0.08, 0.3

Content = tuple[Role, tuple[Block, ...]]


def random_history(rng: random.Random) -> tuple[Message, ...]:
    """Returns one conversation. Three in ten are not as a well-behaved program makes them."""
    turns = [_turn(rng) for _ in range(rng.randint(1, _MOST_TURNS))]
    messages = assemble(_text(rng) if rng.random() < 0.5 else None, turns, rng.randint(0, 3))
    contents: list[Content] = [(message.role, message.content) for message in messages]
    if rng.random() < _DISORDERLY:
        contents = list(_disturbed(rng, contents))
    return numbered(contents)


def random_pins(rng: random.Random, messages: Sequence[Message]) -> tuple[str, ...]:
    """Returns the ids of the messages to pin: in most histories none, else up to three."""
    count = min(len(messages), rng.choice((0, 0, 0, 1, 1, 2, 3)))
    return tuple(message.id for message in rng.sample(messages, count))


def _turn(rng: random.Random) -> Turn:
    attached = rng.choice(_IMAGES) if rng.random() < 0.1 else _resource(rng) if rng.random() < 0.1 else None
    rounds = [_round(rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    return Turn(asked=_text(rng), attached=attached, rounds=rounds, answer=_text(rng))


def _round(rng: random.Random) -> Round:
    before: list[ThinkingBlock | TextBlock] = []
    if rng.random() < 0.3:
        before.append(rng.choice(_REASONING))
    if rng.random() < 0.4:
        before.append(TextBlock(text=_text(rng)))
    return Round(before=before, calls=[_call(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))])


def _call(rng: random.Random) -> Call:
    name = rng.choice((*TOOL_NAMES, "memory"))
    given: dict[str, Any] = {"command": f"make test-{rng.randrange(9)}"}
    if name in ("Read", "Edit"):
        given = {"file_path": rng.choice(_FILES)}
    if name == "Edit":
        given |= {"old_string": _text(rng), "new_string": _text(rng)}
    return Call(name=name, input=given, result=_result(rng, name), is_error=rng.random() < 0.05)


def _result(rng: random.Random, name: str) -> tuple[ResultPart, ...]:
    if name == "Read":
        return (TextBlock(text=_file(rng)),)
    parts: list[ResultPart] = [TextBlock(text=_text(rng))]
    if rng.random() < 0.05:
        parts.append(rng.choice(_IMAGES))
    if rng.random() < 0.05:
        parts.append(_resource(rng))
    return tuple(parts) if rng.random() < 0.95 else ()


def _resource(rng: random.Random) -> ResourceBlock:
    return ResourceBlock(uri=f"file:///{rng.choice(_FILES)}", text=rng.choice((None, _file(rng))))


def _file(rng: random.Random) -> str:
    """Returns some lines of one of a few files, so that reads overlap, with or without numbers as `cat -n` writes
    them."""
    first = rng.randrange(0, 40, 10)
    lines = range(first, first + rng.choice((5, 20, 60)))
    form = "{0:6}\tdef step_{0}(state): return state.advance({0})" if rng.random() < 0.5 else "    call_{0}(state)"
    return "\n".join(form.format(line) for line in lines)


def _text(rng: random.Random) -> str:
    share = rng.random()
    if share < _HUGE:
        return _huge(rng)
    if share < _HUGE + _ODD:
        return rng.choice((*ODD_PHRASES, *BLANKS))
    return " ".join(rng.choices(PHRASES, k=rng.choice((1, 1, 2, 4))))


def _huge(rng: random.Random) -> str:
    """Returns text far larger than its neighbours: lines, one endless word, or a script without spaces."""
    size = rng.choice((300, 1_000, 4_000))
    kinds = (
        lambda: "\n".join(f"{n:5} ERROR in module_{n % 17}: {n * 7919:x}" for n in range(size // 10)),
        lambda: "x" * size,
        lambda: "日本語の長い文章" * (size // 8),
    )
    return rng.choice(kinds)()


def _disturbed(rng: random.Random, contents: Sequence[Content]) -> Iterator[Content]:
    """Returns the history as faulty programs leave it, with lost, repeated, split or added messages."""
    for role, content in contents:
        fate = rng.random()
        if fate < 0.06:
            continue
        if fate < 0.12:
            yield Role.SYSTEM, (TextBlock(text=_text(rng)),)
        if fate > 0.95:
            yield role, ()
        if 0.85 < fate < 0.92 and len(content) > 1:
            yield from ((role, (block,)) for block in content)
            continue
        yield role, content
        if 0.12 < fate < 0.17:
            yield role, content
        if 0.17 < fate < 0.2:
            yield Role.USER, (ToolResultBlock(tool_use_id="lost", content=(TextBlock(text=_text(rng)),)),)
        if 0.2 < fate < 0.22:
            yield Role.ASSISTANT, (ToolUseBlock(id=f"open{rng.randrange(99)}", name="Bash", input={}),)
        if 0.22 < fate < 0.25:
            yield Role.ASSISTANT, (rng.choice(_REASONING),)
