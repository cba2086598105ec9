"""Reads native tool calls: the provider marks where a call begins and ends, and sends its input as JSON in pieces."""

from typing import Any

import msgspec

from ullage.model.answer import Fragment, ToolInputDelta, ToolUseEnd, ToolUseStart
from ullage.model.json_values import as_object, flatten_depths


class NativeCalls:
    """Collects the inputs of tool calls that arrive in pieces of JSON. `key` is the provider's number for the call."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[ToolUseStart, list[str]]] = {}

    def start(self, key: str, call_id: str, name: str) -> list[Fragment]:
        """Begins a call. Returns a list of its first fragment."""
        start = ToolUseStart(id=call_id, name=name)
        self._open[key] = (start, [])
        return [start]

    def add(self, key: str, text: str) -> list[Fragment]:
        """Adds a piece of a call's input. Returns a list of its fragment; empty if no such call has begun."""
        if key not in self._open or not text:
            return []
        start, pieces = self._open[key]
        pieces.append(text)
        return [ToolInputDelta(id=start.id, text=text)]

    def end(self, key: str) -> list[Fragment]:
        """Ends a call. Returns a list of its last fragment, with the whole input or with an error if the input is not a
        JSON object. The list is empty if no such call has begun."""
        if key not in self._open:
            return []
        start, pieces = self._open.pop(key)
        return [_whole(start, "".join(pieces))]

    def end_all(self) -> list[Fragment]:
        """Ends every call that has not ended, for servers that don't mark the end of calls. Returns their last
        fragments."""
        return [fragment for key in tuple(self._open) for fragment in self.end(key)]


def _whole(start: ToolUseStart, text: str) -> ToolUseEnd:
    try:
        value: Any = msgspec.json.decode(text) if text.strip() else {}
        flatten_depths(value)
    except (msgspec.DecodeError, RecursionError) as error:
        return ToolUseEnd(id=start.id, name=start.name, input={}, error=f"it is not JSON ({error})")
    if not isinstance(value, dict):
        return ToolUseEnd(id=start.id, name=start.name, input={}, error="it is not a JSON object")
    return ToolUseEnd(id=start.id, name=start.name, input=as_object(value))
