"""The shapes of the messages on the wire: methods, requests to the client, and the one notification of our own.

`methods.py` holds the table of methods. The doors add their prefix to each `name` and serve it.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from ullage.model.answer import CompleteParams, CompleteResult, CountParams, CountResult
from ullage.model.updates import RequestPermissionParams, RequestPermissionResult, Update
from ullage.service.conversation.workspace import Workspace

P = TypeVar("P")
R = TypeVar("R")
UPDATE = "session/update"


class Method(Struct, Generic[P, R], frozen=True, kw_only=True):
    """One method of Ullage's own: `name` without a door's prefix (`session/append`), and the types of its params and
    result.

    The handler gets decoded params. It returns a value of the result type or raises an `UllageError`. It may be
    cancelled as any coroutine. A `notification` has no id and gets no answer.
    """

    name: str
    params: type[P]
    result: type[R]
    handler: Callable[[Workspace, P], Awaitable[R]]
    doc: str = ""
    notification: bool = False


AnyMethod = Method[Any, Any]


class ClientMethod(Struct, frozen=True, kw_only=True):
    """A request that the server sends to a client: `name` without the door's prefix, and the types of its params and of
    the client's result."""

    name: str
    params: type[Struct]
    result: type[Struct]
    doc: str


REQUEST_PERMISSION = ClientMethod(
    name="session/request_permission",
    params=RequestPermissionParams,
    result=RequestPermissionResult,
    doc="Asks the user whether a tool call may be made.",
)
COMPLETE = ClientMethod(
    name="models/complete",
    params=CompleteParams,
    result=CompleteResult,
    doc="Asks one of the models that the client offers.",
)
COUNT = ClientMethod(
    name="models/count",
    params=CountParams,
    result=CountResult,
    doc="Asks for one of the offered models' own count of a prompt.",
)
CLIENT_METHODS = (REQUEST_PERMISSION, COMPLETE, COUNT)


class ClientAbilities(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a client can do, as it declares in `capabilities.experimental.ullage` or in `initializationOptions.client`.

    `permissions`: it asks the user before a tool is used. `models`: it can ask models for the server, and says in
    `models/offer` which. `folderTrusted` false: the user has not said that the open
    folder may decide anything, so a project's own instructions for summaries are not read.
    """

    permissions: bool = False
    models: bool = False
    folder_trusted: bool = True


class SessionNotification(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `session/update`, which is ACP's `SessionNotification`."""

    session_id: str
    update: Update
