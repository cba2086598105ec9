"""Anthropic's Messages API: shapes as in its documents ("Streaming messages", "Errors", "Token counting")."""

from collections.abc import Iterator
from typing import Any

from support.provider_rules import anthropic_violations
from support.wire.account import Account
from support.wire.dialect import missing, pieces
from support.wire.http import Json
from support.wire.replies import Call, Part, Redacted, Refusal, Refuse, Reply, Say, Stop, Think

_BORN = "2026-01-01T00:00:00Z"
_STOPS = {Stop.MAX_TOKENS: "max_tokens", Stop.REFUSAL: "refusal"}


class AnthropicWire:
    """The server's side of the format."""

    name = "anthropic"
    base = ""
    path = "/v1/messages"
    count_path = "/v1/messages/count_tokens"
    tokens_share = 1.15
    text_mark = b'"text_delta"'

    def violations(self, body: Json) -> list[str]:
        return missing(body, "model", "max_tokens", "messages") + anthropic_violations(body["messages"])

    def items(self, body: Json) -> list[Any]:
        return [*body.get("tools", []), body.get("system", ""), *body["messages"]]

    def max_tokens(self, body: Json) -> int:
        return body["max_tokens"]

    def events(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        usage: Json = {
            "input_tokens": 1,
            "cache_creation_input_tokens": account.prompt - account.cached - 1,
            "cache_read_input_tokens": account.cached,
            "output_tokens": 1,
        }
        message: Json = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        yield _event("message_start", message=message)
        yield _event("ping")
        for index, part in enumerate(reply.parts):
            yield from _block(index, part)
        calls = any(isinstance(part, Call) for part in reply.parts)
        refused = any(isinstance(part, Refuse) for part in reply.parts)
        natural = "refusal" if refused else "tool_use" if calls else "end_turn"
        details = {"output_tokens_details": {"thinking_tokens": account.reasoning}} if account.reasoning else {}
        yield _event(
            "message_delta",
            delta={"stop_reason": _STOPS.get(reply.stop, natural), "stop_sequence": None},
            usage={"output_tokens": account.output, **details},
        )
        yield _event("message_stop")

    def error(self, refusal: Refusal) -> Json:
        error = {"type": refusal.anthropic, "message": refusal.message}
        return {"type": "error", "error": error, "request_id": "req_1"}

    def error_event(self, refusal: Refusal) -> tuple[str, Json]:
        return "error", self.error(refusal)

    def counted(self, tokens: int) -> Json:
        return {"input_tokens": tokens}

    def too_long(self, tokens: int, window: int) -> Refusal:
        text = f"prompt is too long: {tokens} tokens > {window} maximum"
        if tokens <= window:
            text = f"input length and `max_tokens` exceed context limit: {tokens} + … > {window}"
        return Refusal(status=400, anthropic="invalid_request_error", openai="", message=text)

    def models(self, path: str, model: str) -> Json:
        found = {"type": "model", "id": model, "display_name": model, "created_at": _BORN, "lifecycle": "active"}
        return {"data": [found], "has_more": False} if path.endswith("/models") else found


def _block(index: int, part: Part) -> Iterator[tuple[str, Json]]:
    start, deltas = _start_and_deltas(part)
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _start_and_deltas(part: Part) -> tuple[Json, list[Json]]:
    match part:
        case Say(text=text) | Refuse(text=text):
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(text)]
        case Think(text=text, signature=signature):
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text)]
            signed = {"type": "signature_delta", "signature": signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        case Redacted(data=data):
            return {"type": "redacted_thinking", "data": data}, []
        case Call():
            start: Json = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
            written = ["", *pieces(part.arguments)]
            return start, [{"type": "input_json_delta", "partial_json": piece} for piece in written]


def _event(name: str, /, **data: Any) -> tuple[str, Json]:
    return name, {"type": name, **data}
