"""Hypothesis strategies for conversations of an agent, for the settings and chains of strategies, and predictable
judges of old messages, for the laws of edits."""

from collections.abc import Callable

from hypothesis import strategies as st
from msgspec.structs import replace

from support.build import assistant, results, system, thinking, user, uses, words
from ullage.edits.compaction import IsWorthKeeping
from ullage.model.message import Block, Message, ToolResultBlock, ToolUseBlock
from ullage.model.settings import (
    RangeKeep,
    Selective,
    SlidingWindow,
    Smart,
    Speaker,
    StrategySettings,
    TokenBudget,
    TruncateRange,
)

_Step = list[Message]
_FILES = ("a.py", "b.py", "c.py")


def _lengths(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)


def _file(lines: int) -> str:
    return "\n".join(f"line {i} of the file with some words" for i in range(lines))


@st.composite
def _rounds(draw: st.DrawFn) -> _Step:
    """Draws tool calls and their results, together or one by one, some of them lost."""
    name, path = draw(st.sampled_from([("run", ""), ("read", "x"), ("memory", "")]))
    path = draw(st.sampled_from(_FILES)) if path else ""
    tools = [f"t{i}" for i in range(draw(st.integers(1, 3)))]
    text = _file(draw(_lengths(40))) if path else words(draw(_lengths(300)))
    step = [thinking("")] if draw(st.booleans()) else []
    step.append(uses("", *tools, name=name, path=path))
    answered = tools[: draw(st.integers(len(tools) - 1, len(tools)))]
    if draw(st.booleans()):
        return [*step, *([results("", *answered, text=text)] if answered else [])]
    return [*step, *(results("", tool, text=text) for tool in answered)]


_steps = st.one_of(
    _lengths(400).map(lambda number: [user("", words(number))]),
    _lengths(200).map(lambda number: [assistant("", words(number))]),
    _rounds(),
    st.just([system("", "A note.")]),
    st.just([results("", "never-used", text=words(30))]),
)


@st.composite
def conversations(draw: st.DrawFn, min_steps: int = 0, max_steps: int = 25) -> list[Message]:
    """Draws messages with their own ids. Tool ids are unique per round."""
    steps = draw(st.lists(_steps, min_size=min_steps, max_size=max_steps))
    head = [system("", "Be brief.")] if draw(st.booleans()) else []
    return [
        _named(message, number, round_)
        for number, (round_, message) in enumerate(
            (round_, message) for round_, step in enumerate([head, *steps]) for message in step
        )
    ]


def _named(message: Message, number: int, round_: int) -> Message:
    content = tuple(_in_round(block, round_) for block in message.content)
    return replace(message, id=f"m{number}", content=content)


def _in_round(block: Block, round_: int) -> Block:
    match block:
        case ToolUseBlock():
            return replace(block, id=f"{block.id}-{round_}")
        case ToolResultBlock():
            return replace(block, tool_use_id=f"{block.tool_use_id}-{round_}")
        case _:
            return block


numbers = st.integers(0, 12)
strategies: st.SearchStrategy[StrategySettings] = st.one_of(
    st.just(TokenBudget()),
    st.builds(SlidingWindow, max_messages=numbers),
    st.builds(Smart, keep_first=numbers, keep_last=numbers),
    st.builds(Selective, order=st.lists(st.sampled_from(Speaker), unique=True).map(tuple)),
    st.builds(TruncateRange, keep=st.sampled_from(RangeKeep)),
)
chains = st.lists(strategies, min_size=1, max_size=3)


def judging(is_worth: Callable[[Message, int], bool], forbidden: frozenset[str] = frozenset()) -> IsWorthKeeping:
    """Returns what asks a function about a group's first message and its position. All but `forbidden` may stay."""
    return lambda messages, group: (
        is_worth(messages[group.start], group.start) and not any(messages[at].id in forbidden for at in group)
    )
