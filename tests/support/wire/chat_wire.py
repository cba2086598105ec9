"""OpenAI's Chat Completions API: shapes as in its reference ("Chat completion chunk", "Error codes")."""

from collections.abc import Iterator
from typing import Any

from support.provider_rules import openai_violations
from support.wire.account import Account
from support.wire.dialect import missing, pieces
from support.wire.http import Json
from support.wire.replies import Call, Redacted, Refusal, Refuse, Reply, Say, Stop, Think

_STOPS = {Stop.MAX_TOKENS: "length", Stop.REFUSAL: "content_filter"}


class ChatWire:
    """The server's side of the format, with `reasoning_content` as DeepSeek and vLLM send it."""

    name = "openai_chat"
    base = "/v1"
    path = "/v1/chat/completions"
    count_path = ""
    tokens_share = 1.0
    text_mark = b'"delta": {"content"'

    def violations(self, body: Json) -> list[str]:
        limits = [] if body.get("max_tokens") or body.get("max_completion_tokens") else ["no limit of the answer"]
        return missing(body, "model", "messages") + limits + openai_violations(body["messages"])

    def items(self, body: Json) -> list[Any]:
        return [*body.get("tools", []), *body["messages"]]

    def max_tokens(self, body: Json) -> int:
        return body.get("max_tokens") or body["max_completion_tokens"]

    def events(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        yield _chunk(model, delta={"role": "assistant", "content": ""})
        calls = 0
        for part in reply.parts:
            match part:
                case Say(text=text):
                    yield from (_chunk(model, delta={"content": piece}) for piece in pieces(text))
                case Think(text=text):
                    yield from (_chunk(model, delta={"reasoning_content": piece}) for piece in pieces(text))
                case Refuse(text=text):
                    yield from (_chunk(model, delta={"refusal": piece}) for piece in pieces(text))
                case Call():
                    yield from (_chunk(model, delta={"tool_calls": [delta]}) for delta in _call(calls, part))
                    calls += 1
                case Redacted():
                    pass
        natural = "tool_calls" if calls else "stop"
        yield _chunk(model, delta={}, finish_reason=_STOPS.get(reply.stop, natural))
        name, last = _chunk(model, delta={})
        yield name, {**last, "choices": [], "usage": _usage(account)}

    def error(self, refusal: Refusal) -> Json:
        return openai_error(refusal)

    def error_event(self, refusal: Refusal) -> tuple[str, Json]:
        return "", openai_error(refusal)

    def counted(self, tokens: int) -> Json:
        raise NotImplementedError

    def too_long(self, tokens: int, window: int) -> Refusal:
        return openai_too_long(
            f"This model's maximum context length is {window} tokens. However, your messages resulted in "
            f"{tokens} tokens. Please reduce the length of the messages."
        )

    def models(self, path: str, model: str) -> Json:
        return openai_models(path, model)


def openai_error(refusal: Refusal) -> Json:
    """Returns the body of OpenAI's error answers."""
    error = {"message": refusal.message, "type": refusal.openai, "param": None, "code": refusal.code}
    return {"error": error}


def openai_too_long(text: str) -> Refusal:
    """Returns the refusal of a prompt that does not fit."""
    return Refusal(
        status=400, anthropic="", openai="invalid_request_error", code="context_length_exceeded", message=text
    )


def openai_models(path: str, model: str) -> Json:
    """Returns one model, or the list of all: `test-model` alone."""
    is_list = path.endswith("/models")
    name = "test-model" if is_list else model
    found = {"id": name, "object": "model", "created": 1_767_225_600, "owned_by": "test"}
    return {"object": "list", "data": [found]} if is_list else found


def _call(index: int, call: Call) -> Iterator[Json]:
    function = {"name": call.name, "arguments": ""}
    yield {"index": index, "id": call.id, "type": "function", "function": function}
    for piece in pieces(call.arguments):
        yield {"index": index, "function": {"arguments": piece}}


def _chunk(model: str, *, delta: Json, finish_reason: str | None = None) -> tuple[str, Json]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return "", {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_767_225_600,
        "model": model,
        "choices": [choice],
        "usage": None,
    }


def _usage(account: Account) -> Json:
    return {
        "prompt_tokens": account.prompt,
        "completion_tokens": account.output,
        "total_tokens": account.prompt + account.output,
        "prompt_tokens_details": {"cached_tokens": account.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": account.reasoning},
    }
