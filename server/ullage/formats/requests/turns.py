"""Arranges any sequence of messages as turns that both providers accept.

The rules (Anthropic, "Messages" and "Tool use"; OpenAI, "Function calling"): the first turn is the user's, and roles
alternate. Each tool call is answered in the very next turn, where results come first. Each result has a call. Ids are
unique and consist of letters, digits, `_` and `-`. Nothing is lost silently: a result without a call becomes text, and
a call without a result is answered by a placeholder.

If asked to, a message that a program gave in the request's own format is a turn by itself and stays as it is: the
program knows what its provider takes, and edits remove a call only together with its result.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.requests.legal_blocks import legal_blocks, orphan_blocks
from ullage.formats.verbatim import given_form, given_prompt
from ullage.model.blocks import Block, Provided, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.json_values import JsonObject, as_text
from ullage.model.message import Message, Role

NO_RESULT = "[No result of this tool call is recorded.]"
NO_BEGINNING = "[The conversation begins before this context.]"
# OpenAI refuses longer ids of tool calls; Anthropic documents no limit.
LONGEST_ID = 40
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


class Turn(Struct, frozen=True, kw_only=True):
    """Consecutive blocks of one role. A user turn after tool calls begins with their results. If `given` is set, the
    turn is one message that a program gave in the request's own format; it may then have the system's role or no
    blocks. `timestamp` is that of its message in Unix milliseconds, 0 if it has none or is made of several."""

    role: Role
    content: tuple[Block, ...]
    provided: Provided | None = None
    timestamp: int = 0
    given: tuple[JsonObject, ...] | None = None


class Conversation(Struct, frozen=True, kw_only=True):
    """A request's system prompts in order, each a text or the blocks that a program gave, and its turns."""

    prompts: tuple[str | list[JsonObject], ...]
    turns: tuple[Turn, ...]

    @property
    def system(self) -> str:
        """The texts of the system prompts, joined; empty if there are none."""
        texts = (prompt if isinstance(prompt, str) else _text_of(prompt) for prompt in self.prompts)
        return "\n\n".join(text for text in texts if text)

    @property
    def prompt(self) -> str | list[JsonObject]:
        """The system prompts as one: a text, or a list of blocks if one of them was given so."""
        if all(isinstance(prompt, str) for prompt in self.prompts):
            return self.system
        texts = ([{"type": "text", "text": each}] if isinstance(each, str) else each for each in self.prompts)
        return [block for blocks in texts for block in blocks]


def arrange_turns(
    messages: Sequence[Message], format_name: str, *, thinking: bool, as_given: bool = False
) -> Conversation:
    """Returns the messages as the turns of a request in the format `format_name`, in an order that providers accept:
    the user begins, roles alternate, each tool call is answered in the next turn. If `thinking` is true, signed and
    encrypted thinking is kept. With `as_given`, messages that were given in this format stay as they are."""
    paired = pair_turns(messages, format_name, thinking=thinking, as_given=as_given)
    turns = _merge(_without_trailing_thinking(turn) for turn in _merge(paired.turns))
    first = next((at for at, turn in enumerate(turns) if turn.role is not Role.SYSTEM), None)
    if first is not None and turns[first].role is not Role.USER and turns[first].given is None:
        turns.insert(first, Turn(role=Role.USER, content=(TextBlock(text=NO_BEGINNING),)))
    if turns and turns[-1].role is Role.ASSISTANT:
        turns[-1] = _strip_end(turns[-1])
    return replace(paired, turns=tuple(turns))


def pair_turns(
    messages: Sequence[Message], format_name: str, *, thinking: bool = True, as_given: bool = False
) -> Conversation:
    """Returns each message as a turn of its own, and after it the results of its calls as another one. Neighbours may
    have the same role, and messages without a block that may be written are left out. `thinking` as in
    `arrange_turns`. With `as_given`, messages that were given in this format stay as they are."""
    spoken: list[Turn] = []
    prompts: list[str | list[JsonObject]] = []
    for message in messages:
        role = Role.USER if message.compaction else message.role
        given = given_form(format_name, message) if as_given else None
        blocks = [] if given is not None else legal_blocks(role, message.content, format_name, thinking=thinking)
        prompt = given_prompt(format_name, message, given, is_first=not spoken) if as_given else None
        if role is Role.SYSTEM and (prompt is not None or given is None):
            text = "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock))
            prompts += [prompt if prompt is not None else text]
        elif given is None or given:
            kept = None if given is None else tuple(given)
            spoken.append(
                Turn(
                    role=role,
                    content=tuple(blocks if given is None else message.content),
                    provided=message.provided,
                    timestamp=message.timestamp,
                    given=kept,
                )
            )
    turns = (turn for turn in _Pairing(spoken).turns() if turn.content or turn.given is not None)
    return Conversation(prompts=tuple(prompt for prompt in prompts if prompt), turns=tuple(turns))


