"""OpenAI's Responses API: shapes as in its reference ("Streaming events", "Get input token counts")."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from support.provider_rules import responses_violations
from support.wire.account import Account
from support.wire.chat_wire import openai_error, openai_models, openai_too_long
from support.wire.dialect import missing, pieces
from support.wire.http import Json
from support.wire.replies import Call, Part, Redacted, Refusal, Refuse, Reply, Say, Stop, Think

_REASONS = {Stop.MAX_TOKENS: "max_output_tokens", Stop.REFUSAL: "content_filter"}


class ResponsesWire:
    """The server's side of the format."""

    name = "openai"
    base = "/v1"
    path = "/v1/responses"
    count_path = "/v1/responses/input_tokens"
    tokens_share = 1.0
    text_mark = b"event: response.output_text.delta"

    def violations(self, body: Json) -> list[str]:
        kept = [] if body.get("store") is False else ["the provider is asked to keep the answer"]
        short = [] if body.get("max_output_tokens", 0) >= 16 else ["max_output_tokens is below 16"]
        return missing(body, "model", "input") + kept + short + responses_violations(body["input"])

    def items(self, body: Json) -> list[Any]:
        return [*body.get("tools", []), body.get("instructions", ""), *body["input"]]

    def max_tokens(self, body: Json) -> int:
        return body["max_output_tokens"]

    def events(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        for number, (name, data) in enumerate(self._unnumbered(model, reply, account)):
            yield name, {**data, "sequence_number": number}

    def _unnumbered(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        yield _event("response.created", response=_response(model, "in_progress"))
        yield _event("response.in_progress", response=_response(model, "in_progress"))
        numbers = count()
        items: list[Json] = []
        for part in reply.parts:
            item, deltas = _item(next(numbers), part)
            if item:
                yield from deltas
                items.append(item)
        usage = usage_of(account)
        if reply.stop in _REASONS:
            details = {"reason": _REASONS[reply.stop]}
            ended = _response(model, "incomplete", output=items, usage=usage, incomplete_details=details)
            yield _event("response.incomplete", response=ended)
        else:
            yield _event("response.completed", response=_response(model, "completed", output=items, usage=usage))

    def error(self, refusal: Refusal) -> Json:
        return openai_error(refusal)

    def error_event(self, refusal: Refusal) -> tuple[str, Json]:
        error = {"code": "server_error", "message": refusal.message}
        failed = _response("", "failed", error=error)
        return _event("response.failed", response=failed, sequence_number=99)

    def counted(self, tokens: int) -> Json:
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def too_long(self, tokens: int, window: int) -> Refusal:
        return openai_too_long(
            "Your input exceeds the context window of this model. Please adjust your input and try again."
        )

    def models(self, path: str, model: str) -> Json:
        return openai_models(path, model)


def _item(index: int, part: Part) -> tuple[Json, Iterator[tuple[str, Json]]]:
    """Returns a finished item of the output, and the events that write it; an empty item if this API has no such
    part."""
    match part:
        case Say(text=text):
            return _message(index, text, "output_text", "text", f"msg_{index}")
        case Refuse(text=text):
            return _message(index, text, "refusal", "refusal", f"msg_{index}")
        case Think(text=text):
            return _reasoning(index, text)
        case Call():
            return _function_call(index, part)
        case Redacted():
            return {}, iter(())


def _message(index: int, text: str, kind: str, key: str, item_id: str) -> tuple[Json, Iterator[tuple[str, Json]]]:
    def part(said: str) -> Json:
        more: Json = {"annotations": [], "logprobs": []} if kind == "output_text" else {}
        return {"type": kind, key: said, **more}

    def item(status: str, content: list[Json]) -> Json:
        return {"type": "message", "id": item_id, "status": status, "role": "assistant", "content": content}

    def events() -> Iterator[tuple[str, Json]]:
        place = {"item_id": item_id, "output_index": index, "content_index": 0}
        more: Json = {"logprobs": []} if kind == "output_text" else {}
        yield _event("response.output_item.added", output_index=index, item=item("in_progress", []))
        yield _event("response.content_part.added", **place, part=part(""))
        for piece in pieces(text):
            yield _event(f"response.{kind}.delta", **place, delta=piece, **more)
        yield _event(f"response.{kind}.done", **place, **{key: text}, **more)
        yield _event("response.content_part.done", **place, part=part(text))
        yield _event("response.output_item.done", output_index=index, item=item("completed", [part(text)]))

    return item("completed", [part(text)]), events()


def _reasoning(index: int, text: str) -> tuple[Json, Iterator[tuple[str, Json]]]:
    item_id = f"rs_{index}"
    summary = {"type": "summary_text", "text": text}
    done: Json = {"type": "reasoning", "id": item_id, "summary": [summary], "encrypted_content": "ZW5jcnlwdGVk"}

    def events() -> Iterator[tuple[str, Json]]:
        place = {"item_id": item_id, "output_index": index, "summary_index": 0}
        yield _event("response.output_item.added", output_index=index, item={**done, "summary": []})
        empty = {"type": "summary_text", "text": ""}
        yield _event("response.reasoning_summary_part.added", **place, part=empty)
        for piece in pieces(text):
            yield _event("response.reasoning_summary_text.delta", **place, delta=piece)
        yield _event("response.reasoning_summary_text.done", **place, text=text)
        yield _event("response.reasoning_summary_part.done", **place, part=summary)
        yield _event("response.output_item.done", output_index=index, item=done)

    return done, events()


def _function_call(index: int, call: Call) -> tuple[Json, Iterator[tuple[str, Json]]]:
    item_id = f"fc_{index}"
    group = {"namespace": call.namespace} if call.namespace else {}
    item: Json = {"type": "function_call", "id": item_id, "call_id": call.id, "name": call.name, **group}
    done = {**item, "status": "completed", "arguments": call.arguments}

    def events() -> Iterator[tuple[str, Json]]:
        place = {"item_id": item_id, "output_index": index}
        begun = {**item, "status": "in_progress", "arguments": ""}
        yield _event("response.output_item.added", output_index=index, item=begun)
        for piece in pieces(call.arguments):
            yield _event("response.function_call_arguments.delta", **place, delta=piece)
        yield _event("response.function_call_arguments.done", **place, name=call.name, arguments=call.arguments)
        yield _event("response.output_item.done", output_index=index, item=done)

    return done, events()


def _response(model: str, status: str, **more: Any) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_767_225_600,
        "status": status,
        "model": model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "output": [],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None,
        **more,
    }


def usage_of(account: Account) -> Json:
    """Returns the usage of a request in this API's shape."""
    return {
        "input_tokens": account.prompt,
        "input_tokens_details": {"cached_tokens": account.cached, "cache_write_tokens": 0},
        "output_tokens": account.output,
        "output_tokens_details": {"reasoning_tokens": account.reasoning},
        "total_tokens": account.prompt + account.output,
    }


def _event(name: str, /, **data: Any) -> tuple[str, Json]:
    return name, {"type": name, **data}


# About 200 tokens that only the server can read. Each compaction adds its own number.
SEALED = "c2VhbGVk" * 60


class CompactingResponsesWire(ResponsesWire):
    """The server's side. Without `compacts` it has no such endpoint. `tokens` is the length of its compactions."""

    compact_path = "/v1/responses/compact"

    def __init__(self, *, compacts: bool = True, tokens: int = 200) -> None:
        self.compacts = compacts
        self.tokens = tokens
        self.compacted: list[Json] = []

    def violations(self, body: Json) -> list[str]:
        """Adds a fault for each compaction that this server did not make, since it cannot read those."""
        sealed = [item["encrypted_content"] for item in body["input"] if item["type"] == "compaction"]
        foreign = [data for data in sealed if not data.startswith(SEALED)]
        return [*super().violations(body), *(f"{data[:9]} could not be verified" for data in foreign)]

    def compact(self, body: Json, prompt: int) -> tuple[int, Json]:
        """Returns status and answer."""
        wrong = responses_violations(body["input"])
        if wrong or not self.compacts:
            error = {"message": "; ".join(wrong) or "Unknown endpoint", "type": "invalid_request_error", "code": None}
            return 400, {"error": {**error, "param": None}}
        self.compacted.append(body)
        said = [item for item in body["input"] if item["type"] == "message" and item["role"] == "user"]
        sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": f"{SEALED}{len(self.compacted)}"}
        account = Account(prompt=prompt, cached=0, output=self.tokens)
        answer: Json = {"id": "resp_1", "object": "response.compaction", "created_at": 1_767_225_600}
        output = [{**item, "id": f"msg_{number}", "status": "completed"} for number, item in enumerate(said)]
        return 200, {**answer, "output": [*output, sealed], "usage": usage_of(account)}


def sealed_items(body: Json) -> list[Any]:
    """Returns the compactions in a request."""
    return [item["encrypted_content"] for item in body["input"] if item["type"] == "compaction"]
