"""JSON values of unknown shape as the types expected of them: a wrong shape is an empty value, never an error."""

from typing import Any, cast

JsonObject = dict[str, Any]


def as_object(value: Any) -> JsonObject:
    """The value if it is a JSON object, otherwise an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_objects(value: Any) -> list[JsonObject]:
    """The JSON objects of a list."""
    return [cast("JsonObject", item) for item in as_list(value) if isinstance(item, dict)]


def as_text(value: Any) -> str:
    """The value if it is a string, otherwise an empty one."""
    return value if isinstance(value, str) else ""
