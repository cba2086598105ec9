"""The requests that the server sends to a client, in a table that both doors read."""

from msgspec import Struct

from ullage.model.permission import RequestPermissionParams, RequestPermissionResult


class ClientMethod(Struct, frozen=True, kw_only=True):
    """One request: `name` without the door's prefix, and the types of its params and of the client's result."""

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
CLIENT_METHODS = (REQUEST_PERMISSION,)
