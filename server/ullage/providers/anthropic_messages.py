"""Anthropic's Messages API through the official SDK, with its context editing and `compact_20260112`.

Imported when the provider is first used.
"""

from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
from anthropic.types import RawMessageDeltaEvent, RawMessageStreamEvent
from anthropic.types.beta import BetaContentBlock, BetaRawMessageDeltaEvent, BetaRawMessageStreamEvent

from ullage.formats.parsing import as_count, convert_usage
from ullage.formats.provider import write_anthropic
from ullage.formats.tool_calls import NativeCalls
from ullage.model.answer import (
    Finished,
    Fragment,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseClearing,
    ToolUsesCleared,
    UsageDelta,
    ask_messages,
)
from ullage.model.errors import AnswerBroken
from ullage.model.json_values import JsonObject, as_object, as_objects
from ullage.model.message import Message, Role
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

_Event = RawMessageStreamEvent | BetaRawMessageStreamEvent
_Events = anthropic.AsyncStream[RawMessageStreamEvent] | anthropic.AsyncStream[BetaRawMessageStreamEvent]
_CACHED = {"type": "ephemeral"}
_STOP_REASONS = {
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
    "tool_use": StopReason.TOOL_USE,
    "refusal": StopReason.REFUSAL,
}
_EDITING = "context-management-2025-06-27"
_COMPACTION = "compact-2026-01-12"
# The API takes no lower trigger. It would answer a shorter prompt instead of compacting it.
LEAST_COMPACTED = 50_000


def make_anthropic_provider(name: str, settings: ProviderSettings, key: str) -> "AnthropicProvider":
    """Returns the provider named `name` in the settings, which asks Anthropic's Messages API with this key."""
    return AnthropicProvider(name, make_client(settings, key), manages_context=settings.context_editing)


def make_client(settings: ProviderSettings, key: str) -> anthropic.AsyncAnthropic:
    """Returns the SDK's client, without retries: Ullage retries itself and shows the user each wait."""
    return anthropic.AsyncAnthropic(
        api_key=key,
        base_url=settings.base_url or None,
        max_retries=0,
        timeout=httpx2.Timeout(settings.timeout, connect=min(10.0, settings.timeout)),
        http_client=anthropic.DefaultAsyncHttpxClient(headers=ACCEPTED, event_hooks={"response": [bound_response]}),
    )


