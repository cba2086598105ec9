"""Arranges any sequence of messages as turns that both providers accept.

The rules (Anthropic, "Messages" and "Tool use"; OpenAI, "Function calling"): the first turn is the user's, and roles
alternate. Each tool call is answered in the very next turn, where results come first. Each result has a call. Ids are
unique and consist of letters, digits, `_` and `-`. Nothing is lost silently: a result without a call becomes text, and
a call without a result is answered by a placeholder.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ullage.formats.requests.legal_blocks import legal_blocks, orphan_blocks
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, Role

NO_RESULT = "[No result of this tool call is recorded.]"
NO_BEGINNING = "[The conversation begins before this context.]"
# OpenAI refuses longer ids of tool calls; Anthropic documents no limit.
LONGEST_ID = 40
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


class Turn(Struct, frozen=True, kw_only=True):
    """Consecutive blocks of one role, never empty. A user turn after tool calls begins with their results."""

    role: Role
    content: tuple[Block, ...]


class Conversation(Struct, frozen=True, kw_only=True):
    """The system prompt, joined from all system messages in order, and the turns."""

    system: str
    turns: tuple[Turn, ...]


def arrange_turns(messages: Sequence[Message], *, thinking: bool) -> Conversation:
    """Arranges the messages as turns. If `thinking` is true, signed thinking is kept."""
    spoken: list[tuple[Role, list[Block]]] = []
    system: list[str] = []
    for message in messages:
        role = Role.USER if message.compaction else message.role
        blocks = legal_blocks(role, message.content, thinking=thinking)
        if role is Role.SYSTEM:
            system.extend(block.text for block in blocks if isinstance(block, TextBlock))
        else:
            spoken.append((role, blocks))
    turns = _merge(_Pairing(spoken).turns())
    turns = _merge(_without_trailing_thinking(turn) for turn in turns)
    if turns and turns[0].role is not Role.USER:
        turns.insert(0, Turn(role=Role.USER, content=(TextBlock(text=NO_BEGINNING),)))
    if turns and turns[-1].role is Role.ASSISTANT:
        turns[-1] = _strip_end(turns[-1])
    return Conversation(system="\n\n".join(system), turns=tuple(turns))


class _Call(Struct):
    """A tool call that waits for its result. `message` is the index of the call's message."""

    message: int
    block: ToolUseBlock
    result: ToolResultBlock | None = None


class _Pairing:
    """Moves each result after its call.

    A result belongs to the latest message that has an unanswered call with its id.
    """

    def __init__(self, spoken: Sequence[tuple[Role, list[Block]]]) -> None:
        self._spoken = spoken
        self._ids: set[str] = set()
        self._open: dict[str, list[_Call]] = {}
        self._made: dict[int, list[_Call]] = {}

    def turns(self) -> list[Turn]:
        """Returns the turns in order. They may be empty, and neighbours may have the same role."""
        contents = [self._pair(index, role, blocks) for index, (role, blocks) in enumerate(self._spoken)]
        turns: list[Turn] = []
        for index, (role, content) in enumerate(contents):
            turns.append(Turn(role=role, content=tuple(content)))
            results = [_answer(call) for call in self._made.get(index, [])]
            turns.append(Turn(role=Role.USER, content=tuple(results)))
        return turns

    def _pair(self, index: int, role: Role, blocks: Iterable[Block]) -> tuple[Role, list[Block]]:
        """Returns the message's role and its content without the results that belong to a call."""
        content: list[Block] = []
        for block in blocks:
            if isinstance(block, ToolUseBlock):
                content.append(self._open_call(index, block))
            elif isinstance(block, ToolResultBlock):
                call = self._close_call(block.tool_use_id)
                if call is None:
                    content.extend(_orphan(role, block))
                else:
                    call.result = block
            else:
                content.append(block)
        return role, content

    def _open_call(self, index: int, block: ToolUseBlock) -> ToolUseBlock:
        unique = ToolUseBlock(id=self._unique(block.id), name=block.name, input=block.input)
        call = _Call(message=index, block=unique)
        self._open.setdefault(block.id, []).append(call)
        self._made.setdefault(index, []).append(call)
        return unique

    def _close_call(self, call_id: str) -> _Call | None:
        calls = self._open.get(call_id)
        if not calls:
            return None
        latest = calls[-1].message
        first = next(position for position, call in enumerate(calls) if call.message == latest)
        return calls.pop(first)

    def _unique(self, wanted: str) -> str:
        base = _ILLEGAL.sub("_", wanted)[:LONGEST_ID] or "call"
        unique, number = base, 1
        while unique in self._ids:
            number += 1
            suffix = f"_{number}"
            unique = base[: LONGEST_ID - len(suffix)] + suffix
        self._ids.add(unique)
        return unique


def _answer(call: _Call) -> ToolResultBlock:
    result = call.result or ToolResultBlock(tool_use_id="", content=(TextBlock(text=NO_RESULT),), is_error=True)
    return ToolResultBlock(tool_use_id=call.block.id, content=result.content, is_error=result.is_error)


def _orphan(role: Role, result: ToolResultBlock) -> list[Block]:
    return legal_blocks(role, orphan_blocks(result), thinking=False)


def _merge(turns: Iterable[Turn]) -> list[Turn]:
    merged: list[Turn] = []
    for turn in turns:
        if not turn.content:
            continue
        if merged and merged[-1].role is turn.role:
            merged[-1] = Turn(role=turn.role, content=merged[-1].content + turn.content)
        else:
            merged.append(turn)
    return merged


def _without_trailing_thinking(turn: Turn) -> Turn:
    """Removes thinking at the end of a turn, because Anthropic refuses an assistant message that ends in thinking."""
    content = list(turn.content)
    while content and isinstance(content[-1], ThinkingBlock):
        content.pop()
    return Turn(role=turn.role, content=tuple(content))


def _strip_end(turn: Turn) -> Turn:
    """Removes white space at the end of a turn, because Anthropic refuses a final assistant message that ends in it."""
    last = turn.content[-1]
    if not isinstance(last, TextBlock):
        return turn
    return Turn(role=turn.role, content=(*turn.content[:-1], TextBlock(text=last.text.rstrip())))
