"""Shortens long tool results, each to its own limit, and keeps their most informative part (`edits/excerpt.py`).

Unlike hard truncation (`edits/shorten.py`) this edit looks at the content of a result: it keeps lines that report
errors, and lines with names that the agent wrote afterwards or that the focus names.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.results import ToolResult, tool_results, tool_uses
from ullage.edits.clear_tool_uses import MEMORY_TOOLS
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.excerpt import excerpt, names
from ullage.model.blocks import is_sealed
from ullage.model.edits import Replacement, ShortenEdit
from ullage.model.message import Message, Role
from ullage.transcript.cut_points import groups
from ullage.transcript.view import replace_block

# Characters per token differ within a text, so a first cut may be slightly too long.
_ROUNDS = 3


class ResultLimits(Struct, frozen=True, kw_only=True):
    """The most tokens that one tool result may take: `max_result_tokens`, or the tool's own limit in `by_tool`. Results
    of `exclude_tools` and of the memory tools have no limit. `focus` is text in which the user says what to keep; lines
    with its names are kept first."""

    max_result_tokens: int
    by_tool: Mapping[str, int] = {}
    exclude_tools: frozenset[str] = frozenset()
    focus: str = ""

    def limit(self, tool: str) -> int | None:
        """Returns the tokens that a result of the tool may take, or None if there is no limit."""
        if tool in MEMORY_TOOLS or tool in self.exclude_tools:
            return None
        return self.by_tool.get(tool, self.max_result_tokens)


def shorten_results(
    view: CountedView, limits: ResultLimits, stamp: Stamp, untouched: Collection[str] = ()
) -> ShortenEdit | None:
    """Returns the edit that shortens every older tool result to its limit, or None if no result exceeds its limit. The
    last group of messages, which is still to be answered, and messages with an id in `untouched` stay as they are."""
    long = _long(view, limits, _fixed(view.messages, untouched))
    replacements = tuple(_shortened(view, limits, long))[::-1]
    if not replacements:
        return None
    draft = ShortenEdit(id=stamp.id, timestamp=stamp.timestamp, trigger=stamp.trigger, replacements=replacements)
    return view.saving(draft)


def _fixed(messages: Sequence[Message], untouched: Collection[str]) -> frozenset[str]:
    last = groups(messages)[-1] if messages else range(0)
    return frozenset({*untouched, *(messages[i].id for i in last)})


def _long(view: CountedView, limits: ResultLimits, fixed: Collection[str]) -> dict[int, list[tuple[ToolResult, int]]]:
    """Returns the tool results that may exceed their limits, each with its limit in tokens, by the index of their
    message. A result is included if its whole message exceeds the limit, so the result itself may be within it. Results
    with pictures and those of messages in `fixed` are left out."""
    found: dict[int, list[tuple[ToolResult, int]]] = {}
    for result in tool_results(view.messages):
        limit = limits.limit(result.tool)
        # Only text can be shortened. The message's tokens are known, so a short message need not be counted again.
        if limit is None or result.pictures or result.message_id in fixed or view.tokens[result.position] <= limit:
            continue
        if is_sealed(view.messages[result.position].content[result.block]):
            continue
        found.setdefault(result.position, []).append((result, limit))
    return found


def _shortened(
    view: CountedView, limits: ResultLimits, long: Mapping[int, Sequence[tuple[ToolResult, int]]]
) -> Iterator[Replacement]:
    """Yields the shortened results, from the newest to the oldest, so that the names which the assistant wrote after
    each result are known. Lines with these names are kept first."""
    messages, wanted = view.messages, names(limits.focus)
    for position in range(len(messages) - 1, min(long, default=len(messages)) - 1, -1):
        message = messages[position]
        if message.role is Role.ASSISTANT:
            wanted |= names(_said(message))
        for result, limit in reversed(long.get(position, ())):
            text = _fit(view, message, result, limit, wanted)
            if text is not None:
                yield Replacement(message_id=message.id, block=result.block, text=text)


def _fit(view: CountedView, message: Message, result: ToolResult, limit: int, wanted: Collection[str]) -> str | None:
    """Returns the text of a result cut to `limit` tokens, as nearly as a few tries allow, or None if the result fits
    already."""
    tokens = _measure(view, message, result, result.text)
    if tokens <= limit:
        return None
    text, chars = result.text, len(result.text)
    for _ in range(_ROUNDS):
        chars = int(chars * limit / tokens)
        text = excerpt(result.text, chars, wanted)
        tokens = _measure(view, message, result, text)
        if tokens <= limit:
            break
    return text


def _measure(view: CountedView, message: Message, result: ToolResult, text: str) -> int:
    alone = Replacement(message_id=message.id, block=result.block, text=text)
    return view.measure(replace(message, content=(replace_block(message.content[result.block], alone),)))


def _said(message: Message) -> str:
    """Returns what the assistant wrote: its text and the inputs of its tool uses."""
    return "\n".join([message.text, *(str(value) for use in tool_uses([message]) for value in use.input.values())])
