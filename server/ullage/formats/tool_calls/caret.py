"""Reads tool calls written in the text between caret fences.

For example::

    ^^^write_note
    path: notes/today.md
    content ---
    First line.
    --- content
    ^^^

A fence, a parameter's line and the end of a block each have a line of their own.
"""

import re
from collections.abc import Sequence
from typing import Any

from ullage.formats.parsing import to_json
from ullage.formats.tool_calls.in_text import Found, Parameter
from ullage.model.blocks import ToolUseBlock
from ullage.model.json_values import as_object
from ullage.model.message import ToolDefinition

_FENCE = re.compile(r"(?<=\n)\^\^\^([A-Za-z_][\w-]*)[ \t]*\r?\n")
_LAST_FENCE = re.compile(r"(?<=\n)\^\^\^([A-Za-z_][\w-]*)[ \t]*\r?\Z")
_PARTIAL_FENCE = re.compile(r"(?<=\n)(?:\^{1,2}|\^\^\^(?:[A-Za-z_][\w-]*)?[ \t]*\r?)\Z")
_CLOSING = re.compile(r"\^\^\^[ \t]*\r?")
_BLOCK = re.compile(r"([A-Za-z_][\w-]*)[ \t]+---[ \t]*\r?")
_VALUE = re.compile(r"([A-Za-z_][\w-]*):[ \t]?(.*)")


class CaretFences:
    """The syntax in which a model writes tool calls into its text between fences of three carets."""

    def find_call(self, text: str, names: frozenset[str], *, final: bool) -> Found | None:
        for match in _FENCE.finditer(text):
            if match[1] in names:
                return Found(match.start(), match.end(), match[1])
        last = _LAST_FENCE.search(text) if final else None
        return Found(last.start(), last.end(), last[1]) if last and last[1] in names else None

    def certain(self, text: str) -> int:
        partial = _PARTIAL_FENCE.search(text)
        return partial.start() if partial else len(text)

    def next_parameter(self, body: str, _call: str, /, *, final: bool) -> Parameter | None:
        at = 0
        while (end := _line_end(body, at, final=final)) is not None:
            line = body[at:end].removesuffix("\n")
            if _CLOSING.fullmatch(line):
                return Parameter(end=end)
            if block := _BLOCK.fullmatch(line):
                return _read_block(body, end, block[1], final=final)
            if value := _VALUE.fullmatch(line.removesuffix("\r")):
                return Parameter(end=end, name=value[1], text=value[2])
            at = end
        return None

    def write(self, use: ToolUseBlock) -> str:
        """Returns a tool call as a model would write it in this syntax."""
        lines = (_write_parameter(name, value) for name, value in use.input.items())
        return "\n".join([f"^^^{use.name}", *lines, "^^^"])

    def describe(self, tools: Sequence[ToolDefinition]) -> str:
        lines = ["Call a tool with a fence; a value of several lines goes between `name ---` and `--- name`:"]
        for tool in tools:
            names = as_object(tool.input_schema.get("properties"))
            lines += ["", tool.description, f"^^^{tool.name}", *(f"{name}: …" for name in names), "^^^"]
        return "\n".join(lines)


def _write_parameter(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else to_json(value)
    plain = text == text.strip() and len(text.splitlines()) == 1
    return f"{name}: {text}" if plain else f"{name} ---\n{text}\n--- {name}"


def _line_end(body: str, at: int, *, final: bool) -> int | None:
    """Returns the index after the line that begins at `at`, its newline included.

    `final` says that no more text will come, so the last line needs no newline. Returns None if the line may still
    grow, or if no text is left at `at`.
    """
    newline = body.find("\n", at)
    if newline >= 0:
        return newline + 1
    return len(body) if final and at < len(body) else None


def _read_block(body: str, start: int, name: str, *, final: bool) -> Parameter | None:
    """Returns the parameter `name`, whose text begins at `start` and ends before the line `--- name`, or None if that
    line hasn't come yet. `final` says that no more text will come."""
    last = r"(?:\n|\Z)" if final else r"\n"
    closing = re.compile(rf"(?<=\n)---[ \t]+{re.escape(name)}[ \t]*\r?{last}").search(body, start)
    if closing is None:
        return None
    text = body[start : closing.start()].removesuffix("\n").removesuffix("\r")
    return Parameter(end=closing.end(), name=name, text=text)
