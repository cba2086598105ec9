"""Converts parameters written as text, by their types in the tool's JSON Schema."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ullage.model.json_values import as_object, as_text
from ullage.model.message import ToolDefinition

_AS_JSON = frozenset({"integer", "number", "boolean", "array", "object", "null"})


class ParameterTypes:
    """The types of all tools' parameters."""

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self._types: Mapping[str, Mapping[str, str]] = {
            tool.name: {
                name: as_text(as_object(schema).get("type"))
                for name, schema in as_object(tool.input_schema.get("properties")).items()
            }
            for tool in tools
        }

    @property
    def names(self) -> frozenset[str]:
        """The names of all tools."""
        return frozenset(self._types)

    def of(self, tool: str) -> frozenset[str]:
        """Returns the names of a tool's parameters."""
        return frozenset(self._types.get(tool, ()))

    def read(self, tool: str, parameter: str, text: str) -> Any:
        """Returns the parameter's value.

        Text that doesn't fit the parameter's type stays text, so that the tool can refuse it.
        """
        if self._types.get(tool, {}).get(parameter) not in _AS_JSON:
            return text
        try:
            return msgspec.json.decode(text.strip())
        except msgspec.DecodeError:
            return text
