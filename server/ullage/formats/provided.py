"""Adds what only a provider's format says to what is written from Ullage's own fields."""

from collections.abc import Mapping
from typing import Any

from ullage.model.blocks import Provided
from ullage.model.json_values import JsonObject, as_object


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


def _merge(written: JsonObject, fields: Mapping[str, Any]) -> JsonObject:
    merged = dict(written)
    for name, value in fields.items():
        inside = merged.get(name)
        both = isinstance(value, dict) and isinstance(inside, dict)
        merged[name] = _merge(as_object(inside), as_object(value)) if both else value
    return merged
