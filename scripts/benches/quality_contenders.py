"""The ways to fit a conversation into a budget that the quality bench compares, all with the same counts.

Each takes the messages of a head and their tokens and returns the messages of a context. All but LangChain's are simple
on purpose. Each must return well-formed contexts by itself; a context that is not is counted as a violation.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from benches.quality_probe import find_anchors, text_of
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.tokens.counter import TokenCounter
from ullage.transcript.view import groups

Contender = Callable[[Sequence[Message], int, TokenCounter], list[Message]]
MASK = "[old tool result cleared]"
BASELINE = "tail + lines"
# Characters of a line that is quoted at most, and tokens of a message without its text.
LONGEST_LINE, FRAME = 300, 10


def tail(messages: Sequence[Message], budget: int, counter: TokenCounter) -> list[Message]:
    """Keeps the newest messages that fit, one by one."""
    kept: list[Message] = []
    for message in reversed(messages):
        budget -= counter.count_message(message)
        if budget < 0:
            break
        kept.append(message)
    return kept[::-1]


def first_and_tail(messages: Sequence[Message], budget: int, counter: TokenCounter) -> list[Message]:
    """Keeps everything up to the first user message, then the newest whole groups that fit."""
    first = messages[: next((at + 1 for at, message in enumerate(messages) if message.role is Role.USER), 0)]
    rest = messages[len(first) :]
    room = budget - sum(counter.count_message(message) for message in first)
    kept: list[Message] = []
    for group in reversed(groups(rest)):
        room -= sum(counter.count_message(rest[i]) for i in group)
        if room < 0:
            break
        kept[:0] = [rest[i] for i in group]
    return [*first, *kept]


def masking(messages: Sequence[Message], budget: int, counter: TokenCounter) -> list[Message]:
    """Replaces tool results by a placeholder, oldest first, until the context fits. If it never fits, keeps the
    first message and the tail of the result."""
    masked = list(messages)
    used = sum(counter.count_message(message) for message in masked)
    for index, message in enumerate(masked):
        if used <= budget:
            return masked
        masked[index] = _masked(message, masked[index - 1] if index else None)
        used += counter.count_message(masked[index]) - counter.count_message(message)
    return masked if used <= budget else first_and_tail(masked, budget, counter)


def langchain(messages: Sequence[Message], budget: int, counter: TokenCounter) -> list[Message]:
    """Calls LangChain's `trim_messages` as its documents advise, but lets the context begin with an answer. An
    agent's session has a single prompt, so nothing would be left otherwise."""
    library = import_module("langchain_core.messages")
    by_id = {message.id: message for message in messages}

    def count(trimmed: list[Any]) -> int:
        return sum(counter.count_message(by_id[message.id]) for message in trimmed)

    kept = library.trim_messages(
        [_to_langchain(library, message) for message in messages],
        strategy="last",
        token_counter=count,
        max_tokens=budget,
        start_on=("human", "ai"),
        end_on=("human", "tool"),
        include_system=True,
        allow_partial=False,
    )
    return [by_id[message.id] for message in kept]


def tail_and_lines(messages: Sequence[Message], budget: int, counter: TokenCounter) -> list[Message]:
    """Keeps the newest messages in three quarters of the budget, and quotes in the rest lines of the older ones: always
    the line with the most names per character that nothing chosen has yet, of equals the newer one."""
    kept = tail(messages, budget * 3 // 4, counter)
    while kept and any(isinstance(block, ToolResultBlock) for block in kept[0].content):
        kept.pop(0)
    seen = {name for message in kept for name in find_anchors(text_of(message))}
    older = [line for each in messages[: len(messages) - len(kept)] for line in text_of(each).splitlines()]
    names = {line: {*find_anchors(line)} for line in reversed(older) if len(line) <= LONGEST_LINE}
    waiting = [(-len(found) / len(line), age, line) for age, (line, found) in enumerate(names.items()) if found]
    heapify(waiting)
    left, chosen = budget - sum(counter.count_message(message) for message in kept) - FRAME, set[str]()
    while waiting and left > 0:
        worth, age, line = heappop(waiting)
        new = names[line] - seen
        if new and worth < -len(new) / len(line):
            heappush(waiting, (-len(new) / len(line), age, line))
        elif new and (cost := counter.count(line) + 1) <= left:
            left, seen = left - cost, seen | new
            chosen.add(line)
    quoted = "\n".join(line for line in dict.fromkeys(older) if line in chosen)
    return [Message(id="lines", role=Role.USER, content=(TextBlock(text=quoted),)), *kept]


CONTENDERS: dict[str, Contender] = {
    "tail": tail,
    "first + tail": first_and_tail,
    "trim_messages": langchain,
    "masking": masking,
    BASELINE: tail_and_lines,
}


def unpaired(messages: Sequence[Message], recorded: Sequence[Message]) -> int:
    """Counts tool results without an earlier call, and calls without a result. Providers refuse both. A call that has
    no result in the recorded messages either was interrupted: that is no contender's fault, and requests answer it."""
    answered = {block.tool_use_id for each in recorded for block in each.content if isinstance(block, ToolResultBlock)}
    open_calls: set[str] = set()
    wrong = 0
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                open_calls.add(block.id)
            elif isinstance(block, ToolResultBlock):
                wrong += block.tool_use_id not in open_calls
                open_calls.discard(block.tool_use_id)
    return wrong + len(open_calls & answered)


def _masked(message: Message, before: Message | None) -> Message:
    """Returns a message without the contents of its results. An agent without tool calls gets results as user
    messages."""
    if any(isinstance(block, ToolResultBlock) for block in message.content):
        placeholder = (TextBlock(text=MASK),)
        content = tuple(
            replace(block, content=placeholder) if isinstance(block, ToolResultBlock) else block
            for block in message.content
        )
        return replace(message, content=content)
    if message.role is Role.USER and before and before.role is Role.ASSISTANT and "```" in before.text:
        return replace(message, content=(TextBlock(text=MASK),))
    return message


def _to_langchain(library: Any, message: Message) -> Any:
    """Converts a message. Trimming looks only at the message's kind and its count."""
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    if results:
        return library.ToolMessage(content="", tool_call_id=results[0].tool_use_id, id=message.id)
    kinds = {Role.SYSTEM: library.SystemMessage, Role.USER: library.HumanMessage, Role.ASSISTANT: library.AIMessage}
    return kinds[message.role](content="", id=message.id)
