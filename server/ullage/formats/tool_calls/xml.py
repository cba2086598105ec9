"""Reads and writes tool calls as XML tags in the text: `<read_file><path>a.py</path></read_file>`.

The outer tag is the tool's name, the inner tags are its parameters.
"""

import re
from collections.abc import Sequence
from typing import Any

from ullage.formats.parsing import to_json
from ullage.formats.tool_calls.in_text import Found, Parameter
from ullage.model.blocks import ToolUseBlock
from ullage.model.json_values import as_object
from ullage.model.message import ToolDefinition

_TAG = re.compile(r"<([A-Za-z_][\w-]*)>")
_PARTIAL_TAG = re.compile(r"<(?:[A-Za-z_][\w-]*)?\Z")


class XmlTags:
    """The syntax in which a model writes tool calls into its text as XML tags. Values are not escaped; one newline at
    each end of a value is dropped."""

    def find_call(self, text: str, names: frozenset[str], **_: bool) -> Found | None:
        return next((Found(m.start(), m.end(), m[1]) for m in _TAG.finditer(text) if m[1] in names), None)

    def certain(self, text: str) -> int:
        partial = _PARTIAL_TAG.search(text)
        return partial.start() if partial else len(text)

    def next_parameter(self, body: str, call: str, /, **_: bool) -> Parameter | None:
        tag = re.compile(rf"<([A-Za-z_][\w-]*)>|</{re.escape(call)}>").search(body)
        if tag is None:
            return None
        if tag[1] is None:
            return Parameter(end=tag.end())
        closing = f"</{tag[1]}>"
        end = body.find(closing, tag.end())
        if end < 0:
            return None
        text = body[tag.end() : end].removeprefix("\n").removesuffix("\n")
        return Parameter(end=end + len(closing), name=tag[1], text=text)

    def write(self, use: ToolUseBlock) -> str:
        """Returns a tool call as a model would write it in this syntax."""
        inside = "".join(f"<{name}>{_write_value(value)}</{name}>" for name, value in use.input.items())
        return f"<{use.name}>{inside}</{use.name}>"

    def describe(self, tools: Sequence[ToolDefinition]) -> str:
        lines = ["Call a tool by writing its name as a tag, with a tag for each parameter inside:"]
        for tool in tools:
            names = as_object(tool.input_schema.get("properties"))
            inside = "".join(f"<{name}>…</{name}>" for name in names)
            lines.append(f"<{tool.name}>{inside}</{tool.name}>  {tool.description}")
        return "\n".join(lines)


def _write_value(value: Any) -> str:
    text = value if isinstance(value, str) else to_json(value)
    return f"\n{text}\n" if "\n" in text else text
