"""The client's capabilities, read once from `initialize`, and the files that the client can read for us."""

import logging
from typing import Any

from msgspec import Struct

from ullage.api.permissions import Ask
from ullage.jsonrpc.errors import BadReply
from ullage.model.json_values import JsonObject, as_object

log = logging.getLogger(__name__)
READ_TEXT_FILE = "fs/read_text_file"


class Client(Struct, frozen=True, kw_only=True):
    """What the client can do. `shows_compactions`, `shows_notices`: it takes updates of that kind. `takes_booleans`:
    a config option may be a switch. `reads_files`: it returns the text of a file as its editor holds it. `settings`
    are Ullage's settings if the client sent any, else None."""

    shows_compactions: bool = False
    shows_notices: bool = False
    takes_booleans: bool = False
    reads_files: bool = False
    settings: Any = None


def read_client(capabilities: Any, meta: Any) -> Client:
    """Reads the client's capabilities. A capability that is missing or has the wrong shape counts as absent."""
    said = as_object(capabilities)
    session = as_object(said.get("session"))
    return Client(
        shows_compactions=_is_object(session, "compaction"),
        shows_notices=_is_object(session, "notices"),
        takes_booleans=_is_object(as_object(session.get("configOptions")), "boolean"),
        reads_files=as_object(said.get("fs")).get("readTextFile") is True,
        settings=as_object(as_object(meta).get("ullage")).get("settings"),
    )


def _is_object(said: JsonObject, name: str) -> bool:
    """Returns whether a capability is an object, even an empty one. Null and any other value mean that the client
    lacks it."""
    return isinstance(said.get(name), dict)


class ReadTextFileParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `ReadTextFileRequest`. `path` is absolute."""

    session_id: str
    path: str


class ReadTextFileResult(Struct, frozen=True, kw_only=True):
    """ACP's `ReadTextFileResponse`."""

    content: str


class ClientFiles:
    """Files as the client's editor holds them. If the client cannot return a file, the caller reads it from disk."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def read_text(self, session_id: str, path: str) -> str | None:
        """Returns the file's text, or None if the client cannot return it."""
        params = ReadTextFileParams(session_id=session_id, path=path)
        try:
            return (await self._ask(READ_TEXT_FILE, params, ReadTextFileResult)).content
        except BadReply as error:
            log.warning("The client did not give %s: %s", path, error)
            return None
