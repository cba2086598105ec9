"""Lines of a session log in the shape of the agent that writes a tree of lines, made up for tests."""

from typing import Any

JsonObject = dict[str, Any]


def line(kind: str, uuid: str, parent: str | None, content: Any, **more: Any) -> JsonObject:
    """Returns a line with one of the user's messages, or with a part of an answer."""
    message: JsonObject = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("id", f"msg_{uuid}"), "model": more.pop("model", "claude-opus-4-5")}
        message |= {"usage": more.pop("usage", {"input_tokens": 1, "output_tokens": 1})}
        message |= {"stop_reason": more.pop("stop_reason", None)}
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s",
        "timestamp": more.pop("timestamp", "2026-01-02T03:04:05.678Z"),
        "message": message,
    } | more


def aside(kind: str, uuid: str, parent: str | None, **more: Any) -> JsonObject:
    """Returns a line of the tree that is no message."""
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False} | more


def attachment(uuid: str, parent: str | None, kind: str = "hook_additional_context", **more: Any) -> JsonObject:
    """Returns a line with something that is attached for the model."""
    return aside("attachment", uuid, parent, attachment={"type": kind} | more)


def boundary(uuid: str, after: str, **metadata: Any) -> JsonObject:
    """Returns the line with which a compaction begins. `after` is the last line before it."""
    return aside(
        "system", uuid, None, subtype="compact_boundary", logicalParentUuid=after, compactMetadata=metadata or None
    )


def summary(uuid: str, parent: str | None, text: str, **more: Any) -> JsonObject:
    """Returns the line with the summary of a compaction."""
    return line("user", uuid, parent, text, isCompactSummary=True, **more)


def call(name: str) -> JsonObject:
    """Returns a tool call."""
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": name}}


def result(name: str, text: str = "") -> JsonObject:
    """Returns the result of a tool call."""
    return {"type": "tool_result", "tool_use_id": name, "content": text or f"result of {name}"}


def say(text: str) -> JsonObject:
    """Returns a text block."""
    return {"type": "text", "text": text}
