"""The client's capabilities, and the requests by which the client reads files as its editor holds them."""

import logging
from typing import Any

from msgspec import Struct

from ullage.api.permissions import Ask
from ullage.jsonrpc.rpc_errors import BadReply
from ullage.model.json_values import JsonObject, as_object

log = logging.getLogger(__name__)
READ_TEXT_FILE = "fs/read_text_file"


class Client(Struct, frozen=True, kw_only=True):
    """What the client can do, read from its `initialize`.

    - `shows_compactions`, `shows_notices`: it accepts updates of that kind.
    - `takes_booleans`: it accepts config options that are on or off, not only lists of values.
    - `reads_files`: it returns the text of a file as its editor holds it.
    - `shows_forms`: it shows the user a form and returns what the user has written.
    - `shows_addresses`: it asks the user to open an address, and returns whether the user does.
    - `starts_logins`: it can start this program again in a terminal, for the user to log in.
    - `settings`: the Ullage settings that it sent, not checked yet, or None.
    """

    shows_compactions: bool = False
    shows_notices: bool = False
    takes_booleans: bool = False
    reads_files: bool = False
    shows_forms: bool = False
    shows_addresses: bool = False
    starts_logins: bool = False
    settings: Any = None


def read_client(capabilities: Any, meta: Any) -> Client:
    """Returns what the client can do, from `clientCapabilities` and `_meta` of its `initialize`. A capability that is
    missing or has the wrong shape counts as absent."""
    said = as_object(capabilities)
    session = as_object(said.get("session"))
    return Client(
        shows_compactions=_is_object(session, "compaction"),
        shows_notices=_is_object(session, "notices"),
        takes_booleans=_is_object(as_object(session.get("configOptions")), "boolean"),
        reads_files=as_object(said.get("fs")).get("readTextFile") is True,
        shows_forms=_is_object(as_object(said.get("elicitation")), "form"),
        shows_addresses=_is_object(as_object(said.get("elicitation")), "url"),
        starts_logins=as_object(said.get("auth")).get("terminal") is True,
        settings=as_object(as_object(meta).get("ullage")).get("settings"),
    )


def _is_object(said: JsonObject, name: str) -> bool:
    """Returns whether the capability `name` is an object, even an empty one. Null and any other value mean that the
    client lacks it."""
    return isinstance(said.get(name), dict)


class ReadTextFileParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `ReadTextFileRequest`: the client returns the text of the file at `path`, which is absolute."""

    session_id: str
    path: str


class ReadTextFileResult(Struct, frozen=True, kw_only=True):
    """ACP's `ReadTextFileResponse`: the file's text."""

    content: str


class ClientFiles:
    """Reads files through the client, as its editor holds them, unsaved changes included."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def read_text(self, session_id: str, path: str) -> str | None:
        """Returns the text of the file at the absolute `path`, or None if the client answers with an error. The caller
        then reads the file from disk."""
        params = ReadTextFileParams(session_id=session_id, path=path)
        try:
            return (await self._ask(READ_TEXT_FILE, params, ReadTextFileResult)).content
        except BadReply as error:
            log.warning("The client did not give %s: %s", path, error)
            return None
