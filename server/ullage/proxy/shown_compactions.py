"""Has every agent report its compactions, and shows them to a client that takes no updates of compactions.

An agent reports a compaction, with its summary, only to a client that has the capability `session.compaction`. The
proxy declares it for every client. If the client lacks it, it gets a tool call for each compaction instead.
"""

from collections.abc import Mapping
from typing import Any

from ullage.model.json_values import JsonObject, as_object, as_objects, as_text

_TITLE = "Compact the context"
# A tool call has no status for a cancelled compaction.
_STATUSES = {"in_progress": "in_progress", "completed": "completed"}


def with_compactions(greeting: JsonObject) -> JsonObject:
    """Returns the params of the client's `initialize` with the capability to take updates of compactions."""
    capabilities = as_object(greeting.get("clientCapabilities"))
    session: JsonObject = {**as_object(capabilities.get("session")), "compaction": {}}
    return {**greeting, "clientCapabilities": {**capabilities, "session": session}}


class ShownCompactions:
    """The compactions of one session that its client is shown as tool calls, with their summaries so far by id."""

    def __init__(self) -> None:
        self._summaries: dict[str, str] = {}

    def tool_call(self, update: Mapping[str, Any]) -> JsonObject | None:
        """Returns the update of a tool call that shows what `update` says of a compaction. Returns None if there is
        nothing to show yet, because `update` is a piece of the summary. The summary is shown once it is complete."""
        known_id = as_text(update.get("compactionId"))
        is_new = known_id not in self._summaries
        summary = self._summaries.get(known_id, "")
        if update.get("sessionUpdate") == "compaction_summary_chunk":
            self._summaries[known_id] = summary + as_text(as_object(update.get("content")).get("text"))
            return _begun(known_id, "in_progress") if is_new else None
        if "summary" in update:
            summary = "".join(as_text(part.get("text")) for part in as_objects(update.get("summary")))
        self._summaries[known_id] = summary
        status = _STATUSES.get(as_text(update.get("status")), "failed")
        call = _begun(known_id, status) if is_new else _changed(known_id, status)
        text = as_text(update.get("error")) or summary
        if text and status != "in_progress":
            call["content"] = [{"type": "content", "content": {"type": "text", "text": text}}]
        return call


def is_of_compaction(update: Mapping[str, Any]) -> bool:
    """Returns whether a session update is one that only a client gets that takes updates of compactions."""
    return update.get("sessionUpdate") in ("compaction_update", "compaction_summary_chunk")


def _begun(compaction_id: str, status: str) -> JsonObject:
    return {**_changed(compaction_id, status), "sessionUpdate": "tool_call", "title": _TITLE, "kind": "think"}


def _changed(compaction_id: str, status: str) -> JsonObject:
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": compaction_id,
        "status": status,
        "_meta": {"ullage": {}},
    }
