"""Writes session files and terminal logs in Codex's shape, with made-up content."""

from typing import Any


def line(kind: str, **payload: Any) -> dict[str, Any]:
    """Returns a line of a session file."""
    return {"timestamp": "2025-10-01T00:00:00.000Z", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    """Returns a line with an item of the conversation."""
    return line("response_item", type=kind, **fields)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    """Returns a line with an event."""
    return line("event_msg", type=kind, **fields)


def session(**facts: Any) -> dict[str, Any]:
    """Returns the first line of a file."""
    return line("session_meta", **({"id": "thread", "cwd": "/home/dev/shop", "cli_version": "0.99.0"} | facts))


def said(role: str, text: str, **fields: Any) -> dict[str, Any]:
    """Returns a line with a message."""
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}], **fields)


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    """Returns a line with a call of the shell."""
    return item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id=call_id, **fields)


def output(call_id: str, text: str = "out") -> dict[str, Any]:
    """Returns a line with the result of a call."""
    return item("function_call_output", call_id=call_id, output=text)


def usage(prompt: int, output_tokens: int = 7) -> dict[str, int]:
    """Returns a usage with half of the prompt cached."""
    return {
        "input_tokens": prompt,
        "cached_input_tokens": prompt // 2,
        "output_tokens": output_tokens,
        "total_tokens": prompt + output_tokens,
    }


def counted(prompt: int, sum_of_all: int | None = None, window: int = 258_400) -> dict[str, Any]:
    """Returns a `token_count`. `sum_of_all` is the thread's total, by default a number that differs for each prompt."""
    total = {"total_tokens": prompt if sum_of_all is None else sum_of_all}
    info = {"last_token_usage": usage(prompt), "total_token_usage": total, "model_context_window": window}
    return event("token_count", info=info)


def compacted(message: str, *history: dict[str, Any]) -> dict[str, Any]:
    """Returns a compaction. `history` are lines whose items are the new context."""
    return line("compacted", message=message, replacement_history=[one["payload"] for one in history])


def logged(kind: str, **fields: Any) -> dict[str, Any]:
    """Returns a line of a terminal log with an event."""
    payload = {"id": "1", "msg": {"type": kind} | fields}
    return {"ts": "2025-08-09T15:51:04.827Z", "dir": "to_tui", "kind": "codex_event", "payload": payload}
