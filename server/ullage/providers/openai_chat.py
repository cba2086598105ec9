"""OpenAI's Chat Completions API, which most servers speak: Ollama, LM Studio, vLLM, llama.cpp, OpenRouter, Gemini."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDeltaToolCall

from ullage.formats.parsing import as_count
from ullage.formats.provider_usage import convert_usage
from ullage.formats.requests.legal_blocks import without_documents
from ullage.formats.requests.openai import write_openai
from ullage.formats.tool_calls.native import NativeCalls
from ullage.model.answer import Finished, Fragment, ModelRequest, StopReason, TextDelta, ThinkingDelta, UsageDelta
from ullage.model.errors import RequestRefused
from ullage.model.json_values import as_object, as_text
from ullage.model.settings import ProviderSettings
from ullage.providers.failures import shown_address
from ullage.providers.openai_client import make_client, translated
from ullage.providers.request_messages import ask_messages
from ullage.service.ports.models import ProviderCapabilities

# Models that an error names; a gateway has hundreds.
_NAMED = 5
_STOP_REASONS = {
    "length": StopReason.MAX_TOKENS,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.REFUSAL,
}


def make_provider(name: str, settings: ProviderSettings, key: str) -> "OpenAIChatProvider":
    """Returns the provider named `name` in the settings, which asks a server that speaks OpenAI's Chat Completions."""
    return OpenAIChatProvider(name, settings, make_client(settings, key))


class OpenAIChatProvider:
    """Streams answers of any server that speaks OpenAI's Chat Completions, such as Ollama or vLLM."""

    def __init__(self, name: str, settings: ProviderSettings, client: openai.AsyncOpenAI) -> None:
        self._name = name
        self._settings = settings
        self._client = client
        # Few other servers of this protocol know its `file` parts; they refuse the request, or leave the file out.
        given = settings.documents
        self._takes_documents = not settings.base_url if given is None else given

    @property
    def name(self) -> str:
        return self._name

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(documents=self._takes_documents)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        body, reader = self._body(request), _ChunkReader()
        with translated(self._name, self._client):
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
        with translated(self._name, self._client):
            models = [found.id async for found in self._client.models.list()]
        answers = f"answers at {shown_address(str(self._client.base_url))}"
        if not model:
            return answers
        if model not in models:
            raise RequestRefused(f"{self._name} {answers}, but does not list {model}; {_listed(models)}")
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
        """Returns the last fragments after the stream's end; an empty list if no chunk had a stop reason, because the
        answer was cut off."""
        if self._reason is None:
            return []
        return [*self._calls.end_all(), Finished(stop_reason=self._stop_reason())]

    def _stop_reason(self) -> StopReason:
        # Some servers report `stop` although they call tools, so the calls decide.
        return _STOP_REASONS.get(self._reason or "", StopReason.END_TURN)

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
