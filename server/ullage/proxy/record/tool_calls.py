"""An agent's tool calls, as ACP tells them piece by piece, in the blocks that a transcript is made of."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.json_values import as_list, as_object, as_objects, as_text

# ACP's kinds as names that a ledger of files and commands understands; other calls keep their own name or their title.
_NAMES = {
    "read": "read_file",
    "edit": "edit_file",
    "delete": "delete_file",
    "execute": "bash",
    "search": "search",
    "fetch": "fetch",
    "think": "think",
}
_PATH_KEYS = ("file_path", "path", "filePath", "absolute_path")
_ENDED = {"completed": False, "failed": True}


class CallState(Struct, frozen=True, kw_only=True):
    """A call as it is known so far: the fields of its updates, later ones over earlier ones."""

    id: str
    told: Mapping[str, Any]

    def with_update(self, update: Mapping[str, Any]) -> "CallState":
        """With what one more update says; what it leaves out or has as null stays."""
        return CallState(
            id=self.id, told={**self.told, **{key: value for key, value in update.items() if value is not None}}
        )

    @property
    def ended(self) -> bool:
        """Whether its result is there."""
        return self.told.get("status") in _ENDED

    def use(self) -> ToolUseBlock:
        """The call."""
        return ToolUseBlock(id=self.id, name=self._name(), input=self._input())

    def result(self) -> ToolResultBlock:
        """What it returned; of a call that was given up, that."""
        text = self._output() if self.ended else self._output() or "(no result: the turn ended first)"
        failed = _ENDED.get(as_text(self.told.get("status")), True)
        return ToolResultBlock(tool_use_id=self.id, content=(TextBlock(text=text),) if text else (), is_error=failed)

    def _name(self) -> str:
        own = as_text(self.told.get("name")) or as_text(
            as_object(as_object(self.told.get("_meta")).get("claudeCode")).get("toolName")
        )
        return own or _NAMES.get(as_text(self.told.get("kind")), "") or as_text(self.told.get("title")) or "tool"

    def _input(self) -> dict[str, Any]:
        given = dict(as_object(self.told.get("rawInput")))
        paths = [as_text(place.get("path")) for place in as_objects(self.told.get("locations"))]
        paths += [as_text(diff.get("path")) for diff in self._diffs()]
        if not any(key in given for key in _PATH_KEYS) and any(paths):
            given["path"] = next(path for path in paths if path)
        if self.told.get("kind") == "execute" and not given.get("command"):
            given["command"] = as_text(self.told.get("title")).strip("`")
        return given or {"title": as_text(self.told.get("title"))}

    def _diffs(self) -> list[dict[str, Any]]:
        return [part for part in as_objects(self.told.get("content")) if part.get("type") == "diff"]

    def _output(self) -> str:
        shown = [as_text(as_object(part.get("content")).get("text")) for part in as_objects(self.told.get("content"))]
        shown += [f"{as_text(diff.get('path'))}:\n{as_text(diff.get('newText'))}" for diff in self._diffs()]
        if text := "\n".join(part for part in shown if part):
            return text
        raw = self.told.get("rawOutput")
        return as_text(raw) or (msgspec.json.encode(raw).decode() if raw or as_list(raw) else "")
