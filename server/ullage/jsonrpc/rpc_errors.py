"""JSON-RPC's error codes, its error object, and the exceptions raised for refused requests and bad replies.

`REQUEST_CANCELLED` is not JSON-RPC's own: the Language Server Protocol and ACP both add it.
"""

from msgspec import UNSET, Struct, UnsetType

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800


class ErrorData(Struct, frozen=True, kw_only=True):
    """`kind` is the error's name, a stable word for programs."""

    kind: str


class ErrorObject(Struct, frozen=True, kw_only=True):
    """JSON-RPC's error object; `message` is one line fit for a person. `data` is left out where the request could not
    be read, and for a failure inside."""

    code: int
    message: str
    data: ErrorData | UnsetType = UNSET


class BadFrame(Struct, frozen=True):
    """A part of a byte stream that cannot be read as a message, in one line; `code` is JSON-RPC's."""

    reason: str
    code: int = INVALID_REQUEST


class BadReply(Exception):
    """The other side answered a request of ours with an error, or with something that is no answer."""


class RpcError(Exception):
    """A request is refused: JSON-RPC's code, one line for a person, and `kind` for programs. `request_id` is the
    refused request's where it could be read, None if not."""

    def __init__(self, code: int, message: str, kind: str = "", request_id: int | str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.request_id = request_id

    @property
    def error_object(self) -> ErrorObject:
        """The error for the wire."""
        return ErrorObject(code=self.code, message=str(self), data=ErrorData(kind=self.kind) if self.kind else UNSET)
