"""OpenAI's Responses API through the official SDK. Imported when the provider is first used."""

from collections.abc import AsyncGenerator
from typing import Any, cast

import openai

from ullage.formats.parsing import as_count
from ullage.formats.provider_usage import convert_usage
from ullage.formats.requests.responses import write_responses
from ullage.formats.tool_calls.native import NativeCalls
from ullage.model.answer import (
    CompactionSealed,
    Finished,
    Fragment,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
)
from ullage.model.errors import AnswerBroken, ProviderError
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.settings import ProviderSettings
from ullage.providers.failures import Refusal, shown_address, translate_refusal
from ullage.providers.openai_client import make_client, translated
from ullage.providers.request_messages import ask_messages
from ullage.service.ports.models import ProviderCapabilities

# The API refuses a smaller `max_output_tokens`.
_LEAST_OUTPUT = 16
_STOP_REASONS = {"max_output_tokens": StopReason.MAX_TOKENS, "content_filter": StopReason.REFUSAL}


def make_provider(name: str, settings: ProviderSettings, key: str) -> "OpenAIResponsesProvider":
    """Returns the provider named `name` in the settings, which asks OpenAI's Responses API with this key."""
    return OpenAIResponsesProvider(name, make_client(settings, key), manages_context=settings.context_editing)


class OpenAIResponsesProvider:
    """Streams answers of OpenAI's models by the Responses API. Each request carries the whole context and asks the API
    to store nothing. With `manages_context` the API's own compaction is used (`/responses/compact`)."""

    def __init__(self, name: str, client: openai.AsyncOpenAI, *, manages_context: bool = False) -> None:
        self._name = name
        self._client = client
        self._compacts_from = 0 if manages_context else None

    @property
    def name(self) -> str:
        return self._name

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(counts_tokens=True, compacts_from=self._compacts_from, seals=True, documents=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        if request.compacts:
            for fragment in await self._compact(request):
                yield fragment
            return
        limit = max(_LEAST_OUTPUT, request.max_tokens)
        body: dict[str, Any] = {**self._body(request), "max_output_tokens": limit, "store": False, "stream": True}
        reader = _EventReader(self._name, self._client.api_key)
        with translated(self._name, self._client):
            # As plain objects: the SDK tries each of its 50 types on an event that it does not know, for so long that a
            # server which sends many would stop all other sessions.
            events = await self._client.post(
                "/responses",
                cast_to=object,
                body=body,
                options={"security": {"bearer_auth": True}},
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
            async with events:
                async for event in events:
                    for fragment in reader.read(as_object(event)):
                        yield fragment

    async def count_tokens(self, request: ModelRequest) -> int | None:
        body = self._body(request)
        with translated(self._name, self._client):
            counted = await self._client.responses.input_tokens.count(**body)
            return counted.input_tokens

    async def check(self, model: str) -> str:
        with translated(self._name, self._client):
            found = await self._client.models.retrieve(model)
        return f"answers at {shown_address(str(self._client.base_url))}, and has {found.id}"

    async def close(self) -> None:
        await self._client.close()

    async def _compact(self, request: ModelRequest) -> list[Fragment]:
        """Requests the API's own compaction, and returns its fragments: the sealed compaction, the usage and the end.
        The API also returns user messages, which are ignored, because Ullage chooses itself which messages stay."""
        written = write_responses(request.messages, sealed_by=self._name)
        with translated(self._name, self._client):
            compacted = await self._client.responses.compact(
                model=request.model, input=cast("Any", written.input), instructions=written.instructions
            )
            sealed = [item.encrypted_content for item in compacted.output if item.type == "compaction"]
            usage = UsageDelta(usage=convert_usage(compacted.usage.model_dump(exclude_none=True)))
        made = [CompactionSealed(data=data) for data in sealed[-1:]]
        return [*made, usage, Finished(stop_reason=StopReason.END_TURN)]

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the fields that are the same in a request for an answer and in one for its token count."""
        written = write_responses(ask_messages(request), request.tools, sealed_by=self._name)
        body: dict[str, Any] = {"model": request.model, "input": written.input}
        if written.instructions is not None:
            body["instructions"] = written.instructions
        if written.tools:
            body["tools"] = written.tools
            if request.tools_refused:
                body["tool_choice"] = "none"
        return body


class _EventReader:
    """Converts the events of one streamed answer, as plain JSON objects, to fragments. A field of another type than the
    API's counts as missing."""

    def __init__(self, name: str, key: str) -> None:
        self._name = name
        self._key = key
        self._calls = NativeCalls()
        self._written: set[str] = set()
        self._stop = StopReason.END_TURN

    def read(self, event: JsonObject) -> list[Fragment]:
        """Returns the fragments of the next event; most kinds of events have none. Raises `ProviderError` for an event
        that says that the answer failed."""
        match event.get("type"):
            case "response.output_text.delta":
                return [TextDelta(text=as_text(event.get("delta")))]
            case "response.refusal.delta":
                self._stop = StopReason.REFUSAL
                return [TextDelta(text=as_text(event.get("delta")))]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [ThinkingDelta(text=as_text(event.get("delta")))]
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                return [ThinkingDelta(text="\n\n")]
            case _:
                return [*self._read_call(event), *self._finish(event)]

    def _read_call(self, event: JsonObject) -> list[Fragment]:
        index, item = str(event.get("output_index")), as_object(event.get("item"))
        match event.get("type"):
            case "response.function_call_arguments.delta":
                self._written.add(index)
                return self._calls.add(index, as_text(event.get("delta")))
            case "response.output_item.added" if item.get("type") == "function_call":
                return self._calls.start(index, as_text(item.get("call_id")), as_text(item.get("name")))
            case "response.output_item.done" if item.get("type") == "function_call":
                self._stop = StopReason.TOOL_USE
                # Some servers send the arguments only here.
                late = [] if index in self._written else self._calls.add(index, as_text(item.get("arguments")))
                return [*late, *self._calls.end(index)]
            case _:
                return []

    def _finish(self, event: JsonObject) -> list[Fragment]:
        response = as_object(event.get("response"))
        match event.get("type"):
            case "response.completed" | "response.incomplete" if not response:
                raise AnswerBroken("the answer's end says nothing of it")
            case "response.completed":
                return [*_account(response), Finished(stop_reason=self._stop)]
            case "response.incomplete":
                reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
                return [*_account(response), Finished(stop_reason=_STOP_REASONS.get(reason, self._stop))]
            case "response.failed":
                raise self._refusal(as_object(response.get("error")) or {"message": "the answer failed"})
            case "error":
                raise self._refusal(event)
            case _:
                return []

    def _refusal(self, error: JsonObject) -> ProviderError:
        kind, message = as_text(error.get("code")), as_text(error.get("message"))
        return translate_refusal(self._name, Refusal(status=0, kind=kind, message=message, key=self._key))


def _account(response: JsonObject) -> list[Fragment]:
    raw = as_object(response.get("usage"))
    if not raw:
        return []
    reasoning = as_count(as_object(raw.get("output_tokens_details")).get("reasoning_tokens"))
    return [UsageDelta(usage=convert_usage(raw), reasoning_tokens=reasoning)]
