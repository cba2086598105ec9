"""MCP servers as ACP's clients describe them."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject
from ullage.tools.offered_servers import HttpServer, Server, StdioServer


class _Named(Struct, frozen=True, kw_only=True):
    """ACP's `EnvVariable` and `HttpHeader`."""

    name: str
    value: str


class _Stdio(Struct, frozen=True, kw_only=True):
    """ACP's `McpServerStdio`."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[_Named, ...] = ()


class _Http(Struct, frozen=True, kw_only=True):
    """ACP's `McpServerHttp`."""

    name: str
    url: str
    headers: tuple[_Named, ...] = ()


def read_servers(given: Sequence[JsonObject]) -> tuple[Server, ...]:
    """Returns the servers that a client offers. Raises `InvalidRequest`, which names the faulty one, for a transport
    that is not supported or a wrong shape."""
    return tuple(_read(at, server) for at, server in enumerate(given))


def _read(at: int, server: JsonObject) -> Server:
    kind = server.get("type", "stdio")
    try:
        match kind:
            case "stdio":
                stdio = msgspec.convert(_without_nulls(server), _Stdio)
                return StdioServer(name=stdio.name, command=stdio.command, args=stdio.args, env=_dict(stdio.env))
            case "http":
                http = msgspec.convert(_without_nulls(server), _Http)
                return HttpServer(name=http.name, url=http.url, headers=_dict(http.headers))
            case _:
                raise InvalidRequest(f"mcpServers[{at}]: the transport {kind!r} is not supported; stdio and http are")
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"mcpServers[{at}]: {error}") from None


def _without_nulls(server: JsonObject) -> JsonObject:
    return {name: value for name, value in server.items() if value is not None}


def _dict(pairs: Sequence[_Named]) -> dict[str, Any]:
    return {pair.name: pair.value for pair in pairs}
