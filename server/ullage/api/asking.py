"""The requests that the server makes of a client: one table, read by both doors."""

from msgspec import Struct

from ullage.model.permission import RequestPermissionParams, RequestPermissionResult


class ClientMethod(Struct, frozen=True, kw_only=True):
    """One request: `name` without prefix, and the types of its params and of the result that a client gives."""

    name: str
    params: type[Struct]
    result: type[Struct]
    doc: str


REQUEST_PERMISSION = ClientMethod(
    name="session/request_permission",
    params=RequestPermissionParams,
    result=RequestPermissionResult,
    doc="Asks the person whether a tool call may be made.",
)
CLIENT_METHODS = (REQUEST_PERMISSION,)
