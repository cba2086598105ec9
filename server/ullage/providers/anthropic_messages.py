"""Anthropic's Messages API through the official SDK. Imported when the provider is first used."""

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
from anthropic.types import RawMessageStreamEvent

from ullage.formats.anthropic_request import write_anthropic
from ullage.formats.parsing import as_count
from ullage.formats.tool_calls.native import NativeCalls
from ullage.formats.usage import convert_usage
from ullage.model.answer import (
    Finished,
    Fragment,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    UsageDelta,
)
from ullage.model.json_values import as_object
from ullage.model.message import Message
from ullage.model.settings import ProviderSettings
from ullage.providers.failures import Refusal, translate_connection, translate_nonsense, translate_refusal
from ullage.providers.request import ask_messages
from ullage.service.model_ports import ProviderCapabilities

_CACHED = {"type": "ephemeral"}
_STOP_REASONS = {
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "tool_use": StopReason.TOOL_USE,
    "refusal": StopReason.REFUSAL,
}


def make_provider(name: str, settings: ProviderSettings, key: str) -> "AnthropicProvider":
    """The provider."""
    return AnthropicProvider(name, make_client(settings, key))


def make_client(settings: ProviderSettings, key: str) -> anthropic.AsyncAnthropic:
    """The SDK's client; retries are ours, so that the person is told of them."""
    return anthropic.AsyncAnthropic(
        api_key=key,
        base_url=settings.base_url or None,
        max_retries=0,
        timeout=httpx2.Timeout(settings.timeout, connect=min(10.0, settings.timeout)),
    )


class AnthropicProvider:
    """Streams answers of Claude models, and of servers that speak their protocol."""

    def __init__(self, name: str, client: anthropic.AsyncAnthropic) -> None:
        self._name = name
        self._client = client

    @property
    def name(self) -> str:
        return self._name

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(counts_tokens=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        # Marks the end of the request as worth caching; the next request of the session begins with all of it.
        body: dict[str, Any] = {**_body(request), "max_tokens": request.max_tokens, "cache_control": _CACHED}
        reader = _EventReader()
        with self._translated():
            events = await self._client.messages.create(stream=True, **body)
            async with events:
                async for event in events:
                    for fragment in reader.read(event):
                        yield fragment

    async def count_tokens(self, request: ModelRequest) -> int | None:
        with self._translated():
            counted = await self._client.messages.count_tokens(**_body(request))
        return counted.input_tokens

    async def check(self, model: str) -> str:
        with self._translated():
            if not model:
                await self._client.models.list(limit=1)
                return f"answers at {self._client.base_url}"
            found = await self._client.models.retrieve(model)
        return f"answers at {self._client.base_url}, and has {found.id}"

    @contextmanager
    def _translated(self) -> Generator[None]:
        """Makes what the SDK raises one of our errors."""
        try:
            yield
        except anthropic.APIStatusError as error:
            refusal = Refusal(
                status=error.status_code,
                kind=error.type or "",
                message=error.api_message or error.message,
                headers=error.response.headers,
                key=self._client.api_key or "",
            )
            # Not from the SDK's error, which repeats the answer as it is.
            raise translate_refusal(self._name, refusal) from None
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            raise translate_connection(self._name, str(self._client.base_url), error) from error
        except (anthropic.APIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise translate_nonsense(self._name, error) from error


def _body(request: ModelRequest) -> dict[str, Any]:
    """What a request and a count of its tokens have in common."""
    messages: tuple[Message, ...] = ask_messages(request)
    written = write_anthropic(messages, request.tools)
    body: dict[str, Any] = {"model": request.model, "messages": written.messages}
    if written.system is not None:
        body["system"] = written.system
    if written.tools:
        body["tools"] = written.tools
        if request.tools_refused:
            body["tool_choice"] = {"type": "none"}
    return body


class _EventReader:
    """Turns the events of one answer into fragments."""

    def __init__(self) -> None:
        self._calls = NativeCalls()
        self._usage: dict[str, Any] = {}

    def read(self, event: RawMessageStreamEvent) -> list[Fragment]:
        """What an event adds. Kinds that are not known are passed over, as Anthropic's versioning policy asks."""
        match event.type:
            case "message_start":
                return self._account(event.message.usage.model_dump(exclude_none=True))
            case "content_block_start":
                return self._begin(event.index, event.content_block)
            case "content_block_delta":
                return self._add(event.index, event.delta)
            case "content_block_stop":
                return self._calls.end(str(event.index))
            case "message_delta":
                return self._finish(event.usage.model_dump(exclude_none=True), event.delta.stop_reason)
            case _:
                return []

    def _begin(self, index: int, block: anthropic.types.ContentBlock) -> list[Fragment]:
        match block.type:
            case "tool_use":
                return self._calls.start(str(index), block.id, block.name)
            case "redacted_thinking":
                return [ThinkingDelta(redacted=block.data)]
            case "text" if block.text:
                return [TextDelta(text=block.text)]
            case _:
                return []

    def _add(self, index: int, delta: Any) -> list[Fragment]:
        match delta.type:
            case "text_delta":
                return [TextDelta(text=delta.text)]
            case "thinking_delta":
                return [ThinkingDelta(text=delta.thinking)]
            case "signature_delta":
                return [ThinkingDelta(signature=delta.signature)]
            case "input_json_delta":
                return self._calls.add(str(index), delta.partial_json)
            case _:
                return []

    def _account(self, usage: dict[str, Any]) -> list[Fragment]:
        """Later accounts are cumulative and may leave out what did not change."""
        self._usage |= usage
        reasoning = as_count(as_object(self._usage.get("output_tokens_details")).get("thinking_tokens"))
        return [UsageDelta(usage=convert_usage(self._usage), reasoning_tokens=reasoning)]

    def _finish(self, usage: dict[str, Any], reason: str | None) -> list[Fragment]:
        ended = self._calls.end_all()
        stop = _STOP_REASONS.get(reason or "", StopReason.END_TURN)
        return [*ended, *self._account(usage), Finished(stop_reason=stop)]
