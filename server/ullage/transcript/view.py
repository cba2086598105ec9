"""The view: the messages that the model would be sent, as items that know their index in the transcript; and how an
edit changes them.

Cut points: places where a sequence of messages may be split in two; and the messages that no edit removes. The legal
cuts are the intersection of what each provider rule allows. A rule is a function that yields the ranges of cuts that it
forbids. Cut `i` splits `messages[:i]` from `messages[i:]`; 0 and the length are always legal.

No edit removes the system prompt, the first user message and pinned messages. The newest message that the user typed
stays as well; `edits/counted.py` finds it. A provider's own summary of a conversation is kept like a pinned message,
because only the provider can read it. A pinned message stays together with its group: the results of its tool uses and
the thinking that led to it.

An answer while it is being streamed: the fragments so far, as content blocks of the message to come.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.answer import (
    CompactionSealed,
    Finished,
    Fragment,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseEnd,
    ToolUseResult,
    ToolUsesCleared,
    ToolUseStart,
    UsageDelta,
)
from ullage.model.events import CompactionEdit, DropEdit, Edit, Replacement, ReplacingEdit, RewindEdit
from ullage.model.message import (
    Block,
    Message,
    Provided,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    is_provider_summary,
    is_sealed,
)
from ullage.model.usage import Usage


class Item(Struct, frozen=True):
    """A message of the view. `index` is its index among the appended messages. A marker or a notice was never appended:
    it has `inserted` set and the `index` that the first message after it had when the edit was made."""

    index: int
    message: Message
    inserted: bool = False


def apply_edit(items: list[Item], edit: Edit) -> list[Item]:
    """Returns the view's items after an edit. Ids in the edit are ignored if no message of the view has them."""
    if isinstance(edit, CompactionEdit):
        return _apply_compaction(items, edit)
    if isinstance(edit, DropEdit):
        return _apply_drop(items, edit)
    if isinstance(edit, RewindEdit):
        left_out = set(edit.message_ids)
        return [item for item in items if item.message.id not in left_out]
    return _apply_replacements(items, edit)


def touched_ids(edit: Edit) -> frozenset[str]:
    """Returns the ids of the messages whose content the edit may change, or of the marker or notice that it inserts.
    The messages that it removes are not among them."""
    if isinstance(edit, CompactionEdit):
        return frozenset({edit.marker.id})
    if isinstance(edit, DropEdit):
        return frozenset({edit.notice.id})
    if isinstance(edit, RewindEdit):
        return frozenset()
    return frozenset(replacement.message_id for replacement in edit.replacements)


def _apply_compaction(items: list[Item], edit: CompactionEdit) -> list[Item]:
    leading = set(edit.leading)
    stays = leading | set(edit.kept)
    place = 1 + max((item.index for item in items if item.message.id in leading), default=edit.start - 1)

    def goes(item: Item) -> bool:
        return edit.start <= item.index < edit.end and item.message.id not in stays

    return _exchange(items, goes, Item(place, edit.marker, True))


def _apply_drop(items: list[Item], edit: DropEdit) -> list[Item]:
    dropped = set(edit.message_ids)
    place = next((item.index for item in items if item.message.id in dropped), None)
    if place is None:
        return items
    return _exchange(items, lambda item: item.message.id in dropped, Item(place, edit.notice, True))


def _exchange(items: list[Item], goes: Callable[[Item], bool], new: Item) -> list[Item]:
    stays = [item for item in items if not goes(item)]
    at = next((i for i, item in enumerate(stays) if item.index >= new.index), len(stays))
    return [*stays[:at], new, *stays[at:]]


def _apply_replacements(items: list[Item], edit: ReplacingEdit) -> list[Item]:
    by_message: dict[str, list[Replacement]] = {}
    for replacement in edit.replacements:
        by_message.setdefault(replacement.message_id, []).append(replacement)
    return [
        Item(item.index, _replace(item.message, by_message[item.message.id]), item.inserted)
        if item.message.id in by_message
        else item
        for item in items
    ]


def _replace(message: Message, replacements: Iterable[Replacement]) -> Message:
    content = list(message.content)
    for replacement in replacements:
        if replacement.block < len(content):
            content[replacement.block] = replace_block(content[replacement.block], replacement)
    given = message.provided
    return replace(message, content=tuple(content), provided=replace(given, whole=False) if given else None)


# The fields of the providers' formats that hold content, or speak of places in it.
_CONTENT = frozenset({"content", "function", "input", "citations", "text"})


def replace_block(block: Block, replacement: Replacement) -> Block:
    """Returns the block with the replacement's content: `input` for a tool use, `text` for every other kind of block.
    Returns the block unchanged if the replacement lacks that content.

    An image becomes a text block. Thinking loses its signature, because the signature is valid for the old text only.
    """
    if isinstance(block, ToolUseBlock):
        if replacement.input is None:
            return block
        return replace(block, input=replacement.input, provided=without_content(block.provided))
    if replacement.text is None:
        return block
    return _with_text(block, replacement.text)


def _with_text(block: Block, text: str) -> Block:
    match block:
        case ToolResultBlock():
            return replace(block, content=(TextBlock(text=text),), provided=without_content(block.provided))
        case ThinkingBlock():
            return ThinkingBlock(thinking=text)
        case ResourceBlock():
            return replace(block, text=text, data=None, provided=without_content(block.provided))
        case ToolUseBlock():
            return block
        case _:
            return TextBlock(text=text)


