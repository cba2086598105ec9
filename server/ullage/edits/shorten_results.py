"""Long tool results shortened, each to a limit of its own: what tells most of them stays (`edits/excerpt.py`).

Unlike hard truncation (`edits/shorten.py`) this looks at what a result says: lines that report errors stay, and lines
with names that the agent wrote afterwards or that the focus asks for.
"""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.clear_tool_uses import MEMORY_TOOLS
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.excerpt import excerpt, names
from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.edits import Replacement, ShortenEdit
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import groups
from ullage.transcript.reads import result_text

# Characters per token differ within a text, so that a first cut may be too long by a little.
_ROUNDS = 3


class ResultLimits(Struct, frozen=True, kw_only=True):
    """Tokens that one result may take, `by_tool` where a tool has a limit of its own. Results of `exclude_tools` and of
    memory tools have none. `focus` is what the person wants kept."""

    max_result_tokens: int
    by_tool: Mapping[str, int] = {}
    exclude_tools: frozenset[str] = frozenset()
    focus: str = ""

    def limit(self, tool: str) -> int | None:
        """What a result of a tool may take; None for any size."""
        if tool in MEMORY_TOOLS or tool in self.exclude_tools:
            return None
        return self.by_tool.get(tool, self.max_result_tokens)

    @property
    def least(self) -> int:
        """The smallest of the limits."""
        return min(self.max_result_tokens, *self.by_tool.values()) if self.by_tool else self.max_result_tokens


def shorten_results(
    view: CountedView, limits: ResultLimits, stamp: Stamp, untouched: Collection[str] = ()
) -> ShortenEdit | None:
    """The edit that brings every older result down to its limit, or None when none is above it. What is to be answered
    (the last group) and the messages `untouched` stay as they are."""
    replacements = tuple(_shortened(view, limits, _fixed(view.messages, untouched)))[::-1]
    if not replacements:
        return None
    draft = ShortenEdit(id=stamp.id, timestamp=stamp.timestamp, trigger=stamp.trigger, replacements=replacements)
    saved = view.used - view.after(draft).used
    return replace(draft, tokens_saved=saved) if saved > 0 else None


def _fixed(messages: tuple[Message, ...], untouched: Collection[str]) -> frozenset[str]:
    last = groups(messages)[-1] if messages else range(0)
    return frozenset({*untouched, *(messages[i].id for i in last)})


def _shortened(view: CountedView, limits: ResultLimits, fixed: Collection[str]) -> Iterator[Replacement]:
    """Newest first, so that each result meets the names that were written after it."""
    messages = view.messages
    tools = {block.id: block.name for message in messages for block in _uses(message)}
    wanted = names(limits.focus)
    for message, tokens in zip(reversed(messages), reversed(view.tokens), strict=True):
        if message.role is Role.ASSISTANT:
            wanted |= names(_said(message))
        elif tokens > limits.least and message.id not in fixed:
            for i, block in enumerate(message.content):
                limit = limits.limit(tools.get(block.tool_use_id, "")) if isinstance(block, ToolResultBlock) else None
                if isinstance(block, ToolResultBlock) and limit is not None:
                    text = _fit(view, message, block, limit, wanted)
                    if text is not None:
                        yield Replacement(message_id=message.id, block=i, text=text)


def _fit(
    view: CountedView, message: Message, block: ToolResultBlock, limit: int, wanted: Collection[str]
) -> str | None:
    """The text of a result within its limit; None if it is so already or holds more than text."""
    whole = result_text(block)
    tokens = _measure(view, message, block, whole)
    if not whole or tokens <= limit:
        return None
    text, chars = whole, len(whole)
    for _ in range(_ROUNDS):
        chars = int(chars * limit / tokens)
        text = excerpt(whole, chars, wanted)
        tokens = _measure(view, message, block, text)
        if tokens <= limit:
            break
    return text


def _measure(view: CountedView, message: Message, block: ToolResultBlock, text: str) -> int:
    return view.measure(replace(message, content=(replace(block, content=(TextBlock(text=text),)),)))


def _uses(message: Message) -> Iterator[ToolUseBlock]:
    return (block for block in message.content if isinstance(block, ToolUseBlock))


def _said(message: Message) -> str:
    """What the assistant wrote: its words and what it asked tools for."""
    return "\n".join([message.text, *(str(value) for block in _uses(message) for value in block.input.values())])
