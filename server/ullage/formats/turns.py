"""Arranges any sequence of messages as turns that both providers accept, of blocks that they accept.

The rules (Anthropic, "Messages" and "Tool use"; OpenAI, "Function calling"): the first turn is the user's, and roles
alternate. Each tool call is answered in the very next turn, where results come first. Each result has a call. Ids are
unique and consist of letters, digits, `_` and `-`. Nothing is lost silently: kinds of blocks that a provider does not
take become readable text, so does a result without a call, and a call without a result is answered by a placeholder.
Empty text is left out.

If asked to, a message that a program gave in the request's own format is a turn by itself and stays as it is: the
program knows what its provider takes, and edits remove a call only together with its result.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.parsing import clean_text, to_json
from ullage.formats.transcripts.chat import read_image_url
from ullage.formats.verbatim import given_form, given_prompt, provided_for
from ullage.model.json_values import JsonObject, as_list, as_object, as_text
from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    Provided,
    ResourceBlock,
    ResultPart,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    render_marker,
)

# The media types that Anthropic accepts; OpenAI accepts the same.
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
# OpenAI's limit for a function's name, in characters; Anthropic's is 128.
_LONGEST_NAME = 64


def legal_blocks(role: Role, blocks: Iterable[Block], format_name: str, *, thinking: bool) -> list[Block]:
    """Returns a message's blocks as kinds that providers accept in this role: text, images, documents, tool uses and
    tool results. Other kinds, or kinds that the role may not have, become text. Each block keeps only the fields of the
    format `format_name`.

    If `thinking` is true, an assistant's signed or encrypted thinking is kept. Other thinking is left out.
    """
    legal: list[Block] = []
    for block in blocks:
        if isinstance(block, ThinkingBlock):
            if thinking and role is Role.ASSISTANT and (block.signature or block.redacted):
                # A signature covers the text, so the text must stay as it is.
                text, signature = ("", None) if block.redacted else (block.thinking, block.signature)
                legal.append(ThinkingBlock(thinking=text, signature=signature, redacted=block.redacted or None))
        elif is_own_kind(block, format_name):
            legal.append(block)
        elif isinstance(block, ToolUseBlock) and role is Role.ASSISTANT:
            given, provided = as_object(_legal_value(block.input)), provided_for(block.provided, format_name)
            name, call_id = legal_name(block.name), clean_text(block.id)
            legal.append(ToolUseBlock(id=call_id, name=name, input=given, provided=provided))
        elif isinstance(block, ToolResultBlock) and role is not Role.SYSTEM:
            parts = tuple(one for part in block.content for one in _legal_part(part, format_name))
            provided, call_id = provided_for(block.provided, format_name), block.tool_use_id
            legal.append(
                ToolResultBlock(tool_use_id=call_id, content=parts, is_error=block.is_error, provided=provided)
            )
        elif isinstance(block, TextBlock | ImageBlock | ResourceBlock) and role is Role.USER:
            legal.extend(_legal_part(block, format_name))
        else:
            legal.extend(_as_text(block, format_name))
    return legal


def _legal_part(part: ResultPart, format_name: str) -> list[ResultPart]:
    provided = provided_for(part.provided, format_name)
    if is_own_kind(part, format_name):
        return [part]
    if isinstance(part, ImageBlock):
        return [_legal_image(part, provided)]
    if isinstance(part, ResourceBlock) and part.is_document:
        uri = clean_text(part.uri)
        return [ResourceBlock(uri=uri, mime_type=part.mime_type, data=part.data, provided=provided)]
    return [*_as_text(part, format_name)]


def writable(message: Message, kinds: tuple[type[Block], ...], format_name: str) -> Iterator[Block]:
    """Yields a message's blocks: unchanged if they are of one of `kinds`, are documents or were kept whole for this
    format, else as text."""
    for block in message.content:
        is_document = isinstance(block, ResourceBlock) and block.is_document
        if isinstance(block, kinds) or is_document or is_own_kind(block, format_name):
            yield block
        else:
            yield from _as_text(block, format_name)


def is_own_kind(block: Block, format_name: str) -> bool:
    """Returns whether the block was kept whole for this format when it was read, because only this format has such a
    block. It is then written as it came."""
    own = None if isinstance(block, CompactionBlock) else provided_for(block.provided, format_name)
    return own is not None and own.whole


def legal_name(name: str) -> str:
    """Returns a tool's name with `_` for each character that providers refuse, in 64 characters; `tool` for ""."""
    return _ILLEGAL.sub("_", name)[:_LONGEST_NAME] or "tool"


def describe_data(block: ResourceBlock) -> str:
    """Returns what a model is sent instead of content that its provider does not take."""
    pdf = "documents cannot be sent to this model"
    why = pdf if block.is_document else "models take text, pictures and PDF documents"
    return f"[The content of {block.title} is not shown to you: {why}.]"


