"""Offers the agent Ullage's MCP server, by which it looks up what was compacted away.

The server is added to `mcpServers` of the client's requests that open a session. It starts with the session's id where
that is known: after a handover the agent has another id of the session, under which its own file has little of it.
"""

from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Raw

from ullage.model.json_values import JsonObject, as_list, as_object, as_text, encode_json
from ullage.proxy.pipe.frames import Frame, fields, peek, with_params
from ullage.proxy.pipe.lines import Piece

NAME = "ullage"
_OPENING = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
# Those that name the session that is opened. A fork gets an id of its own.
_NAMING = frozenset({"session/load", "session/resume"})
_raw_list = msgspec.json.Decoder(list[Raw])
_raw_fields = msgspec.json.Decoder(dict[str, Raw])


def offered(piece: Piece, frame: Frame, server: JsonObject) -> tuple[Piece, Frame]:
    """Returns a client's request with the server added to its `mcpServers`, whose other entries keep their bytes.

    Returns the request as it is if it opens no session, if the client offers Ullage's server itself, or if the request
    is not as the protocol has it.
    """
    if frame.method not in _OPENING:
        return piece, frame
    params = fields(frame.params)
    known = params.get("mcpServers", [])
    if not params or not isinstance(known, list) or any(map(_is_ours, as_list(known))):
        return piece, frame
    named = named_server(server, as_text(params.get("sessionId"))) if frame.method in _NAMING else server
    servers = [*_raw_list.decode(_raw_fields.decode(frame.params).get("mcpServers", b"[]")), Raw(encode_json(named))]
    changed = Piece(with_params(piece.data, {"mcpServers": servers}))
    return changed, peek(changed.data) or frame


def with_session(servers: list[Any], server: JsonObject | None, session_id: str) -> list[Any]:
    """Returns a session's servers for a request of the proxy's own: Ullage's server, if the proxy has added it, starts
    with the id of the session."""
    if server is None:
        return servers
    return [named_server(server, session_id) if _was_added(one, server) else one for one in servers]


def named_server(server: JsonObject, session_id: str) -> JsonObject:
    """Returns the server as it is started for a session, "" if the id is not known."""
    return {**server, "args": [*as_list(server.get("args")), "--session", session_id]} if session_id else server


def _is_ours(entry: object) -> bool:
    """Returns whether a client's entry is Ullage's server, by its name or by its command."""
    server = as_object(entry)
    words = [as_text(server.get("command")), *map(as_text, as_list(server.get("args")))]
    runs = any(PurePath(word.replace("\\", "/")).stem == NAME for word in words) and "mcp" in words
    return server.get("name") == NAME or runs


def _was_added(entry: object, server: JsonObject) -> bool:
    added, words = as_list(server.get("args")), as_list(as_object(entry).get("args"))
    return as_object(entry).get("name") == NAME and words[: len(added)] == added
