"""What OpenAI's chat messages say beyond Ullage's fields: `name`, audio and files, custom and legacy calls, contents
that are lists where Ullage writes a text."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ullage.formats.provided import is_same, keep_provided
from ullage.formats.requests.openai import (
    FORMAT,
    LEGACY_CALL,
    LEGACY_RESULT,
    is_part,
    write_call,
    write_messages,
    write_part,
    write_result,
)
from ullage.model.blocks import Block, Provided, ToolResultBlock, ToolUseBlock
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects
from ullage.model.message import Message, Role

# What a message of a request may say in addition to its role and calls. Answers have more, which requests must not.
_FIELDS = ("content", "name", "refusal", "audio")


def keep_message(role: Role, blocks: Sequence[Block], raw: JsonObject) -> tuple[list[Block], Provided | None]:
    """Returns the blocks read from a chat message, each with the API's fields that it lacks, and the message's own such
    fields, None if there are none. `raw` is the chat message."""
    if raw.get("role") in ("tool", LEGACY_RESULT):
        return [_keep_result(block, raw) for block in blocks], None
    calls, parts = iter(as_objects(raw.get("tool_calls"))), iter(as_list(raw.get("content")))
    kept: list[Block] = []
    for block in blocks:
        if isinstance(block, ToolUseBlock):
            kept.append(_keep_call(block, next(calls, None), raw))
        elif is_part(block) and role is Role.USER:
            part = as_object(next(parts, None))
            kept.append(keep_provided(block, part, FORMAT, write_part) if part else block)
        else:
            kept.append(block)
    written = write_messages(Message(id="", role=role, content=tuple(kept)))[0]
    fields = {name: raw.get(name) for name in _FIELDS if _says_more(name, role, written, raw.get(name))}
    if raw.get("role") != written["role"]:
        fields["role"] = raw["role"]
    return kept, Provided(format=FORMAT, fields=fields) if fields else None


def _says_more(name: str, role: Role, written: JsonObject, value: Any) -> bool:
    if name == "content" and role is Role.USER and as_list(value):
        # Each part says so itself.
        return False
    return not is_same(written.get(name), value)


def _keep_call(block: ToolUseBlock, call: JsonObject | None, raw: JsonObject) -> ToolUseBlock:
    if call is not None:
        return keep_provided(block, call, FORMAT, write_call)
    legacy = {LEGACY_CALL: raw[LEGACY_CALL]}
    return replace(block, provided=Provided(format=FORMAT, fields=legacy, whole=True))


def _keep_result(block: Block, raw: JsonObject) -> Block:
    if not isinstance(block, ToolResultBlock):
        return block
    written = write_result(block)
    fields = {name: raw[name] for name in ("role", "content", "name") if name in raw}
    fields = {name: value for name, value in fields.items() if not is_same(written.get(name), value)}
    return replace(block, provided=Provided(format=FORMAT, fields=fields)) if fields else block
