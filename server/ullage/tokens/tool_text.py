"""The text by which a model sees tools: their definitions and its own tool uses."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from ullage.model.blocks import ToolUseBlock
from ullage.model.message import ToolDefinition

# Tokens around the rendered definitions in OpenAI's prompt (source: gpt-tokenizer, litellm).
TYPESCRIPT_OVERHEAD = 9

_TYPES = {"integer": "number", "number": "number", "boolean": "boolean", "null": "null", "string": "string"}


def render_typescript(tools: Sequence[ToolDefinition]) -> str:
    """Returns the definitions of tools as OpenAI's models are shown them: a TypeScript namespace."""
    lines = ["namespace functions {", ""]
    for tool in tools:
        if tool.description:
            lines.append(f"// {tool.description}")
        fields = list(_render_fields(tool.input_schema))
        if fields:
            lines += [f"type {tool.name} = (_: {{", *fields, "}) => any;", ""]
        else:
            lines += [f"type {tool.name} = () => any;", ""]
    return "\n".join([*lines, "} // namespace functions"])


def render_json(tools: Sequence[ToolDefinition]) -> str:
    """Returns the definitions of tools as most other models are shown them: one JSON object per line."""
    return "\n".join(
        to_json({"name": tool.name, "description": tool.description, "parameters": tool.input_schema}) for tool in tools
    )


def render_input(block: ToolUseBlock, *, escaped: bool) -> str:
    """Returns the input of a tool use as a model is shown it: as one JSON object if `escaped`, else each name on one
    line with its bare value on the next lines."""
    if escaped:
        return to_json(block.input)
    return "\n".join(
        f"{name}\n{value if isinstance(value, str) else to_json(value)}" for name, value in block.input.items()
    )


def to_json(value: Any) -> str:
    """Returns the value as compact JSON. If JSON cannot hold it (for example a lone surrogate), returns its Python
    `repr`."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, TypeError, RecursionError):
        return repr(value)


def _render_fields(schema: dict[str, Any]) -> Iterator[str]:
    required = _strings(schema.get("required"))
    for name, field in _objects(schema.get("properties")).items():
        if description := field.get("description"):
            yield f"// {description}"
        yield f"{name}{'' if name in required else '?'}: {_render_type(field)},"


def _render_type(schema: dict[str, Any]) -> str:
    if choices := _list(schema.get("enum")):
        return " | ".join(to_json(choice) for choice in choices)
    if options := _list(schema.get("anyOf")) or _list(schema.get("oneOf")):
        return " | ".join(
            _render_type(cast("dict[str, Any]", option)) for option in options if isinstance(option, dict)
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(str(one), str(one)) for one in cast("list[Any]", kind))
    if kind == "array":
        items = schema.get("items")
        return f"{_render_type(cast('dict[str, Any]', items))}[]" if isinstance(items, dict) else "any[]"
    if kind == "object" or "properties" in schema:
        fields = list(_render_fields(schema))
        return "\n".join(["{", *fields, "}"]) if fields else "object"
    return _TYPES.get(str(kind), "any")


def _objects(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict):
        return {}
    return {
        str(name): cast("dict[str, Any]", field) if isinstance(field, dict) else {}
        for name, field in cast("dict[Any, Any]", value).items()
    }


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _strings(value: Any) -> set[str]:
    return {item for item in _list(value) if isinstance(item, str)}
