"""Cut points: places where a sequence of messages may be split in two; and the messages that no edit removes.

The legal cuts are the intersection of what each provider rule allows. A rule is a function that yields the ranges of
cuts that it forbids. Cut `i` splits `messages[:i]` from `messages[i:]`; 0 and the length are always legal.

No edit removes the system prompt, the first user message and pinned messages. The newest message that the user typed
stays as well; `edits/counted.py` finds it. A provider's own summary of a conversation is kept like a pinned message,
because only the provider can read it. A pinned message stays together with its group: the results of its tool uses and
the thinking that led to it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from ullage.model.blocks import ThinkingBlock, ToolResultBlock, ToolUseBlock, is_provider_summary, is_sealed
from ullage.model.message import Message, Role


def _answers(messages: Sequence[Message]) -> Iterator[range]:
    """Yields the forbidden cuts between neighbouring assistant messages.

    Anthropic merges neighbouring messages of one role. If an answer were cut in the middle, the conversation would
    begin with its second half. Neighbouring user messages may be split, because each is complete.
    """
    for i, (before, after) in enumerate(pairwise(messages), start=1):
        if before.role is Role.ASSISTANT and after.role is Role.ASSISTANT:
            yield range(i, i + 1)


def _thinking_pairs(messages: Sequence[Message]) -> Iterator[range]:
    """Yields the forbidden cuts between an assistant's message that ends in thinking and the next message of the
    assistant, if only system messages are between them.

    Anthropic requires that the thinking which led to a tool use is sent back with it. Providers that keep reasoning in
    items of its own (OpenAI's Responses) require the item that follows it. A whole tool loop is not held together: it
    may be longer than the window, and a cut must be possible inside it.
    """
    pending: int | None = None
    for i, message in enumerate(messages):
        if message.role is not Role.ASSISTANT:
            continue
        if pending is not None and all(message.role is Role.SYSTEM for message in messages[pending + 1 : i]):
            yield range(pending + 1, i + 1)
        ends_thinking = bool(message.content) and isinstance(message.content[-1], ThinkingBlock)
        pending = i if ends_thinking else None


def _tool_pairs(messages: Sequence[Message]) -> Iterator[range]:
    """Yields the forbidden cuts between a tool use and its result, and those after a use that still waits for its
    result.

    Anthropic answers 400 to a `tool_use` without its `tool_result` in the next message, and to a result without its
    use; OpenAI does the same for `tool_calls` and `tool` messages.
    """
    open_uses: dict[str, int] = {}
    last_assistant = -1
    for i, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            last_assistant = i
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                open_uses[block.id] = i
            elif isinstance(block, ToolResultBlock) and block.tool_use_id in open_uses:
                use = open_uses.pop(block.tool_use_id)
                if use < i:
                    yield range(use + 1, i + 1)
            elif isinstance(block, ToolResultBlock) and i and any(map(is_sealed, messages[i - 1].content)):
                # Its call may be what only the provider can read, for example a reference to an item.
                yield range(i, i + 1)
    # If assistant messages follow a use without a result, the result will never come: the use needs no partner.
    if last_assistant in open_uses.values():
        yield range(last_assistant + 1, len(messages))


def is_prompt(message: Message) -> bool:
    """Returns whether the message begins a prompt turn: it has the user's role and a block that is not a tool
    result."""
    return message.role is Role.USER and any(not isinstance(block, ToolResultBlock) for block in message.content)


def is_pure_prompt(message: Message) -> bool:
    """Returns whether the message has the user's role and content, but no tool result. Such a message can be kept
    without its neighbours."""
    return is_prompt(message) and not any(isinstance(block, ToolResultBlock) for block in message.content)


Rule = Callable[[Sequence[Message]], Iterable[range]]

RULES: tuple[Rule, ...] = (_tool_pairs, _thinking_pairs, _answers)


def cut_points(messages: Sequence[Message]) -> list[int]:
    """Returns all legal cuts in ascending order, from 0 to `len(messages)`."""
    depth = [0] * (len(messages) + 2)
    for rule in RULES:
        for cuts in rule(messages):
            depth[cuts.start] += 1
            depth[cuts.stop] -= 1
    inner = (cut for cut, covered in enumerate(accumulate(depth)) if 0 < cut < len(messages) and not covered)
    return [0, *inner, len(messages)] if messages else [0]


def groups(messages: Sequence[Message]) -> list[range]:
    """Returns the ranges of indices between neighbouring legal cuts, in order. The messages of one range must stay
    together; all ranges together cover all messages."""
    return [range(start, stop) for start, stop in pairwise(cut_points(messages))]


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Returns the indices of the messages that begin a prompt turn: messages with the user's role that hold more than
    tool results."""
    return [i for i, message in enumerate(messages) if is_prompt(message)]


def leading(messages: Sequence[Message], first_user_id: str | None) -> tuple[str, ...]:
    """Returns the ids of the first user message and of the system messages before it, in order. If no message has the
    id `first_user_id`, returns the ids of all system messages."""
    ids: list[str] = []
    for message in messages:
        if message.role is Role.SYSTEM or message.id == first_user_id:
            ids.append(message.id)
        if message.id == first_user_id:
            return tuple(ids)
    return tuple(ids)


def kept(
    messages: Sequence[Message], pinned: Collection[str], together: Sequence[range] | None = None
) -> tuple[str, ...]:
    """Returns the ids, in order, of system messages, of pinned messages, and of all messages that must stay together
    with a pinned one. `together` are the messages' groups, if the caller has them."""
    pinned = _with_summary(messages, pinned)
    if not pinned:
        return tuple(message.id for message in messages if message.role is Role.SYSTEM)
    return tuple(messages[i].id for group in together or groups(messages) for i in _kept(messages, group, pinned))


def _kept(messages: Sequence[Message], group: range, pinned: Collection[str]) -> Sequence[int]:
    if any(messages[i].id in pinned for i in group):
        return group
    return [i for i in group if messages[i].role is Role.SYSTEM]


def pinned_ids(messages: Sequence[Message], pinned: Collection[str]) -> frozenset[str]:
    """Returns the ids of pinned messages and of all messages that must stay together with a pinned one."""
    pinned = _with_summary(messages, pinned)
    if not pinned:
        return frozenset()
    together = (group for group in groups(messages) if any(messages[i].id in pinned for i in group))
    return frozenset(messages[i].id for group in together for i in group)


def _with_summary(messages: Sequence[Message], pinned: Collection[str]) -> Collection[str]:
    """Returns the ids of pinned messages and of the newest that has a provider's own summary of what was before it."""
    for message in reversed(messages):
        if any(map(is_provider_summary, message.content)):
            return {*pinned, message.id}
    return pinned


def without_oldest(messages: Sequence[Message], stays: Collection[str], count: int) -> tuple[Message, ...]:
    """Returns the messages without the first `count` groups of messages. A group that contains a message with an id in
    `stays` is kept and not counted. The last group is always kept."""
    going = [group for group in groups(messages)[:-1] if not any(messages[i].id in stays for i in group)][:count]
    gone = {i for group in going for i in group}
    return tuple(message for i, message in enumerate(messages) if i not in gone)
