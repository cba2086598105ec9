"""Ullage's providers with their real SDKs, connected to a server on the loopback."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager

from support.wire.anthropic_wire import AnthropicWire
from support.wire.chat_wire import ChatWire
from support.wire.dialect import Dialect
from support.wire.replies import Reply
from support.wire.responses_wire import ResponsesWire
from support.wire.server import Replier, WireServer, replies
from ullage.model.answer import Fragment, ModelRequest
from ullage.model.message import Message, Role, TextBlock
from ullage.model.settings import ProviderSettings
from ullage.providers.anthropic_messages import AnthropicProvider
from ullage.providers.anthropic_messages import make_client as make_anthropic_client
from ullage.providers.openai_apis import OpenAIChatProvider, OpenAIResponsesProvider
from ullage.providers.openai_apis import make_client as make_openai_client
from ullage.service.ports.models import Provider

DIALECTS: dict[str, Callable[[], Dialect]] = {
    "anthropic": AnthropicWire,
    "openai": ResponsesWire,
    "openai_chat": ChatWire,
}
# A key that must not occur anywhere but in the request's header.
KEY = "sk-test-never-to-be-seen-0123456789"


def settings_of(server: WireServer, timeout: float = 5.0) -> ProviderSettings:
    """Returns the settings that name the server."""
    match server.dialect.name:
        case "anthropic":
            return ProviderSettings(kind="anthropic", base_url=server.base_url, timeout=timeout)
        case "openai":
            return ProviderSettings(kind="openai", base_url=server.base_url, timeout=timeout)
        case _:
            # As OpenAI's own server does; without the setting others are taken not to.
            return ProviderSettings(kind="openai_chat", base_url=server.base_url, timeout=timeout, documents=True)


@asynccontextmanager
async def connected(server: WireServer, timeout: float = 5.0) -> AsyncGenerator[Provider]:
    """Opens the provider for a server. `timeout` is in seconds. The connections are closed when the block ends."""
    settings, kind = settings_of(server, timeout), server.dialect.name
    if kind == "anthropic":
        async with make_anthropic_client(settings, KEY) as client:
            yield AnthropicProvider(kind, client)
        return
    async with make_openai_client(settings, KEY) as client:
        chat = kind == "openai_chat"
        yield OpenAIChatProvider(kind, settings, client) if chat else OpenAIResponsesProvider(kind, client)


@asynccontextmanager
async def served(
    kind: str, *given: Reply, replier: Replier | None = None, window: int | None = None, timeout: float = 5.0
) -> AsyncGenerator[tuple[WireServer, Provider]]:
    """Runs a server with the given replies, and opens its provider."""
    server = WireServer(DIALECTS[kind](), replier or replies(*given), window=window)
    async with server.serving(), connected(server, timeout) as provider:
        yield server, provider


def ask(text: str = "Hello") -> ModelRequest:
    """Returns a request with one prompt."""
    message = Message(id="m1", role=Role.USER, content=(TextBlock(text=text),))
    return ModelRequest(model="test-model", messages=(message,), max_tokens=100)


async def collect(provider: Provider, request: ModelRequest | None = None) -> list[Fragment]:
    """Returns the whole answer."""
    async with aclosing(provider.stream(request or ask())) as fragments:
        return [fragment async for fragment in fragments]