def without_documents(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Returns the messages for a provider that takes no documents: with a sentence in place of each."""
    return tuple(
        replace(message, content=tuple(map(_without_document, message.content)), provided=None)
        if any(_has_document(block) for block in message.content)
        else message
        for message in messages
    )


def _has_document(block: Block) -> bool:
    parts = block.content if isinstance(block, ToolResultBlock) else (block,)
    return any(isinstance(part, ResourceBlock) and part.is_document for part in parts)


def _without_document(block: Block) -> Block:
    if isinstance(block, ToolResultBlock) and _has_document(block):
        return replace(block, content=tuple(map(_part_without_document, block.content)))
    return _part_without_document(block) if isinstance(block, TextBlock | ImageBlock | ResourceBlock) else block


def _part_without_document(part: ResultPart) -> ResultPart:
    if isinstance(part, ResourceBlock) and part.is_document:
        return TextBlock(text=describe_data(part))
    return part


def orphan_blocks(result: ToolResultBlock) -> list[Block]:
    """Returns a result whose call is not in the context as plain blocks: the call's id, then the content."""
    call = clean_text(result.tool_use_id)
    return [TextBlock(text=f"[Result of tool call {call}, which is not in this context]"), *result.content]


def _legal_image(block: ImageBlock, provided: Provided | None) -> ImageBlock | TextBlock:
    image = read_image_url(block.url) if block.url and not block.data else block
    if image.data and image.media_type in IMAGE_TYPES:
        return ImageBlock(media_type=image.media_type, data=image.data, provided=provided)
    if image.url and image.url.startswith(("https://", "http://")):
        return ImageBlock(url=clean_text(image.url), provided=provided)
    return TextBlock(text=_describe_image(block))


def _describe_image(block: ImageBlock) -> str:
    return f"[Image, {clean_text(block.media_type)}, not shown]"


def _as_text(block: Block, format_name: str) -> list[TextBlock]:
    text = clean_text(_render(block))
    provided = provided_for(block.provided, format_name) if isinstance(block, TextBlock) else None
    return [TextBlock(text=text, provided=provided)] if text.strip() else []


def _render(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case CompactionBlock():
            return render_marker(block)
        case ResourceBlock(data=str(data)) if data:
            return describe_data(block)
        case ResourceBlock():
            return f"[Resource {block.uri}]" if block.text is None else f"[Resource {block.uri}]\n{block.text}"
        case ImageBlock():
            return _describe_image(block)
        case _:
            return _render_tool(block)


def _render_tool(block: ThinkingBlock | ToolUseBlock | ToolResultBlock) -> str:
    """Returns tool calls and results as text, for a role that may not have them. Thinking becomes empty text."""
    match block:
        case ToolUseBlock():
            return f"[Call of tool {block.name}: {to_json(block.input)}]"
        case ToolResultBlock():
            return "\n".join(_render(part) for part in orphan_blocks(block))
        case ThinkingBlock():
            return ""


def _legal_value(value: Any) -> Any:
    """Returns a value that can be written as JSON in UTF-8: NaN and infinities become text, lone surrogates U+FFFD."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [_legal_value(item) for item in as_list(list(cast("Iterable[Any]", value)))]
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {clean_text(str(key)): _legal_value(item) for key, item in items}
    return value


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


class ArrangedTurns(Struct, frozen=True, kw_only=True):
    """A request's system prompts in order, each a text or the blocks that a program gave, and its turns."""

    prompts: tuple[str | list[JsonObject], ...]
    turns: tuple[Turn, ...]

    @property
    def system(self) -> str:
        """The texts of the system prompts, joined; empty if there are none."""
        blocks = ([{"text": prompt}] if isinstance(prompt, str) else prompt for prompt in self.prompts)
        return "\n\n".join(text for each in blocks for block in each if (text := as_text(block.get("text"))))

    @property
    def prompt(self) -> str | list[JsonObject]:
        if all(isinstance(prompt, str) for prompt in self.prompts):
            return self.system
        texts = ([{"type": "text", "text": each}] if isinstance(each, str) else each for each in self.prompts)
        return [block for blocks in texts for block in blocks]


def arrange_turns(
    messages: Sequence[Message], format_name: str, *, thinking: bool, as_given: bool = False
) -> ArrangedTurns:
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
) -> ArrangedTurns:
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
            content = tuple(blocks if given is None else message.content)
            turn = Turn(role=role, content=content, provided=message.provided, timestamp=message.timestamp)
            spoken.append(turn if given is None else replace(turn, given=tuple(given)))
    turns = (turn for turn in _Pairing(spoken).turns() if turn.content or turn.given is not None)
    return ArrangedTurns(prompts=tuple(prompt for prompt in prompts if prompt), turns=tuple(turns))


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
                    # No block of it is of a format's own kind: such a kind may be legal in a tool result only.
                    content.extend(legal_blocks(turn.role, orphan_blocks(block), "", thinking=False))
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
    """Moves given results before the notices of edits: a result must follow its call at once."""
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
    """Returns the turn without thinking at its end, in which Anthropic refuses that an assistant message ends."""
    if turn.given is not None:
        return turn
    content = list(turn.content)
    while content and isinstance(content[-1], ThinkingBlock):
        content.pop()
    return replace(turn, content=tuple(content))


def _strip_end(turn: Turn) -> Turn:
    """Returns the turn without white space at its end, which Anthropic refuses in a final assistant message."""
    last = turn.content[-1] if turn.content else None
    if turn.given is not None or not isinstance(last, TextBlock):
        return turn
    return replace(turn, content=(*turn.content[:-1], replace(last, text=last.text.rstrip())))
