"""One side of a JSON-RPC connection, sans I/O: message bodies in, what they mean out, and messages to send as values.

It keeps the two lists that JSON-RPC makes a peer keep: the other side's requests that wait for an answer, of which each
gets exactly one, and our own that wait for theirs. Nothing is kept of what is answered.
"""

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.jsonrpc.codes import INVALID_REQUEST, REQUEST_CANCELLED
from ullage.jsonrpc.envelope import (
    ErrorResponse,
    Incoming,
    Notification,
    Request,
    RequestId,
    Response,
    read_envelope,
)
from ullage.jsonrpc.errors import ErrorObject, RpcError

# Cancels a request in either direction, as its sender's notification.
CANCEL = "$/cancel_request"


class Called(Struct, frozen=True):
    """The other side asks; `Peer.answer` or `Peer.refuse` must follow for this id."""

    id: RequestId | None
    method: str
    params: Raw


class Notified(Struct, frozen=True):
    """The other side tells."""

    method: str
    params: Raw


class Cancelled(Struct, frozen=True):
    """The other side takes back a request that is not yet answered. It still wants an answer, if only a refusal."""

    id: RequestId | None


class Answered(Struct, frozen=True):
    """The other side answers a request of ours: `error` is None for a result."""

    id: RequestId
    result: Raw
    error: "RemoteError | None" = None


class Refused(Struct, frozen=True):
    """What came is no message, or none that may come now; `reply` is to be sent."""

    reply: ErrorResponse


class Ignored(Struct, frozen=True):
    """What came needs nothing done; `reason` is a line for the log."""

    reason: str


Event = Called | Notified | Cancelled | Answered | Refused | Ignored


class RemoteError(Struct, frozen=True):
    """An error as the other side says it; one of no readable shape has the code 0 and is quoted as `message`."""

    code: int = 0
    message: str = ""
    data: Raw = Raw(b"")


class _CancelParams(Struct, frozen=True, rename="camel"):
    request_id: RequestId | None


_remote_error = msgspec.json.Decoder(RemoteError)
_cancel_params = msgspec.json.Decoder(_CancelParams)


class Peer:
    """The bookkeeping of one connection. Ids of our own requests begin with `prefix`, so that a go-between can tell
    them from those that it passes on."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._asked = 0
        self._open: set[RequestId] = set()
        self._owed: set[RequestId | None] = set()

    @property
    def owed(self) -> frozenset[RequestId | None]:
        """The other side's requests that are not answered yet."""
        return frozenset(self._owed)

    @property
    def open(self) -> frozenset[RequestId]:
        """Our own requests that are not answered yet."""
        return frozenset(self._open)

    def receive(self, body: bytes) -> Event:
        """What a message body means. Never raises."""
        try:
            return self._sort(read_envelope(body))
        except RpcError as refusal:
            return Refused(ErrorResponse(id=refusal.request_id, error=refusal.error_object))

    def ask(self, method: str, params: object) -> Request:
        """A request of ours; an `Answered` with its id follows, unless the other side owes it for ever."""
        self._asked += 1
        request = Request(id=f"{self._prefix}{self._asked}", method=method, params=params)
        self._open.add(request.id)
        return request

    def take_back(self, request_id: RequestId) -> Notification:
        """Nobody waits for this request of ours any more; a late answer to it is ignored."""
        self._open.discard(request_id)
        return Notification(method=CANCEL, params={"requestId": request_id})

    def tell(self, method: str, params: object) -> Notification:
        """A notification of ours."""
        return Notification(method=method, params=params)

    def answer(self, request_id: RequestId | None, result: object) -> Response:
        """The result of a request. Raises `KeyError` if none is owed."""
        self._owed.remove(request_id)
        return Response(id=request_id, result=result)

    def refuse(self, request_id: RequestId | None, error: ErrorObject) -> ErrorResponse:
        """The error of a request. Raises `KeyError` if none is owed."""
        self._owed.remove(request_id)
        return ErrorResponse(id=request_id, error=error)

    def _sort(self, message: Incoming) -> Event:
        if message.method is UNSET:
            return self._take_reply(message)
        if message.method == CANCEL and message.id is UNSET:
            return self._take_cancel(message.params)
        if message.id is UNSET:
            return Notified(message.method, message.params)
        if message.id in self._owed:
            raise RpcError(INVALID_REQUEST, "A request with this id is running.", request_id=message.id)
        self._owed.add(message.id)
        return Called(message.id, message.method, message.params)

    def _take_reply(self, message: Incoming) -> Event:
        request_id = message.id
        if request_id is UNSET or (not message.is_reply and request_id not in self._open):
            raise no_reply(message)
        if request_id is None or request_id not in self._open:
            return Ignored(f"an answer to no request of ours: {request_id!r}")
        self._open.remove(request_id)
        return Answered(request_id, message.result, _read_error(message))

    def _take_cancel(self, params: Raw) -> Event:
        try:
            request_id = _cancel_params.decode(params).request_id
        except (ValueError, RecursionError):
            return Ignored(f"{CANCEL} without a request's id")
        return Cancelled(request_id) if request_id in self._owed else Ignored(f"{CANCEL} of what is answered already")


def _read_error(message: Incoming) -> RemoteError | None:
    if not message.is_reply:
        return RemoteError(message="the answer has neither result nor error")
    if not memoryview(message.error) or bytes(message.error) == b"null":
        return None
    try:
        return _remote_error.decode(message.error)
    except (ValueError, RecursionError):
        return RemoteError(message=bytes(message.error).decode(errors="replace"))


def no_reply(message: Incoming) -> RpcError:
    """The refusal of what has neither a method nor a result nor an error."""
    known = None if message.id is UNSET else message.id
    return RpcError(INVALID_REQUEST, "Neither a request nor an answer: there is no method.", request_id=known)


def cancelled() -> RpcError:
    """The refusal of a request that the other side took back."""
    return RpcError(REQUEST_CANCELLED, "The request was cancelled.", "Cancelled")