def _text_of(blocks: Sequence[JsonObject]) -> str:
    return "\n\n".join(text for block in blocks if (text := as_text(block.get("text"))))


class _Call(Struct):
    """A tool call and its result, None until the result is found. `message` is the index of the call's message.
    `is_given` says that this message stays as a program gave it."""

    message: int
    block: ToolUseBlock
    is_given: bool
    result: ToolResultBlock | None = None


class _Pairing:
    """Moves each tool result to the turn after its call, and makes the calls' ids unique and legal.

    A result belongs to the latest message that has an unanswered call with its id.
    """

    def __init__(self, spoken: Sequence[Turn]) -> None:
        self._spoken = spoken
        self._ids: set[str] = set()
        self._open: dict[str, list[_Call]] = {}
        self._made: dict[int, list[_Call]] = {}

    def turns(self) -> list[Turn]:
        """Returns the turns in order. They may be empty, and neighbours may have the same role."""
        paired = [self._pair(index, turn) for index, turn in enumerate(self._spoken)]
        turns: list[Turn] = []
        for index, turn in enumerate(paired):
            turns.append(turn)
            results = [_answer(call) for call in self._made.get(index, [])]
            turns.append(Turn(role=Role.USER, content=tuple(results)))
        return _results_first(turns)

    def _pair(self, index: int, turn: Turn) -> Turn:
        """Returns the turn without the results that belong to a call. Results without a call become plain content."""
        if turn.given is not None:
            self._note_given(index, turn)
            return turn
        content: list[Block] = []
        for block in turn.content:
            if isinstance(block, ToolUseBlock):
                content.append(self._open_call(index, block))
            elif isinstance(block, ToolResultBlock):
                call = self._close_call(block.tool_use_id)
                if call is None:
                    content.extend(_orphan(turn.role, block))
                else:
                    call.result = block
                    if call.is_given:
                        self._made.setdefault(call.message, []).append(call)
            else:
                content.append(block)
        return replace(turn, content=tuple(content))

    def _note_given(self, index: int, turn: Turn) -> None:
        """Notes the calls and results of a message that stays as it is. A result in it is where the program put it."""
        for block in turn.content:
            if isinstance(block, ToolUseBlock):
                self._ids.add(block.id)
                self._open.setdefault(block.id, []).append(_Call(message=index, block=block, is_given=True))
            elif isinstance(block, ToolResultBlock):
                call = self._close_call(block.tool_use_id)
                if call is not None and not call.is_given:
                    self._made[call.message].remove(call)

    def _open_call(self, index: int, block: ToolUseBlock) -> ToolUseBlock:
        unique = replace(block, id=self._unique(block.id))
        call = _Call(message=index, block=unique, is_given=False)
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


def _results_first(turns: Sequence[Turn]) -> list[Turn]:
    """Returns the turns with given results before the notices of edits, because a result must follow its
    call at once."""
    ordered: list[Turn] = []
    for turn in turns:
        at = len(ordered)
        if turn.given is not None and any(isinstance(block, ToolResultBlock) for block in turn.content):
            while at and ordered[at - 1].given is None and ordered[at - 1].role is Role.USER:
                at -= 1
        ordered.insert(at, turn)
    return ordered


def _answer(call: _Call) -> ToolResultBlock:
    result = call.result or ToolResultBlock(tool_use_id="", content=(TextBlock(text=NO_RESULT),), is_error=True)
    return replace(result, tool_use_id=call.block.id)


def _orphan(role: Role, result: ToolResultBlock) -> list[Block]:
    # No block of the result is of a format's own kind here: such a kind may be legal in a tool result only.
    return legal_blocks(role, orphan_blocks(result), "", thinking=False)


def _merge(turns: Iterable[Turn]) -> list[Turn]:
    merged: list[Turn] = []
    for turn in turns:
        if not turn.content and turn.given is None:
            continue
        are_given = turn.given is not None or (merged and merged[-1].given is not None)
        if merged and merged[-1].role is turn.role and not are_given:
            merged[-1] = Turn(role=turn.role, content=merged[-1].content + turn.content)
        else:
            merged.append(turn)
    return merged


def _without_trailing_thinking(turn: Turn) -> Turn:
    """Returns the turn without thinking at its end, because Anthropic refuses an assistant message that ends in
    thinking."""
    if turn.given is not None:
        return turn
    content = list(turn.content)
    while content and isinstance(content[-1], ThinkingBlock):
        content.pop()
    return replace(turn, content=tuple(content))


def _strip_end(turn: Turn) -> Turn:
    """Returns the turn without white space at its end, because Anthropic refuses a final assistant message that ends in
    it."""
    last = turn.content[-1] if turn.content else None
    if turn.given is not None or not isinstance(last, TextBlock):
        return turn
    return replace(turn, content=(*turn.content[:-1], replace(last, text=last.text.rstrip())))
