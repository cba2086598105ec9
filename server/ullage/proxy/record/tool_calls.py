"""Converts an agent's tool calls, which ACP sends as a series of updates, into blocks of messages."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ullage.agents.acp import tool_name
from ullage.agents.tools import (
    ACP_KINDS,
    COMMAND_KEYS,
    FILE_ACTIONS,
    Action,
    action_of,
    canonical_name,
    paths_of,
    value_of,
)
from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.json_values import as_list, as_object, as_objects, as_text, is_too_deep
from ullage.proxy.record.terminals import Terminals

_ENDED = {"completed": False, "failed": True}


class CallState(Struct, frozen=True, kw_only=True):
    """A tool call as far as its updates have reported it. `fields` has the fields of its updates; later ones replace
    earlier ones."""

    id: str
    fields: Mapping[str, Any]

    def with_update(self, update: Mapping[str, Any]) -> "CallState":
        """Returns the tool call after one more update. Fields that are missing or null in the update keep their
        values."""
        return CallState(
            id=self.id, fields={**self.fields, **{key: value for key, value in update.items() if value is not None}}
        )

    @property
    def ended(self) -> bool:
        """Whether the tool call is completed or failed, so that its result is complete."""
        return self.fields.get("status") in _ENDED

    def use(self) -> ToolUseBlock:
        """Returns the tool call as a tool use block."""
        return ToolUseBlock(id=self.id, name=self._name(), input=self._input())

    def result(self, terminals: Terminals) -> ToolResultBlock:
        """Returns the tool call's result as a tool result block. `terminals` has the output of commands that the call
        only refers to.

        A tool call that has not ended gets an error result with the output so far.
        """
        text = self._output(terminals)
        if not text and not self.ended:
            text = "(no result: the turn ended first)"
        failed = _ENDED.get(as_text(self.fields.get("status")), True)
        return ToolResultBlock(tool_use_id=self.id, content=(TextBlock(text=text),) if text else (), is_error=failed)

    def _name(self) -> str:
        """Returns the tool's own name, or a standard name for the kind of call.

        The standard name is used if the agent gives no name, and for a file action under a name that Ullage doesn't
        know. Without a name and a known kind, the call's title is returned, or `tool`.
        """
        own, action = tool_name(self.fields), self._action()
        if own and (action not in FILE_ACTIONS or action_of(own, self._given()) is not None):
            return own
        return canonical_name(action) if action else own or as_text(self.fields.get("title")) or "tool"

    def _action(self) -> Action | None:
        return ACP_KINDS.get(as_text(self.fields.get("kind")))

    def _given(self) -> dict[str, Any]:
        given = dict(as_object(self.fields.get("rawInput")))
        return {"rawInput": "[nested too deeply]"} if is_too_deep(given) else given

    def _input(self) -> dict[str, Any]:
        given = self._given()
        paths = [as_text(place.get("path")) for place in as_objects(self.fields.get("locations"))]
        paths += [as_text(diff.get("path")) for diff in self._diffs()]
        if not paths_of(given) and any(paths):
            given["path"] = next(path for path in paths if path)
        if self._action() is Action.RUN and not value_of(given, COMMAND_KEYS):
            given["command"] = as_text(self.fields.get("title")).strip("`")
        return given or {"title": as_text(self.fields.get("title"))}

    def _diffs(self) -> list[dict[str, Any]]:
        return [part for part in as_objects(self.fields.get("content")) if part.get("type") == "diff"]

    def _output(self, terminals: Terminals) -> str:
        content = as_objects(self.fields.get("content"))
        shown = [as_text(as_object(part.get("content")).get("text")) for part in content]
        named = [as_text(part.get("terminalId")) for part in content if part.get("type") == "terminal"]
        # Some agents give the terminal the id of the call, and don't show it.
        shown += [terminals.text(terminal) for terminal in dict.fromkeys((*named, self.id))]
        shown += [f"{as_text(diff.get('path'))}:\n{as_text(diff.get('newText'))}" for diff in self._diffs()]
        if text := "\n".join(part for part in shown if part):
            return text
        raw = self.fields.get("rawOutput")
        return as_text(raw) or (msgspec.json.encode(raw).decode() if raw or as_list(raw) else "")
