"""An ACP client: what it can do, the files that it reads for the agent, and the connection with it.

The connection is the request engine over lines of JSON, in the version of ACP that client and agent speak.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ullage.api.client_requests import Ask
from ullage.api.engine import RequestEngine
from ullage.api.protocol import acp_error_object
from ullage.jsonrpc.envelope import MAX_LINE, BadReply, Dialect, ErrorObject, LineFraming
from ullage.model.errors import AuthenticationFailed, NoModelConfigured, UllageError
from ullage.model.json_values import JsonObject, as_object

log = logging.getLogger(__name__)
READ_TEXT_FILE = "fs/read_text_file"
# ACP's code for a key that is missing. The client then shows the agent's ways to authenticate.
AUTHENTICATION_REQUIRED = -32000
R = TypeVar("R")
INITIALIZE = "initialize"
DIALECT = Dialect(cancel="$/cancel_request", cancel_key="requestId", opening=INITIALIZE)


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
    """Returns whether the capability `name` is an object, even an empty one; otherwise the client lacks it."""
    return isinstance(said.get(name), dict)


class ReadTextFileParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `ReadTextFileRequest`: the client returns the text of the file at `path`, which is absolute."""

    session_id: str
    path: str


class ReadTextFileResult(Struct, frozen=True, kw_only=True):
    """ACP's `ReadTextFileResponse`: the file's text."""

    content: str


async def read_in_client(ask: Ask, session_id: str, path: str) -> str | None:
    """Returns the text of the file at the absolute `path` as the client's editor holds it, unsaved changes included.
    Returns None if the client answers with an error; the caller then reads the file from disk."""
    params = ReadTextFileParams(session_id=session_id, path=path)
    try:
        return (await ask(READ_TEXT_FILE, params, ReadTextFileResult)).content
    except BadReply as error:
        log.warning("The client did not give %s: %s", path, error)
        return None


class Spoken(Struct, frozen=True, kw_only=True):
    """How the messages to the client differ from version 1's, which the agent's parts make.

    - `shaped(method, params)`: returns the params as the client gets them, or None to send nothing.
    - `asking(method, params)`: is entered while a request of the agent waits for the client's answer.
    """

    shaped: Callable[[str, Any], Any]
    asking: Callable[[str, Any], AbstractContextManager[None]]


VERSION_1 = Spoken(shaped=lambda _, params: params, asking=lambda _, __: nullcontext())


class AcpConnection(RequestEngine):
    """The connection of one ACP client. `max_line` is the length of the longest message that is accepted, in bytes.
    `spoken` is version 1's until another version is negotiated."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        super().__init__(LineFraming(max_line), DIALECT, describe=wire_error)
        self.spoken = VERSION_1
        self._turns: set[asyncio.Task[Any]] = set()

    def notify(self, method: str, params: object) -> None:
        """Sends a notification to the client, if its version has it."""
        shaped = self.spoken.shaped(method, params)
        if shaped is not None:
            super().notify(method, shaped)

    async def ask(self, method: str, params: object, result: type[R]) -> R:
        """Sends a request to the client and returns its result as the type `result`. Raises `BadReply`."""
        with self.spoken.asking(method, params):
            return await super().ask(method, self.spoken.shaped(method, params), result)

    def start_turn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Runs a prompt turn that outlasts its request, and returns its task. `drain` lets it end, as requests."""
        task = asyncio.get_running_loop().create_task(work)
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)
        return task

    async def drain(self, seconds: float) -> None:
        """Lets running turns and requests end for up to `seconds` each, then cancels them and all other work."""
        turns = set(self._turns)
        if turns:
            _, turns = await asyncio.wait(turns, timeout=seconds)
            for turn in turns:
                turn.cancel()
        await super().drain(seconds)
        if turns:
            # What the model has said is stored while a turn ends.
            await asyncio.wait(turns, timeout=seconds)

    def unfinished(self) -> int:
        """Returns how much work has not ended, as `RequestEngine` does, turns included."""
        return super().unfinished() + len(self._turns)

    def error_of(self, error: BaseException) -> ErrorObject:
        """Returns the error object that says why a prompt failed. An error that is no `UllageError` is logged."""
        return self._error_object(error, "a prompt")


def wire_error(error: UllageError) -> ErrorObject:
    """Returns an error as a JSON-RPC error object. It is the one that the Language Server sends, too, except for the
    two codes that ACP defines: -32002 for what is not found, and -32000 for a model whose key is absent or refused."""
    sent = acp_error_object(error)
    return replace(sent, code=AUTHENTICATION_REQUIRED) if _needs_key(error) else sent


def _needs_key(error: UllageError) -> bool:
    return isinstance(error, AuthenticationFailed) or (isinstance(error, NoModelConfigured) and error.lacks_key)