class AnthropicProvider:
    """Streams answers of Claude models, and of servers that speak Anthropic's protocol. With `manages_context` it uses
    the API's context editing and compaction, which are in beta."""

    def __init__(self, name: str, client: anthropic.AsyncAnthropic, *, manages_context: bool = False) -> None:
        self.name = name
        self._client = client
        self._manages_context = manages_context

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        compacts = LEAST_COMPACTED if self._manages_context else None
        # "Prompt caching", section on what invalidates the cache: a change of `tool_choice` invalidates the messages'
        # cache.
        return ProviderCapabilities(
            counts_tokens=True,
            manages_context=self._manages_context,
            compacts_from=compacts,
            caches_tool_choice=True,
            documents=True,
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        # Marks the end of the request as worth caching, because the session's next request begins with all of it.
        body: dict[str, Any] = {**_body(request), "max_tokens": request.max_tokens, "cache_control": _CACHED}
        reader = _EventReader()
        with self._translated():
            async with await self._begin(request, body) as events:
                async for event in events:
                    for fragment in reader.read(event):
                        yield fragment

    async def _begin(self, request: ModelRequest, body: dict[str, Any]) -> _Events:
        if request.compacts:
            return await self._client.beta.messages.create(stream=True, **body, **compaction(request))
        if request.clearing is not None:
            return await self._client.beta.messages.create(stream=True, **body, **clearing(request.clearing))
        return await self._client.messages.create(stream=True, **body)

    async def count_tokens(self, request: ModelRequest) -> int | None:
        body = _body(request)
        with self._translated():
            counted = await self._client.messages.count_tokens(**body)
            return counted.input_tokens

    async def check(self, model: str) -> str:
        with self._translated():
            if not model:
                await self._client.models.list(limit=1)
                return f"answers at {shown_address(str(self._client.base_url))}"
            found = await self._client.models.retrieve(model)
        return f"answers at {shown_address(str(self._client.base_url))}, and has {found.id}"

    async def close(self) -> None:
        await self._client.close()

    @contextmanager
    def _translated(self) -> Generator[None]:
        """Converts exceptions of the SDK in the `with` block to `ProviderError`s."""
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
            # Without the SDK's error as the cause, because that error repeats the answer unredacted.
            raise translate_refusal(self.name, refusal) from None
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            if isinstance(error.__cause__, AnswerBroken):
                raise translate_nonsense(self.name, error.__cause__) from None
            raise translate_connection(self.name, str(self._client.base_url), error) from error
        except (anthropic.APIError, AnswerBroken, *SHAPES) as error:
            raise translate_nonsense(self.name, error, self._client.api_key or "") from None


def _body(request: ModelRequest) -> dict[str, Any]:
    """Returns the fields that are the same in a request for an answer and in one for its token count."""
    written = write_anthropic(_messages(request), request.tools)
    body: dict[str, Any] = {"model": request.model, "messages": written.messages}
    if written.system is not None:
        body["system"] = written.system
    if written.tools:
        body["tools"] = written.tools
        if request.tools_refused and not request.compacts:
            body["tool_choice"] = {"type": "none"}
    return body


def _messages(request: ModelRequest) -> tuple[Message, ...]:
    """Returns the messages to send. Instructions are added as a last user message. Those for a compaction are sent in a
    field of their own instead, unless the messages would then end with an answer, which the API refuses."""
    if request.compacts and request.messages[-1].role is Role.USER:
        return request.messages
    return ask_messages(request)


class _EventReader:
    """Converts the events of one streamed answer to fragments."""

    def __init__(self) -> None:
        self._calls = NativeCalls()
        self._usage: dict[str, Any] = {}

    def read(self, event: _Event) -> list[Fragment]:
        """Returns the next event's fragments; none for unknown kinds, as Anthropic's versioning policy asks."""
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
                ended = self._finish(event.usage.model_dump(exclude_none=True), event.delta.stop_reason)
                return ended if isinstance(event, RawMessageDeltaEvent) else [*applied(event), *ended]
            case _:
                return []

    def _begin(self, index: int, block: anthropic.types.ContentBlock | BetaContentBlock) -> list[Fragment]:
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
            case "compaction_delta" if delta.content:
                return [TextDelta(text=delta.content)]
            case _:
                return []

    def _account(self, usage: dict[str, Any]) -> list[Fragment]:
        """Returns a `UsageDelta` with the usage so far. `usage` is the next usage object of the stream; these are
        cumulative and may leave out fields that did not change."""
        self._usage |= usage
        reasoning = as_count(as_object(self._usage.get("output_tokens_details")).get("thinking_tokens"))
        beside = (convert_usage(part) for part in compactions(self._usage))
        return [UsageDelta(usage=sum(beside, convert_usage(self._usage)), reasoning_tokens=reasoning)]

    def _finish(self, usage: dict[str, Any], reason: str | None) -> list[Fragment]:
        ended = self._calls.end_all()
        stop = _STOP_REASONS.get(reason or "", StopReason.END_TURN)
        return [*ended, *self._account(usage), Finished(stop_reason=stop)]


def clearing(asked: ToolUseClearing) -> dict[str, Any]:
    """Returns the fields of a request that ask Anthropic's API to clear old tool uses."""
    edit: dict[str, Any] = {
        "type": "clear_tool_uses_20250919",
        "trigger": _tokens(asked.trigger),
        "keep": {"type": "tool_uses", "value": asked.keep},
        "exclude_tools": list(asked.exclude_tools),
        "clear_tool_inputs": asked.clear_tool_inputs,
    }
    if asked.clear_at_least:
        edit["clear_at_least"] = _tokens(asked.clear_at_least)
    return {"betas": [_EDITING], "context_management": {"edits": [edit]}}


def compaction(request: ModelRequest) -> dict[str, Any]:
    """Returns the fields of a request that ask Anthropic's API to answer with a compaction and nothing else."""
    edit: dict[str, Any] = {
        "type": "compact_20260112",
        "trigger": _tokens(LEAST_COMPACTED),
        "pause_after_compaction": True,
    }
    if request.instructions:
        edit["instructions"] = request.instructions
    return {"betas": [_COMPACTION], "context_management": {"edits": [edit]}}


def applied(event: BetaRawMessageDeltaEvent) -> Iterator[Fragment]:
    """Yields a fragment for each edit that Anthropic's API reports to have made before the model read the request."""
    edits = event.context_management.applied_edits if event.context_management else []
    for edit in edits:
        if edit.type == "clear_tool_uses_20250919":
            yield ToolUsesCleared(cleared_tool_uses=edit.cleared_tool_uses)


def compactions(usage: Mapping[str, Any]) -> Iterator[JsonObject]:
    """Yields the usage of each compaction in an answer's usage, whose own figures leave these tokens out."""
    return (part for part in as_objects(usage.get("iterations")) if part.get("type") == "compaction")


def _tokens(value: int) -> dict[str, Any]:
    return {"type": "input_tokens", "value": value}
