"""The connection to one MCP server: opened, used and closed by means of the official SDK, which this module imports."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import ClientRequestContext, IncomingMessage, Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    AudioContent,
    CallToolResult,
    ContentBlock,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    Implementation,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolListChangedNotification,
)
from msgspec import Struct

from ullage import __version__
from ullage.model.json_values import as_list, as_object, encode_json
from ullage.model.message import ImageBlock
from ullage.service.ports.models import ToolOutcome
from ullage.tools.offered_servers import Answer, AskedForm, AskedVisit, Elicit, Server, StdioServer

log = logging.getLogger(__name__)
# A server with more pages of tools than this offers more than a model can use.
_MOST_PAGES = 20
# Seconds, as the SDK has them for its own connections: a server may keep a response open without a word.
_CONNECTING, _SILENCE = 30.0, 300.0
_US = Implementation(name="ullage", title="Ullage", version=__version__)
_ENDED = "has ended; it is started again with the next prompt"
# About 25,000 tokens, as for a file that is read.
_MOST_CHARS = 100_000
# As many pictures as one result may bring; each takes some 1,500 tokens.
_MOST_IMAGES = 10


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds. `start`: until a server has named its tools; some download themselves first. `call`: for one tool call;
    builds and tests take minutes. `end`: until a server is left to itself; the SDK ends its program within seven.
    `word`: until a running server has named its tools again; the user waits meanwhile."""

    start: float = 60.0
    call: float = 600.0
    end: float = 15.0
    word: float = 10.0


class ServerLink:
    """The connection to one server, which opens at once. One task opens and closes it, because the SDK demands that.
    `tools` are those that the server named last. `elicit` asks the user what the server asks during a call, None if the
    user cannot be asked."""

    def __init__(self, server: Server, folder: str, patience: Patience, elicit: Elicit | None = None) -> None:
        self.server = server
        self.tools: tuple[Tool, ...] = ()
        self.has_changed = False
        self._elicit = elicit
        self._asking: set[asyncio.Task[Answer]] = set()
        self._patience = patience
        self._client: Client | None = None
        self._ends = asyncio.Event()
        self._settled = asyncio.Event()
        self._fault = ""
        self._life = asyncio.create_task(self._live(folder), name=f"MCP server {server.name}")

    @property
    def is_open(self) -> bool:
        return self._client is not None and not self._life.done()

    async def opened(self) -> str:
        """Waits until the server has named its tools. Returns why it cannot be used, or "" if it can."""
        try:
            async with asyncio.timeout(self._patience.start):
                await self._settled.wait()
        except TimeoutError:
            await self.close()
            return f"it did not start within {self._patience.start:g} s"
        return self._fault

    async def call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Calls a tool and returns its result. A server's error, its end or its silence is a result that says so. If
        the task is cancelled, the server is asked to cancel the call."""
        if self._client is None:
            return self._failed(_ENDED)
        try:
            result = await self._client.call_tool(tool, arguments, read_timeout_seconds=self._patience.call)
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT:
                return self._failed(f"did not answer within {self._patience.call:g} s")
            if error.code == CONNECTION_CLOSED:
                self._has_ended()
                return self._failed(_ENDED)
            return ToolOutcome(text=str(error), is_error=True)
        except Exception as error:  # noqa: BLE001 - the errors of transports have no common base
            return self._failed(f"could not be asked: {error or type(error).__name__}")
        finally:
            # A call that has ended needs no answers; a cancelled one takes its questions back.
            for task in self._asking:
                task.cancel()
        return read_result(result)

    async def refresh(self) -> None:
        """Asks for the tools, which may have changed. A server that does not name them in time keeps the former ones;
        one that is not there any more has ended."""
        self.has_changed = False
        if self._client is None:
            return
        try:
            async with asyncio.timeout(self._patience.word):
                self.tools = await _named_tools(self._client)
        except TimeoutError:
            log.info("MCP server %s does not name its tools in time", self.server.name)
        except MCPError as error:
            log.info("MCP server %s: %s", self.server.name, error)
            if error.code == CONNECTION_CLOSED:
                self._has_ended()
        except Exception as error:  # noqa: BLE001 - the errors of transports have no common base
            log.info("MCP server %s: %s", self.server.name, _reason(error))
            self._has_ended()

    async def close(self) -> None:
        """Ends the connection, and the server's program if it has one. Bounded; does nothing the second time."""
        self._ends.set()
        if not self._settled.is_set():
            # A server that does not start is not waited for.
            self._life.cancel()
        _, left = await asyncio.wait([self._life], timeout=self._patience.end)
        if left:
            self._life.cancel()
            log.warning("MCP server %s does not end", self.server.name)

    def _has_ended(self) -> None:
        self._client = None
        self._ends.set()

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.has_changed = True

    async def _asked(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002
        """Returns the user's answer to a question of the server; `cancel` if the call ends before."""
        assert self._elicit is not None
        if isinstance(params, ElicitRequestFormParams):
            schema = as_object(params.requested_schema)
            required = tuple(name for name in as_list(schema.get("required")) if isinstance(name, str))
            question = AskedForm(message=params.message, fields=as_object(schema.get("properties")), required=required)
        else:
            question = AskedVisit(message=params.message, url=params.url, id=params.elicitation_id or "")
        task = asyncio.ensure_future(self._elicit(self.server.name, question))
        self._asking.add(task)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            self._asking.discard(task)
        answer = Answer(action="cancel") if task.cancelled() else task.result()
        return ElicitResult(action=answer.action, content=answer.content)

    def _failed(self, how: str) -> ToolOutcome:
        return ToolOutcome(text=f"The MCP server {self.server.name} {how}.", is_error=True)

    async def _connected(self, folder: str, stack: AsyncExitStack) -> Client:
        """Returns the SDK's client, not connected yet. `initialize` is sent at once, because servers of before 2026 may
        break at what the SDK would try first. A server is informed that the user can be asked only where that is so."""
        asked = self._asked if self._elicit is not None else None
        transport = await _transport(self.server, folder, stack)
        return Client(
            transport,
            mode="legacy",
            client_info=_US,
            cache=None,
            elicitation_callback=asked,
            message_handler=self._heard,
        )

    async def _live(self, folder: str) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(await self._connected(folder, stack))
                self.tools = await _named_tools(client)
                self._client = client
                self._settled.set()
                await self._ends.wait()
        except Exception as error:  # noqa: BLE001 - the errors of transports have no common base
            self._fault = _reason(error)
            log.info("MCP server %s: %s", self.server.name, self._fault)
        finally:
            self._client = None
            self._settled.set()


async def _transport(server: Server, folder: str, stack: AsyncExitStack) -> StdioServerParameters | Transport:
    if isinstance(server, StdioServer):
        # The SDK adds `PATH`, `HOME` and the like of ours, and nothing that may be a key.
        return StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env=dict(server.env),
            cwd=folder if folder and Path(folder).is_dir() else None,
        )
    client = httpx2.AsyncClient(headers=dict(server.headers), timeout=httpx2.Timeout(_CONNECTING, read=_SILENCE))
    http = await stack.enter_async_context(client)
    return streamable_http_client(server.url, http_client=http)


