"""Reads settings that a client or a user wrote, an object with the fields of `Settings`."""

from typing import Any, cast

import msgspec

from ullage.model.errors import InvalidRequest
from ullage.model.settings import Settings


def read_settings(section: Any) -> Settings:
    """Reads a client's `ullage` section. Raises `InvalidRequest`, whose text names the wrong field and the remedy."""
    try:
        return msgspec.convert(_without_empty_lists(section), Settings)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"Ullage keeps its settings as they were: {_explain(str(error))}") from None


def _explain(fault: str) -> str:
    what, _, path = fault.partition(" - at ")
    path = path.strip("`") or "$"
    return f"{path} cannot be used ({what[:1].lower()}{what[1:]}). Correct it or remove it to get the default."


def _without_empty_lists(value: Any) -> Any:
    """Returns the value without empty lists, because Lua writes an empty table as `[]`. For every setting an empty
    list or object is the default."""
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value).items()
    return {key: _without_empty_lists(item) for key, item in items if item != []}
