"""What a provider's format says beyond Ullage's own fields: found when a message is read, added when it is written.

A block is read, written again and compared with what came in. The difference is kept as `Provided`, so a message leaves
as it came, whatever fields its provider invents. Only the spelling may differ: one text for a list of one text block,
null for a field that is left out, spaces in JSON arguments.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from ullage.model.blocks import (
    ImageBlock,
    Provided,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.json_values import JsonObject, as_list, as_object

Carrier = TypeVar(
    "Carrier", bound=TextBlock | ImageBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ResourceBlock
)


def provided_for(provided: Provided | None, format_name: str) -> Provided | None:
    """Returns the fields that a block or message has for this format, or None if it has none or those of another
    format."""
    return provided if provided is not None and provided.format == format_name else None


def add_provided(written: JsonObject, provided: Provided | None, format_name: str) -> JsonObject:
    """Returns `written`, a block or message in a format, with the format's own fields added. If `provided` holds the
    whole value of this format, returns that instead."""
    own = provided_for(provided, format_name)
    if own is None:
        return written
    return dict(own.fields) if own.whole else _merge(written, own.fields)


def keep_provided(block: Carrier, raw: JsonObject, format_name: str, write: Callable[[Carrier], JsonObject]) -> Carrier:
    """Returns the block, with those fields of `raw` in `provided` that the block's own fields do not express. `raw` is
    the value in the provider's format from which the block was read.

    `write` turns a block into such a value. The fields of `raw` that `write(block)` lacks are kept. If the two
    disagree, or `write` returns an empty object because it cannot write such a block, all of `raw` is kept. If nothing
    is missing, the block is returned unchanged.
    """
    written = write(block)
    extra = difference(written, raw) if written else None
    if extra is None:
        return replace(block, provided=Provided(format=format_name, fields=raw, whole=True))
    return replace(block, provided=Provided(format=format_name, fields=extra)) if extra else block


def difference(written: Mapping[str, Any], raw: Mapping[str, Any]) -> JsonObject | None:
    """Returns the fields of `raw` that are missing in `written`, also those within nested objects. Returns None if a
    field that both have differs, or `raw` lacks a field of `written`."""
    extra: JsonObject = {}
    if any(raw.get(name) is None for name, value in written.items() if value is not None and not _is_empty(value)):
        return None
    for name, value in raw.items():
        if name not in written:
            if value is not None:
                extra[name] = value
        elif not is_same(written[name], value):
            if not (isinstance(value, dict) and isinstance(written[name], dict)):
                return None
            inside = difference(as_object(written[name]), as_object(value))
            if inside is None:
                return None
            extra[name] = inside
    return extra


def is_same(one: Any, other: Any) -> bool:
    """Returns whether two values of a format mean the same although they may be spelled differently: with nulls for
    missing fields, a list of one text block for a text, or other spaces in JSON text."""
    return _plain(one) == _plain(other)


def _merge(written: JsonObject, fields: Mapping[str, Any]) -> JsonObject:
    merged = dict(written)
    for name, value in fields.items():
        inside = merged.get(name)
        both = isinstance(value, dict) and isinstance(inside, dict)
        merged[name] = _merge(as_object(inside), as_object(value)) if both else value
    return merged


def _plain(value: Any) -> Any:
    """Returns a value in one spelling: without empty fields, a single text block as its text, a JSON object in text as
    its value."""
    if isinstance(value, str):
        return _json_value(value)
    if isinstance(value, dict):
        return {name: _plain(field) for name, field in as_object(value).items() if not _is_empty(field)}
    if isinstance(value, list):
        items = [_plain(item) for item in as_list(value)]
        alone = as_object(items[0]) if len(items) == 1 else {}
        return alone["text"] if alone.keys() == {"type", "text"} and alone["type"] == "text" else items
    return None if _is_empty(value) else value


def _json_value(text: str) -> Any:
    """Returns the JSON object that a text holds, so that spaces between its fields make no difference; any other text
    unchanged."""
    if not text.startswith("{"):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [])
