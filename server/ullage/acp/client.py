"""What a client can do, read once from its `initialize`, and the files that it offers to read."""

import logging
from typing import Any

from msgspec import Struct

from ullage.api.permissions import Ask
from ullage.jsonrpc.rpc_errors import BadReply
from ullage.model.json_values import JsonObject, as_object

log = logging.getLogger(__name__)
READ_TEXT_FILE = "fs/read_text_file"


class Client(Struct, frozen=True, kw_only=True):
    """`shows_compactions` and `shows_notices`: it takes the updates of that kind; else it gets text. `takes_booleans`:
    a config option may be a switch. `reads_files`: the text of files, as its editors hold it, may be asked for.
    `settings` are ours, if it sent any."""

    shows_compactions: bool = False
    shows_notices: bool = False
    takes_booleans: bool = False
    reads_files: bool = False
    settings: Any = None


def read_client(capabilities: Any, meta: Any) -> Client:
    """The client behind an `initialize`; what it does not say, or says in the wrong shape, it cannot do."""
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
    """A capability object means yes, however empty; null and everything else means no."""
    return isinstance(said.get(name), dict)


class ReadTextFileParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `ReadTextFileRequest`; `path` is absolute."""

    session_id: str
    path: str


class ReadTextFileResult(Struct, frozen=True, kw_only=True):
    """ACP's `ReadTextFileResponse`."""

    content: str


class ClientFiles:
    """Files as the client's editor holds them. If the client cannot give a file, the one on disk is read."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def read_text(self, session_id: str, path: str) -> str | None:
        """The text; None if the client cannot give it."""
        params = ReadTextFileParams(session_id=session_id, path=path)
        try:
            return (await self._ask(READ_TEXT_FILE, params, ReadTextFileResult)).content
        except BadReply as error:
            log.warning("The client did not give %s: %s", path, error)
            return None
