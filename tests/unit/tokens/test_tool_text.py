"""The tokens of tool definitions as models see them."""

from typing import Any

import pytest

from ullage.model.message import ToolDefinition
from ullage.tokens.counter import TiktokenCounter
from ullage.tokens.families import family_of
from ullage.tokens.message_counter import render_json, render_typescript

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string", "description": "Where."},
        "mode": {"enum": ["r", "w"]},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"deep": {"type": ["boolean", "null"]}}},
        "either": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    },
}
READ = ToolDefinition(name="read", description="Reads a file.", input_schema=SCHEMA)


def test_openai_models_see_a_typescript_namespace() -> None:
    assert render_typescript([READ, ToolDefinition(name="stop")]) == (
        "namespace functions {\n\n"
        "// Reads a file.\n"
        "type read = (_: {\n"
        "// Where.\npath: string,\n"
        'mode?: "r" | "w",\n'
        "lines?: number[],\n"
        "options?: {\ndeep?: boolean | null,\n},\n"
        "either?: string | number,\n"
        "}) => any;\n\n"
        "type stop = () => any;\n\n"
        "} // namespace functions"
    )


def test_no_tools_cost_nothing() -> None:
    assert TiktokenCounter(family_of("claude-sonnet-4-5")).count_tools([]) == 0


def test_openai_tools_cost_their_rendering_and_nine() -> None:
    counter = TiktokenCounter(family_of("gpt-4o"))
    assert counter.count_tools([READ]) == counter.count(render_typescript([READ])) + 9


def test_claude_tools_cost_their_json_and_the_hidden_tool_prompt() -> None:
    counter = TiktokenCounter(family_of("claude-sonnet-4-5"))
    assert counter.count_tools([READ]) == counter.count(render_json([READ])) + 346


@pytest.mark.parametrize(
    "schema", [{}, {"properties": []}, {"properties": {"a": 1}}, {"properties": {"a": {"type": 3}}}]
)
def test_a_schema_of_any_shape_is_counted(schema: dict[str, Any]) -> None:
    counter = TiktokenCounter(family_of("gpt-4o"))
    assert counter.count_tools([ToolDefinition(name="x", input_schema=schema)]) > 9
