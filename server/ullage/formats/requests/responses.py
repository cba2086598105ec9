"""Writes messages as a request to OpenAI's Responses API."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ullage.formats.requests.turns import Turn, arrange_turns, legal_name, writable
from ullage.formats.transcripts.chat import image_url, write_arguments, write_file
from ullage.formats.verbatim import add_provided, provided_for
from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    SealedCompaction,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)

FORMAT = "openai-responses"


class ResponsesRequest(Struct, frozen=True, kw_only=True):
    """What follows from the conversation of a request to OpenAI's Responses API. `instructions` may be None."""

    instructions: str | None
    input: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def write_responses(
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition] = (),
    sealed_by: str = "",
    *,
    as_given: bool = False,
) -> ResponsesRequest:
    """Returns a request that keeps the API's rules for any view of a transcript (`requests/turns.py`).

    A marker that holds a compaction of the provider named `sealed_by` is written as that provider's own compaction
    item. Reasoning is left out, because only the provider that encrypted it can read it. With `as_given`, items that a
    program gave stay as they are, reasoning included.
    """
    systems: list[str] = []
    items: list[dict[str, Any]] = []
    for sealed, stretch in _stretches(messages, sealed_by):
        conversation = arrange_turns(stretch, FORMAT, thinking=False, as_given=as_given)
        for prompt in conversation.prompts:
            if isinstance(prompt, str):
                systems.append(prompt)
            else:
                # Instructions are a text, so that a prompt of blocks is an item.
                items.insert(0, {"role": "system", "content": prompt})
        items += [{"type": "compaction", "encrypted_content": sealed.data}] if sealed else []
        items += [item for turn in conversation.turns for item in write_turn(turn)]
    return ResponsesRequest(
        instructions="\n\n".join(systems) or None, input=items, tools=[_write_tool(tool) for tool in tools]
    )


def write_messages(message: Message) -> list[dict[str, Any]]:
    """Returns one message as items of the Responses API. No rules of a whole request are applied."""
    blocks = tuple(writable(message, (TextBlock, ImageBlock, ToolUseBlock, ToolResultBlock), FORMAT))
    return list(write_turn(Turn(role=message.role, content=blocks)))


def _stretches(
    messages: Sequence[Message], sealed_by: str
) -> Iterator[tuple[SealedCompaction | None, Sequence[Message]]]:
    """Divides the messages at markers with a compaction that the provider `sealed_by` made. Yields each such
    compaction, None for the first part, with the messages after it. Tool calls and results are paired within each part.
    """
    sealed, start = None, 0
    for index, message in enumerate(messages):
        found = message.compaction.sealed if message.compaction else None
        if found is not None and found.provider == sealed_by:
            yield sealed, messages[start:index]
            sealed, start = found, index + 1
    yield sealed, messages[start:]


def write_turn(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yields a turn as items. Calls and results are items of their own, what is between them message items."""
    if turn.given is not None:
        yield from turn.given
        return
    said: list[Block] = []
    for block in turn.content:
        own = None if isinstance(block, CompactionBlock) else provided_for(block.provided, FORMAT)
        if own is None and isinstance(block, TextBlock | ImageBlock | ResourceBlock):
            said.append(block)
            continue
        yield from _write_said(turn.role, said)
        said = []
        if own is not None:
            yield own.fields
        elif isinstance(block, ToolUseBlock):
            arguments = write_arguments(block.input)
            yield {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
        elif isinstance(block, ToolResultBlock):
            is_text = all(isinstance(part, TextBlock) for part in block.content)
            parts = [] if is_text else [_write_part(part, "input_text") for part in block.content]
            output = join_texts(block.content) if is_text else parts
            yield {"type": "function_call_output", "call_id": block.tool_use_id, "output": output}
    yield from _write_said(turn.role, said)


def _write_said(role: Role, said: Sequence[Block]) -> Iterator[dict[str, Any]]:
    if not said:
        return
    text = "output_text" if role is Role.ASSISTANT else "input_text"
    yield {"type": "message", "role": role.value, "content": [_write_part(block, text) for block in said]}


def _write_part(block: Block, text: str) -> dict[str, Any]:
    match block:
        case TextBlock():
            return {"type": text, "text": block.text}
        case ImageBlock():
            return {"type": "input_image", "image_url": image_url(block)}
        case ResourceBlock():
            return {"type": "input_file", **write_file(block)}
        case _:
            raise AssertionError(f"a turn holds a {type(block).__name__}")


def _write_tool(tool: ToolDefinition) -> dict[str, Any]:
    written = {
        "type": "function",
        "name": legal_name(tool.name),
        "description": tool.description,
        "parameters": {"type": "object", **tool.input_schema},
    }
    return add_provided(written, tool.provided, FORMAT)
