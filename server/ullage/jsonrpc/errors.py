"""Errors of JSON-RPC, as they are sent and as they are raised."""

from msgspec import UNSET, Struct, UnsetType

from ullage.jsonrpc.codes import INVALID_REQUEST


class ErrorData(Struct, frozen=True, kw_only=True):
    """Ullage's data of an error. `kind` is the error's name, a stable word for programs."""

    kind: str


class ErrorObject(Struct, frozen=True, kw_only=True):
    """JSON-RPC's error object. `message` is one line for the user.

    `data` is left out if the request could not be read, and for internal errors.
    """

    code: int
    message: str
    data: ErrorData | UnsetType = UNSET


class BadFrame(Struct, frozen=True):
    """A part of a byte stream that cannot be read as a message. `reason` is one line; `code` is JSON-RPC's."""

    reason: str
    code: int = INVALID_REQUEST


class BadReply(Exception):
    """Raised when the other side answers our request with an error, or with something that is not an answer."""


class RpcError(Exception):
    """Raised to refuse a request, with JSON-RPC's code, one line for the user, and `kind` for programs.

    `request_id` is the id of the refused request, or None if the id could not be read.
    """

    def __init__(self, code: int, message: str, kind: str = "", request_id: int | str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.request_id = request_id

    @property
    def error_object(self) -> ErrorObject:
        """The error object to send."""
        return ErrorObject(code=self.code, message=str(self), data=ErrorData(kind=self.kind) if self.kind else UNSET)
