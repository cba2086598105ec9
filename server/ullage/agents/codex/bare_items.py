"""Brings the older spellings of Codex's items into the shape of the Responses API.

Session files of early versions have the items alone on their lines. Some versions write calls as `tool_call` and
results as `tool_result` without ids; the result of a tool is then that of its oldest call without a result.
"""

from ullage.formats.parsing import to_json
from ullage.formats.transcripts.chat import read_arguments
from ullage.formats.transcripts.response_items import ITEM_TYPES
from ullage.model.json_values import JsonObject, as_object, as_text

_CALLS, _RESULTS = ("tool_call", "function_call"), ("tool_result", "function_result")


def bare_item(line: JsonObject) -> JsonObject | None:
    """Returns the line if it is itself an item of the Responses API, as in early session files. Returns None if the
    line wraps an item or has none."""
    kind = as_text(line.get("type"))
    bare = "payload" not in line and (
        kind in ITEM_TYPES or kind in (*_CALLS, *_RESULTS) or (not kind and line.get("role"))
    )
    return line if bare else None


class Calls:
    """Gives ids to tool calls and results that have none: a result gets that of its tool's oldest call without a
    result."""

    def __init__(self) -> None:
        self._number = 0
        self._open: dict[str, list[str]] = {}

    def complete(self, item: JsonObject) -> JsonObject:
        """Returns an item of an early session file in the shape of the Responses API, with the ids it lacks."""
        kind = as_text(item.get("type"))
        if kind in _CALLS and ("function" in item or kind == "tool_call"):
            return self._call(item)
        if kind in _RESULTS:
            return self._result(item)
        if "role" in item and "content" not in item:
            return {"type": "message", "role": item["role"], "content": item.get("message")}
        return item

    def _call(self, item: JsonObject) -> JsonObject:
        function = as_object(item.get("function"))
        name = as_text(function.get("name")) or as_text(item.get("name"))
        call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
        if not call_id:
            self._number += 1
            call_id = f"call{self._number}"
        self._open.setdefault(name, []).append(call_id)
        arguments = read_arguments(item.get("arguments", function.get("arguments")))
        return {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}

    def _result(self, item: JsonObject) -> JsonObject:
        waiting = self._open.get(as_text(item.get("name")), [])
        call_id = as_text(item.get("call_id")) or (waiting.pop(0) if waiting else "")
        result = item.get("result", item.get("output"))
        output = result if isinstance(result, str) else to_json(result)
        return {"type": "function_call_output", "call_id": call_id, "output": output}