async def _named_tools(client: Client) -> tuple[Tool, ...]:
    if client.server_capabilities.tools is None:
        return ()
    tools: list[Tool] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(tools)


def _reason(error: BaseException) -> str:
    """Returns why a connection failed, in words of the innermost error: the SDK's task groups wrap errors."""
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", inner).exceptions[0]
    return str(inner) or type(inner).__name__


def read_result(result: CallToolResult) -> ToolOutcome:
    """Returns a result's texts and pictures, or structured content as JSON. A long text is cut, and says so."""
    text = "\n".join(_texts(result.content))
    if not text and result.structured_content is not None:
        text = encode_json(result.structured_content).decode()
    images = tuple(_images(result.content))[:_MOST_IMAGES]
    return ToolOutcome(
        text=_shortened(text) or ("" if images else "[no output]"), is_error=result.is_error, images=images
    )


def _texts(content: Iterable[ContentBlock]) -> Iterator[str]:
    for block in content:
        match block:
            case TextContent(text=text):
                yield text
            case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
                yield f"[Resource {uri}]\n{text}"
            case EmbeddedResource(resource=resource):
                yield f"[Resource {resource.uri}, not shown]"
            case ResourceLink(uri=uri, name=name):
                yield f"[Resource {uri} ({name})]"
            case AudioContent(mime_type=kind):
                yield f"[Audio, {kind}, not shown]"
            case ImageContent():
                pass


def _images(content: Iterable[ContentBlock]) -> Iterator[ImageBlock]:
    for block in content:
        if isinstance(block, ImageContent):
            yield ImageBlock(media_type=block.mime_type, data=block.data)


def _shortened(text: str) -> str:
    left = len(text) - _MOST_CHARS
    return text if left <= 0 else f"{text[:_MOST_CHARS]}\n[{left:,} more characters are left out]"
