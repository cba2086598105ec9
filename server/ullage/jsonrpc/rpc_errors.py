"""JSON-RPC's error codes, its error object, and the exceptions raised for refused requests and bad replies.

JSON-RPC itself does not define the last two codes: LSP and ACP both use `REQUEST_CANCELLED`, ACP and MCP both use
`RESOURCE_NOT_FOUND`, which at LSP means something else.
"""

from msgspec import UNSET, Struct, UnsetType

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
RESOURCE_NOT_FOUND = -32002


class ErrorData(Struct, frozen=True, kw_only=True):
    """The `data` of an error object, as Ullage sends it. `kind` is the error's name, a word for programs that never
    changes."""

    kind: str


class ErrorObject(Struct, frozen=True, kw_only=True):
    """JSON-RPC's error object. `message` is one line for the user.

    `data` is left out if the request could not be read, and for internal errors.
    """

    code: int
    message: str
    data: ErrorData | UnsetType = UNSET


class BadFrame(Struct, frozen=True):
    """A part of a byte stream that cannot be read as a message. `reason` is one line; `code` is JSON-RPC's error code
    for it."""

    reason: str
    code: int = INVALID_REQUEST


class BadReply(Exception):
    """Raised when the other side answers a request of this side with an error, or with something that is not an
    answer."""


class RpcError(Exception):
    """Raised to refuse a request, with JSON-RPC's error code, one line for the user, and `kind`, the error's name for
    programs.

    `request_id` is the id of the refused request, or None if the id could not be read. `data` is given if a protocol
    wants more in the error than the kind, which `data` then has.
    """

    def __init__(
        self,
        code: int,
        message: str,
        kind: str = "",
        request_id: int | str | None = None,
        *,
        data: ErrorData | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.kind = data.kind if data else kind
        self.request_id = request_id
        self._data = data

    @property
    def error_object(self) -> ErrorObject:
        """The error object to send."""
        data = self._data or (ErrorData(kind=self.kind) if self.kind else UNSET)
        return ErrorObject(code=self.code, message=str(self), data=data)
