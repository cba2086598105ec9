"""OpenAI's APIs through the official SDK: Responses, and Chat Completions, which most other servers speak.

Those are Ollama, LM Studio, vLLM, llama.cpp, OpenRouter and Gemini. Imported when such a provider is first used.
"""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import httpx2
import openai
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDeltaToolCall

from ullage.formats.parsing import as_count, convert_usage
from ullage.formats.provider import write_openai, write_responses
from ullage.formats.tool_calls import NativeCalls
from ullage.formats.turns import without_documents
from ullage.model.answer import (
    CompactionSealed,
    Finished,
    Fragment,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
    ask_messages,
)
from ullage.model.errors import AnswerBroken, ProviderError, RequestRefused
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.settings import ProviderSettings
from ullage.providers.bounded_response import ACCEPTED, bound_response
from ullage.providers.failures import (
    SHAPES,
    Refusal,
    shown_address,
    translate_connection,
    translate_nonsense,
    translate_refusal,
)
from ullage.service.ports.models import ProviderCapabilities

# The API refuses a smaller `max_output_tokens`.
_LEAST_OUTPUT = 16
_RESPONSE_STOPS = {"max_output_tokens": StopReason.MAX_TOKENS, "content_filter": StopReason.REFUSAL}
# Models that an error names; a gateway has hundreds.
_NAMED = 5
_CHAT_STOPS = {
    "length": StopReason.MAX_TOKENS,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.REFUSAL,
}


def make_client(settings: ProviderSettings, key: str) -> openai.AsyncOpenAI:
    """Returns the SDK's client, without retries: Ullage retries itself and shows the user each wait."""
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=settings.base_url or None,
        max_retries=0,
        timeout=httpx2.Timeout(settings.timeout, connect=min(10.0, settings.timeout)),
        http_client=openai.DefaultAsyncHttpxClient(headers=ACCEPTED, event_hooks={"response": [bound_response]}),
    )


@contextmanager
def translated(name: str, client: openai.AsyncOpenAI) -> Generator[None]:
    """Converts exceptions of the SDK in the `with` block to `ProviderError`s. `name` is the provider's name in their
    texts.

    Raises the error of `translate_refusal` for an answer with an error status or an error event, `ProviderUnavailable`
    if the server cannot be reached, and `AnswerBroken` if its answer cannot be read.
    """
    try:
        yield
    except openai.APIStatusError as error:
        refusal = Refusal(
            status=error.status_code,
            kind=error.code or error.type or "",
            message=error.message,
            headers=error.response.headers,
            key=client.api_key,
        )
        # Without the SDK's error as the cause, because that error repeats the answer unredacted.
        raise translate_refusal(name, refusal) from None
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        if isinstance(error.__cause__, AnswerBroken):
            raise translate_nonsense(name, error.__cause__) from None
        raise translate_connection(name, str(client.base_url), error) from error
    except openai.APIError as error:
        # An error event in the middle of a stream.
        kind = error.code or error.type or ""
        raise translate_refusal(
            name, Refusal(status=0, kind=str(kind), message=str(error.message), key=client.api_key)
        ) from None
    except (openai.OpenAIError, AnswerBroken, *SHAPES) as error:
        raise translate_nonsense(name, error, client.api_key) from None


def make_responses_provider(name: str, settings: ProviderSettings, key: str) -> "OpenAIResponsesProvider":
    """Returns the provider named `name` in the settings, which asks OpenAI's Responses API with this key."""
    return OpenAIResponsesProvider(name, make_client(settings, key), manages_context=settings.context_editing)


