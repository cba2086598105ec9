"""One side of a JSON-RPC connection, without I/O: message bodies in, events and messages to send out.

A peer keeps two tables: requests of the other side that wait for an answer (each gets exactly one), and our own
requests that wait for theirs. An answered request is removed from its table. The peer also keeps the life cycle that a
protocol on top of JSON-RPC may have:

    new ── opening request ──▶ open ── closing request ──▶ closing ── exit ──▶ over
     ▲                           │
     └── the opening was refused ┘

A request that may not come in the present state is refused; such a notification is ignored. Tasks and timeouts are in
`api/engine.py`.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from ullage.jsonrpc.envelope import (
    INVALID_REQUEST,
    REQUEST_CANCELLED,
    ErrorObject,
    ErrorResponse,
    Incoming,
    Notification,
    Request,
    RequestId,
    Response,
    RpcError,
    read_envelope,
)


def _needs_opening(_: Raw) -> bool:
    return False


class Dialect(Struct, frozen=True, kw_only=True):
    """What a protocol adds to JSON-RPC.

    - `cancel`: the notification that cancels a request, in either direction.
    - `cancel_key`: the field of its params that contains the request's id.
    - `opening`: the request that must come first and only once; empty if there is none.
    - `early`: the error code and kind for a request that comes before the opening request.
    - `closing`: the request after which every other request is refused; empty if there is none.
    - `exit`: the notification that ends the connection; empty if there is none.
    - `null_ids`: whether a request's id may be null.
    - `always`: requests that may also come before the opening request.
    - `stands_alone`: says by the params of a request, as unparsed JSON, whether it needs no opening request.
    - `answers_cancelled`: whether a cancelled request still gets an answer, an error.
    """

    cancel: str
    cancel_key: str
    opening: str = ""
    early: tuple[int, str] = (INVALID_REQUEST, "")
    closing: str = ""
    exit: str = ""
    null_ids: bool = True
    always: frozenset[str] = frozenset()
    stands_alone: Callable[[Raw], bool] = _needs_opening
    answers_cancelled: bool = True


class Called(Struct, frozen=True):
    """The other side has sent a request. `Peer.answer` or `Peer.refuse` must be called once with its `id`, which is
    None if the other side sent null. `params` is unparsed JSON, empty if the request has none."""

    id: RequestId | None
    method: str
    params: Raw


class Notified(Struct, frozen=True):
    """The other side has sent a notification. `params` is unparsed JSON, empty if it has none."""

    method: str
    params: Raw


class Cancelled(Struct, frozen=True):
    """The other side has cancelled a request that is not answered yet.

    The request must still be answered or refused.
    """

    id: RequestId | None


class Answered(Struct, frozen=True):
    """The other side has answered the request `id` of this side. `result` is unparsed JSON. `error` is None if the
    answer is a result."""

    id: RequestId
    result: Raw
    error: "RemoteError | None" = None


class Exited(Struct, frozen=True):
    """The other side has ended the connection. `orderly` says whether the closing request came before."""

    orderly: bool


class Refused(Struct, frozen=True):
    """A received body is not a JSON-RPC message, or is one that may not come now. `reply` must be sent to the other
    side."""

    reply: ErrorResponse


class Ignored(Struct, frozen=True):
    """A received message that needs no reaction. `reason` is a line for the log; it is empty for messages that correct
    clients send."""

    reason: str = ""


Event = Called | Notified | Cancelled | Answered | Exited | Refused | Ignored


class RemoteError(Struct, frozen=True):
    """An error that the other side sent. An error of unreadable shape has code 0 and its JSON as `message`."""

    code: int = 0
    message: str = ""
    data: Raw = Raw(b"")


_remote_error = msgspec.json.Decoder(RemoteError)
_cancel_params = msgspec.json.Decoder(dict[str, Any])


class Peer:
    """The state of one side of a connection: which requests of the other side are unanswered, which of its own are, and
    which messages may come now. It does no I/O.

    The ids of its own requests are `prefix` and a number, so that they differ from the ids of requests that another
    program sends on the same connection.
    """

    def __init__(self, dialect: Dialect, prefix: str = "") -> None:
        self._dialect = dialect
        self._prefix = prefix
        self._asked = 0
        self._open: set[RequestId] = set()
        self._owed: dict[RequestId | None, str] = {}
        self._opened = not dialect.opening
        # Whether a request came that needs no opening one.
        self._is_used = False
        self._closing = False

    @property
    def owed(self) -> frozenset[RequestId | None]:
        """The ids of the other side's requests that are not answered yet."""
        return frozenset(self._owed)

    @property
    def open(self) -> frozenset[RequestId]:
        """The ids of this side's own requests that are not answered yet."""
        return frozenset(self._open)

    def receive(self, body: bytes | bytearray) -> Event:
        """Reads a message body from the other side and returns what it means, as an event. Updates the unanswered
        requests. Never raises."""
        try:
            return self._sort(read_envelope(body))
        except RpcError as refusal:
            return Refused(ErrorResponse(id=refusal.request_id, error=refusal.error_object))

    def ask(self, method: str, params: object) -> Request:
        """Returns a request to send to the other side, with a new id.

        When the other side answers, `receive` returns an `Answered` with that id.
        """
        self._asked += 1
        request = Request(id=f"{self._prefix}{self._asked}", method=method, params=params)
        self._open.add(request.id)
        return request

    def take_back(self, request_id: RequestId) -> Notification:
        """Returns the notification to send that cancels a request of this side. A late answer to the request is
        ignored."""
        self._open.discard(request_id)
        return Notification(method=self._dialect.cancel, params={self._dialect.cancel_key: request_id})

    def answer(self, request_id: RequestId | None, result: object) -> Response:
        """Returns the message to send that answers a request with a result. Raises `KeyError` if the request doesn't
        wait for an answer."""
        del self._owed[request_id]
        return Response(id=request_id, result=result)

    def refuse(self, request_id: RequestId | None, error: ErrorObject) -> ErrorResponse:
        """Returns the message to send that answers a request with an error. Raises `KeyError` if the request doesn't
        wait for an answer.

        If the opening request is refused, the other side may send it again.
        """
        if self._owed.pop(request_id) == self._dialect.opening:
            self._opened = not self._dialect.opening
        return ErrorResponse(id=request_id, error=error)

    def end_cancelled(self, request_id: RequestId | None) -> ErrorResponse | None:
        """Ends a request that was cancelled. Returns the message to send, or None if the protocol wants no answer to
        it. Raises `KeyError` if the request doesn't wait for an answer."""
        answer = self.refuse(request_id, cancelled().error_object)
        return answer if self._dialect.answers_cancelled else None

    def _sort(self, message: Incoming) -> Event:
        if message.method is UNSET:
            return self._take_reply(message)
        if message.id is UNSET:
            return self._take_notification(message.method, message.params)
        return self._take_request(message.id, message.method, message.params)

    def _take_request(self, request_id: RequestId | None, method: str, params: Raw) -> Event:
        dialect = self._dialect
        if request_id is None and not dialect.null_ids:
            raise RpcError(INVALID_REQUEST, "A request's id is a number or a string, not null.")
        if self._closing:
            raise RpcError(INVALID_REQUEST, "The server is shutting down.", request_id=request_id)
        if not self._opened and method != dialect.opening and method not in dialect.always:
            if not dialect.stands_alone(params):
                code, kind = dialect.early
                raise RpcError(code, f"{dialect.opening} must come first.", kind, request_id)
            self._is_used = True
        if self._opened and method == dialect.opening:
            raise RpcError(INVALID_REQUEST, f"{method} came already.", request_id=request_id)
        if request_id in self._owed:
            raise RpcError(INVALID_REQUEST, "A request with this id is running.", request_id=request_id)
        self._opened = self._opened or method == dialect.opening
        self._closing = bool(dialect.closing) and method == dialect.closing
        self._owed[request_id] = method
        return Called(request_id, method, params)

    def _take_notification(self, method: str, params: Raw) -> Event:
        if self._dialect.exit and method == self._dialect.exit:
            return Exited(orderly=self._closing)
        if self._closing or not (self._opened or self._is_used):
            return Ignored()
        return self._take_cancel(params) if method == self._dialect.cancel else Notified(method, params)

    def _take_reply(self, message: Incoming) -> Event:
        request_id = message.id
        if request_id is UNSET or (not message.is_reply and request_id not in self._open):
            raise _no_reply(message)
        if request_id is None or request_id not in self._open:
            # A cancelled request of ours is still answered, as LSP and ACP demand; that needs no line in the log.
            return Ignored("" if self._is_ours(request_id) else f"an answer to no request of ours: {request_id!r}")
        self._open.remove(request_id)
        return Answered(request_id, message.result, _read_error(message))

    def _is_ours(self, request_id: RequestId | None) -> bool:
        if not isinstance(request_id, str) or not request_id.startswith(self._prefix):
            return False
        number = request_id.removeprefix(self._prefix)
        # A longer number can't be ours, and `int` of a very long one is slow.
        return number.isdecimal() and len(number) < 19 and 0 < int(number) <= self._asked

    def _take_cancel(self, params: Raw) -> Event:
        method, key = self._dialect.cancel, self._dialect.cancel_key
        try:
            request_id = msgspec.convert(_cancel_params.decode(params)[key], int | str | None)
        except (ValueError, RecursionError, KeyError):
            return Ignored(f"{method} without a request's id")
        return Cancelled(request_id) if request_id in self._owed else Ignored()


def _read_error(message: Incoming) -> RemoteError | None:
    if not message.is_reply:
        return RemoteError(message="the answer has neither result nor error")
    if not memoryview(message.error) or bytes(message.error) == b"null":
        return None
    try:
        return _remote_error.decode(message.error)
    except (ValueError, RecursionError):
        return RemoteError(message=bytes(message.error).decode(errors="replace"))


def _no_reply(message: Incoming) -> RpcError:
    known = None if message.id is UNSET else message.id
    return RpcError(INVALID_REQUEST, "Neither a request nor an answer: there is no method.", request_id=known)


def cancelled() -> RpcError:
    """Returns the error by which a request is answered that the other side cancelled."""
    return RpcError(REQUEST_CANCELLED, "The request was cancelled.", "Cancelled")
