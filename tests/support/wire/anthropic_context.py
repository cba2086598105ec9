"""Anthropic's Messages API with context editing and compaction, both in beta: shapes as in its documents.

The server handles one conversation at a time. The end of an answer lists what its request cleared.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from support.wire.account import Account, count_items
from support.wire.anthropic_wire import AnthropicWire
from support.wire.http import Json
from support.wire.replies import Reply, Say

CLEARED = "[Old tool result content cleared]"
# The usage of the compaction itself, which the usage of the answer leaves out.
COMPACTION_USAGE = {
    "input_tokens": 7_000,
    "output_tokens": 300,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 50_000,
}
_LEAST_TRIGGER = 50_000


class ManagedAnthropicWire(AnthropicWire):
    """The server's side. Without `compacts` it refuses to compact. If the reply has no text, the compaction has no
    content."""

    def __init__(self, *, compacts: bool = True) -> None:
        self.compacts = compacts
        self.cleared: list[int] = []
        self._edit: Json = {}

    def violations(self, body: Json) -> list[str]:
        edits = body.get("context_management", {}).get("edits", [])
        wrong = [text for edit in edits for text in self._wrong_with(edit)]
        return [*super().violations(body), *wrong]

    def _wrong_with(self, edit: Json) -> Iterator[str]:
        if edit["type"] == "compact_20260112":
            if not self.compacts:
                yield "context_management: compact_20260112 is not supported by this model"
            if edit["trigger"]["value"] < _LEAST_TRIGGER:
                yield "context_management: the trigger is below 50000"
        elif edit["type"] != "clear_tool_uses_20250919":
            yield f"context_management: unknown edit {edit['type']}"

    def items(self, body: Json) -> list[Any]:
        """Returns the items that the model reads: the request after the edits."""
        (self._edit,) = body.get("context_management", {}).get("edits") or [{}]
        self.cleared = []
        if self._edit.get("type") != "clear_tool_uses_20250919":
            return super().items(body)
        return super().items(self._without_old(body))

    def _without_old(self, body: Json) -> Json:
        edit = self._edit
        before = count_items(super().items(body))
        if before * self.tokens_share <= edit["trigger"]["value"]:
            return body
        names = {
            block["id"]: block["name"]
            for message in body["messages"]
            for block in message["content"]
            if block["type"] == "tool_use"
        }
        ids = list(names)[: max(0, len(names) - edit["keep"]["value"])]
        ids = [call for call in ids if names[call] not in edit["exclude_tools"]]
        messages = [
            {**message, "content": [_emptied(b, ids) for b in message["content"]]} for message in body["messages"]
        ]
        after = count_items(super().items({**body, "messages": messages}))
        if before - after < edit.get("clear_at_least", {}).get("value", 0):
            return body
        self.cleared = [len(ids), before - after]
        return {**body, "messages": messages}

    def events(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        if self._edit.get("type") == "compact_20260112":
            yield from self._compaction(model, reply, account)
            return
        for name, data in super().events(model, reply, account):
            yield name, {**data, "context_management": self._applied()} if name == "message_delta" else data

    def _applied(self) -> Json:
        if not self.cleared:
            return {"applied_edits": []}
        uses, tokens = self.cleared
        edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": uses, "cleared_input_tokens": tokens}
        return {"applied_edits": [edit]}

    def _compaction(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        """Yields the events of a message with one block, whose text comes in one piece."""
        text = "".join(part.text for part in reply.parts if isinstance(part, Say)) or None
        for name, data in super().events(model, replace(reply, parts=()), account):
            if name == "message_delta":
                block = {"type": "compaction", "content": None}
                delta = {"type": "compaction_delta", "content": text}
                yield _event("content_block_start", index=0, content_block=block)
                yield _event("content_block_delta", index=0, delta=delta)
                yield _event("content_block_stop", index=0)
                data["delta"]["stop_reason"] = "compaction"
                data["usage"]["iterations"] = [{"type": "compaction", **COMPACTION_USAGE}]
            yield name, data


def _emptied(block: Json, ids: list[str]) -> Json:
    if block["type"] != "tool_result" or block["tool_use_id"] not in ids:
        return block
    return {**block, "content": [{"type": "text", "text": CLEARED}]}


def _event(name: str, /, **data: Any) -> tuple[str, Json]:
    return name, {"type": name, **data}