def without_content(provided: Provided | None) -> Provided | None:
    """Returns a provider's own fields without those that hold the block's content or refer to places in it, because the
    content was replaced. Returns None if no field is left."""
    if provided is None or provided.whole:
        return None
    fields = {name: value for name, value in provided.fields.items() if name not in _CONTENT}
    return replace(provided, fields=fields) if fields else None


class PartialAnswer:
    """Collects the fragments of one answer while it is streamed. At any time `content` has the blocks that can be
    stored.

    A tool call is part of `content` once it is complete. `faults` maps the id of a call whose input could not be parsed
    to the reason. `results` maps the id of a call that need not be run to its recorded result. `cleared_tool_uses`
    counts the old tool uses that the provider itself cleared before the model read the request. `usage` and
    `stop_reason` are None until they come.
    """

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._faults: dict[str, str] = {}
        self.results: dict[str, ToolResultBlock] = {}
        self.usage: Usage | None = None
        self.cleared_tool_uses = 0
        self.stop_reason: StopReason | None = None

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks so far, with the text being written, without unfinished thinking and tool calls."""
        text = "".join(self._text)
        return (*self._done, TextBlock(text=text)) if text.strip() else tuple(self._done)

    @property
    def tool_uses(self) -> Iterator[ToolUseBlock]:
        """The complete tool calls, in order."""
        return (block for block in self._done if isinstance(block, ToolUseBlock))

    @property
    def faults(self) -> Mapping[str, str]:
        """The tool calls whose input could not be parsed: maps the call's id to the reason."""
        return MappingProxyType(self._faults)

    def add(self, fragment: Fragment) -> None:
        """Adds the next fragment. Fragments must come in the order in which the provider streamed them."""
        match fragment:
            case TextDelta(text=text):
                self._end_thinking()
                self._text.append(text)
            case ThinkingDelta():
                self._think(fragment)
            case ToolUseStart():
                self._end_thinking()
                self._end_text()
            case ToolInputDelta() | CompactionSealed():
                pass
            case ToolUseEnd():
                self._call(fragment)
            case ToolUseResult(result=result):
                self.results[result.tool_use_id] = result
            case UsageDelta(usage=usage, reasoning_tokens=reasoning):
                self.usage = replace(usage, reasoning_tokens=reasoning) if reasoning else usage
            case ToolUsesCleared(cleared_tool_uses=count):
                self.cleared_tool_uses = count
            case Finished(stop_reason=reason):
                self._end_thinking()
                self._end_text()
                self.stop_reason = reason

    def _think(self, fragment: ThinkingDelta) -> None:
        self._end_text()
        self._thinking.append(fragment.text)
        if fragment.signature is not None or fragment.redacted is not None:
            self._end_thinking(fragment.signature, fragment.redacted)

    def _end_thinking(self, signature: str | None = None, redacted: str | None = None) -> None:
        thinking = "".join(self._thinking)
        if thinking or signature or redacted:
            self._done.append(ThinkingBlock(thinking=thinking, signature=signature, redacted=redacted))
        self._thinking.clear()

    def _call(self, fragment: ToolUseEnd) -> None:
        self._end_thinking()
        self._end_text()
        self._done.append(ToolUseBlock(id=fragment.id, name=fragment.name, input=fragment.input))
        if fragment.error:
            self._faults[fragment.id] = fragment.error

    def _end_text(self) -> None:
        text = "".join(self._text)
        if text.strip():
            self._done.append(TextBlock(text=text))
        self._text.clear()


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
    """Returns whether the message begins a prompt turn: a user's, with a block that is not a tool result."""
    return message.role is Role.USER and any(not isinstance(block, ToolResultBlock) for block in message.content)


def is_pure_prompt(message: Message) -> bool:
    """Returns whether a user's message has no tool result, so that it can be kept without its neighbours."""
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
    """Returns the indices of messages that begin a prompt turn: users', with more than tool results."""
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
    pinned = pinned_ids(messages, pinned, together)
    return tuple([one.id for one in messages if one.role is Role.SYSTEM or one.id in pinned])


def pinned_ids(
    messages: Sequence[Message], pinned: Collection[str], together: Sequence[range] | None = None
) -> frozenset[str]:
    """Returns the ids of pinned messages and of all messages that must stay together with a pinned one. `together` are
    the messages' groups, if the caller has them."""
    pinned = _with_summary(messages, pinned)
    places = {i for i, message in enumerate(messages) if message.id in pinned} if pinned else set[int]()
    if not places:
        return frozenset()
    joined = (group for group in together or groups(messages) if not places.isdisjoint(group))
    return frozenset([messages[i].id for group in joined for i in group])


def _with_summary(messages: Sequence[Message], pinned: Collection[str]) -> Collection[str]:
    """Returns the ids of pinned messages and of the newest that has a provider's own summary of what was before it."""
    newest = [message.id for message in messages for block in message.content if is_provider_summary(block)][-1:]
    return {*pinned, *newest} if newest else pinned


def without_oldest(messages: Sequence[Message], stays: Collection[str], count: int) -> tuple[Message, ...]:
    """Returns the messages without the first `count` groups of messages. A group that contains a message with an id in
    `stays` is kept and not counted. The last group is always kept."""
    going = [group for group in groups(messages)[:-1] if not any(messages[i].id in stays for i in group)][:count]
    gone = {i for group in going for i in group}
    return tuple(message for i, message in enumerate(messages) if i not in gone)
