"""MCP without a handshake (from 2026-07-28 on): each request names its protocol version, and results say more."""

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from ullage.jsonrpc.rpc_errors import ErrorData, RpcError
from ullage.mcp.handshake import INSTRUCTIONS, PROTOCOL_VERSIONS, Implementation, ServerCapabilities
from ullage.redaction.quoting import cut

DISCOVER = "server/discover"
# The versions that a request may name, and MCP's code for another one.
VERSIONS = ("2026-07-28",)
_UNSUPPORTED_VERSION = -32022
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
# Milliseconds for which a client may keep what never changes while a server runs.
_HOUR = 3_600_000


class UnsupportedVersion(ErrorData, frozen=True, kw_only=True):
    """The data of MCP's `UnsupportedProtocolVersionError`."""

    supported: tuple[str, ...]
    requested: str


class DiscoverResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """MCP's `DiscoverResult`."""

    supported_versions: tuple[str, ...] = (*VERSIONS, *PROTOCOL_VERSIONS)
    capabilities: ServerCapabilities = ServerCapabilities()
    instructions: str = INSTRUCTIONS


class _Meta(Struct, frozen=True):
    version: str | None = field(default=None, name=_VERSION_KEY)


class _Params(Struct, frozen=True):
    meta: _Meta = field(default=_Meta(), name="_meta")


_params = msgspec.json.Decoder(_Params)


def needs_no_handshake(params: Raw) -> bool:
    """Says whether the params of a request name its protocol version, so that no handshake has to come before it."""
    try:
        return _params.decode(params).meta.version is not None
    except (ValueError, RecursionError):
        return False


def named_version(meta: dict[str, Any]) -> str:
    """Returns the protocol version that a request names; "" if it names none. Raises `RpcError` (-32022) for a version
    that is not known or that begins with a handshake."""
    version = meta.get(_VERSION_KEY)
    if not isinstance(version, str):
        return ""
    if version not in VERSIONS:
        requested = cut(version, 80)
        supported = (*VERSIONS, *PROTOCOL_VERSIONS)
        data = UnsupportedVersion(kind="UnsupportedVersion", supported=supported, requested=requested)
        told = f"Without a handshake, the protocol version {requested!r} is not supported; {', '.join(VERSIONS)} is."
        raise RpcError(_UNSUPPORTED_VERSION, told, data=data)
    return version


def completed(result: Struct, server: Implementation, *, lasts: bool | None) -> dict[str, Any]:
    """Returns a result with what such a version wants in it. `lasts` says whether the result stays as it is while the
    server runs; it is None for a result that a client can't keep."""
    added: dict[str, Any] = {"resultType": "complete", "_meta": {_SERVER_KEY: msgspec.to_builtins(server)}}
    if lasts is not None:
        added |= {"ttlMs": _HOUR, "cacheScope": "public"} if lasts else {"ttlMs": 0, "cacheScope": "private"}
    return {**msgspec.to_builtins(result), **added}