class OpenAIResponsesProvider:
    """Streams answers of OpenAI's models by the Responses API. Each request carries the whole context and asks the API
    to store nothing. With `manages_context` the API's own compaction is used (`/responses/compact`)."""

    def __init__(self, name: str, client: openai.AsyncOpenAI, *, manages_context: bool = False) -> None:
        self.name = name
        self._client = client
        self._compacts_from = 0 if manages_context else None

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(counts_tokens=True, compacts_from=self._compacts_from, seals=True, documents=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        if request.compacts:
            for fragment in await self._compact(request):
                yield fragment
            return
        limit = max(_LEAST_OUTPUT, request.max_tokens)
        body: dict[str, Any] = {**self._body(request), "max_output_tokens": limit, "store": False, "stream": True}
        reader = _EventReader(self.name, self._client.api_key)
        with translated(self.name, self._client):
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
        with translated(self.name, self._client):
            counted = await self._client.responses.input_tokens.count(**body)
            return counted.input_tokens

    async def check(self, model: str) -> str:
        with translated(self.name, self._client):
            found = await self._client.models.retrieve(model)
        return f"answers at {shown_address(str(self._client.base_url))}, and has {found.id}"

    async def close(self) -> None:
        await self._client.close()

    async def _compact(self, request: ModelRequest) -> list[Fragment]:
        """Requests the API's own compaction, and returns its fragments: the sealed compaction, the usage and the end.
        The API also returns user messages, which are ignored, because Ullage chooses itself which messages stay."""
        written = write_responses(request.messages, sealed_by=self.name)
        with translated(self.name, self._client):
            compacted = await self._client.responses.compact(
                model=request.model, input=cast("Any", written.input), instructions=written.instructions
            )
            sealed = [item.encrypted_content for item in compacted.output if item.type == "compaction"]
            usage = UsageDelta(usage=convert_usage(compacted.usage.model_dump(exclude_none=True)))
        made = [CompactionSealed(data=data) for data in sealed[-1:]]
        return [*made, usage, Finished(stop_reason=StopReason.END_TURN)]

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the fields that are the same in a request for an answer and in one for its token count."""
        written = write_responses(ask_messages(request), request.tools, sealed_by=self.name)
        body: dict[str, Any] = {"model": request.model, "input": written.input}
        if written.instructions is not None:
            body["instructions"] = written.instructions
        if written.tools:
            body["tools"] = written.tools
            if request.tools_refused:
                body["tool_choice"] = "none"
        return body


class _EventReader:
    """Converts an answer's events, as plain JSON, to fragments. A field of a wrong type counts as missing."""

    def __init__(self, name: str, key: str) -> None:
        self._name = name
        self._key = key
        self._calls = NativeCalls()
        self._written: set[str] = set()
        self._stop = StopReason.END_TURN

    def read(self, event: JsonObject) -> list[Fragment]:
        """Returns the next event's fragments, if any. Raises `ProviderError` if it says that the answer failed."""
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
                return [*_account(response), Finished(stop_reason=_RESPONSE_STOPS.get(reason, self._stop))]
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


def make_chat_provider(name: str, settings: ProviderSettings, key: str) -> "OpenAIChatProvider":
    """Returns the provider named `name` in the settings, which asks a server that speaks OpenAI's Chat Completions."""
    return OpenAIChatProvider(name, settings, make_client(settings, key))


class OpenAIChatProvider:
    """Streams answers of any server that speaks OpenAI's Chat Completions, such as Ollama or vLLM."""

    def __init__(self, name: str, settings: ProviderSettings, client: openai.AsyncOpenAI) -> None:
        self.name = name
        self._settings = settings
        self._client = client
        # Few other servers of this protocol know its `file` parts; they refuse the request, or leave the file out.
        given = settings.documents
        self._takes_documents = not settings.base_url if given is None else given

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(documents=self._takes_documents)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        body, reader = self._body(request), _ChunkReader()
        with translated(self.name, self._client):
            chunks = await self._client.chat.completions.create(stream=True, **body)
            async with chunks:
                async for chunk in chunks:
                    for fragment in reader.read(chunk):
                        yield fragment
        for fragment in reader.end():
            yield fragment

    async def count_tokens(self, _request: ModelRequest, /) -> int | None:
        return None

    async def check(self, model: str) -> str:
        with translated(self.name, self._client):
            models = [found.id async for found in self._client.models.list()]
        answers = f"answers at {shown_address(str(self._client.base_url))}"
        if not model:
            return answers
        if model not in models:
            raise RequestRefused(f"{self.name} {answers}, but does not list {model}; {_listed(models)}")
        return f"{answers}, and has {model}"

    async def close(self) -> None:
        await self._client.close()

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        messages = ask_messages(request)
        written = write_openai(messages if self._takes_documents else without_documents(messages), request.tools)
        body: dict[str, Any] = {
            "model": request.model,
            "messages": written.messages,
            "stream_options": {"include_usage": True},
        }
        # OpenAI's own models since o1 accept only the new name; most other servers accept only the old one.
        limit = "max_tokens" if self._settings.base_url else "max_completion_tokens"
        body[limit] = request.max_tokens
        if written.tools:
            body["tools"] = written.tools
            if request.tools_refused:
                body["tool_choice"] = "none"
        return body


class _ChunkReader:
    """Converts the chunks of one streamed answer to fragments."""

    def __init__(self) -> None:
        self._calls = NativeCalls()
        self._seen: set[int] = set()
        self._reason: str | None = None

    def read(self, chunk: ChatCompletionChunk) -> list[Fragment]:
        """Returns the fragments of the next chunk. The usage is in a chunk without choices, or in the last chunk."""
        fragments = [fragment for choice in chunk.choices for fragment in self._read_choice(choice)]
        if chunk.usage is not None:
            raw = chunk.usage.model_dump(exclude_none=True)
            reasoning = as_count(as_object(raw.get("completion_tokens_details")).get("reasoning_tokens"))
            fragments.append(UsageDelta(usage=convert_usage(raw), reasoning_tokens=reasoning))
        return fragments

    def end(self) -> list[Fragment]:
        """Returns the last fragments; none if no chunk had a stop reason: the answer was cut off."""
        if self._reason is None:
            return []
        # Some servers report `stop` although they call tools, so the calls decide.
        reason = _CHAT_STOPS.get(self._reason or "", StopReason.END_TURN)
        return [*self._calls.end_all(), Finished(stop_reason=reason)]

    def _read_choice(self, choice: Choice) -> list[Fragment]:
        fragments: list[Fragment] = []
        extra = as_object(choice.delta.model_extra)
        # DeepSeek, vLLM and Ollama send reasoning in fields next to the content.
        thinking = as_text(extra.get("reasoning_content")) or as_text(extra.get("reasoning"))
        if thinking:
            fragments.append(ThinkingDelta(text=thinking))
        spoken = (choice.delta.content or "") + (choice.delta.refusal or "")
        if spoken:
            fragments.append(TextDelta(text=spoken))
        for call in choice.delta.tool_calls or ():
            fragments += self._read_call(call)
        self._reason = choice.finish_reason or self._reason
        return fragments

    def _read_call(self, call: ChoiceDeltaToolCall) -> list[Fragment]:
        key, function = str(call.index), call.function
        started: list[Fragment] = []
        if call.index not in self._seen:
            self._seen.add(call.index)
            name = (function.name or "") if function else ""
            started = self._calls.start(key, call.id or f"call_{key}", name)
        return [*started, *self._calls.add(key, (function.arguments or "") if function else "")]


def _listed(models: Sequence[str]) -> str:
    """Returns words that name the first five models of a server's list, for an error."""
    more = f" and {len(models) - _NAMED} more" if len(models) > _NAMED else ""
    return f"it has {', '.join(models[:_NAMED])}{more}" if models else "it has no model"
