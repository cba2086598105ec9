"""Converts JSON-RPC messages between bytes and values, and splits byte streams into them, without I/O.

The envelope is decoded first; the params stay raw until they are decoded as the method's type. Then JSON-RPC's error
codes and error object, and the exceptions raised for refused requests and bad replies. JSON-RPC itself does not define
the last two codes: LSP and ACP both use `REQUEST_CANCELLED`, ACP and MCP both use `RESOURCE_NOT_FOUND`, which at LSP
means something else.

A stream has one message in a line (`LineFraming`), or each after a `Content-Length` header (`FrameParser`). A broken
header is reported once, and the stream is skipped up to the next `Content-Length:`. A JSON string can't contain a raw
line break, so no body can be mistaken for a header.

A peer is one side of a connection: message bodies in, events and messages to send out. It keeps two tables: requests
of the other side that wait for an answer (each gets exactly one), and our own requests that wait for theirs. An
answered request is removed from its table. The peer also keeps the life cycle that a protocol on top of JSON-RPC may
have: from new to open by an opening request, or back if that was refused, to closing by a closing request, and over by
exit. A request that may not come in the present state is refused; such a notification is ignored. Tasks and timeouts
are in `api/engine.py`."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from enum import Enum, auto
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, ValidationError

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
    """A part of a stream that is no message. `reason` is one line, `code` JSON-RPC's error code for it."""

    reason: str
    code: int = INVALID_REQUEST


class BadReply(Exception):
    """The other side has answered with an error, or with something that is not an answer."""


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
        data = self._data or (ErrorData(kind=self.kind) if self.kind else UNSET)
        return ErrorObject(code=self.code, message=str(self), data=data)


RequestId = int | str
T = TypeVar("T")
_NOTHING = Raw(b"")
# Params that mean "no params": absent, null, or `[]` from Lua, where an empty table is a list.
_EMPTY = {b"", b"null", b"[]"}
_LONGEST_EMPTY = max(map(len, _EMPTY))


class Incoming(Struct, frozen=True):
    """A received JSON-RPC message, with params, result and error as undecoded JSON (empty if absent).

    A request has a method and an id, a notification a method alone, a reply an id and a result or an error.
    """

    jsonrpc: str
    method: str | UnsetType = UNSET
    id: RequestId | UnsetType | None = UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: Raw = _NOTHING

    @property
    def is_reply(self) -> bool:
        return self.id is not UNSET and bool(memoryview(self.result) or memoryview(self.error))


class Request(Struct, frozen=True, kw_only=True):
    """A JSON-RPC request to send."""

    id: RequestId
    method: str
    params: Any
    jsonrpc: str = "2.0"


class Response(Struct, frozen=True, kw_only=True):
    """A JSON-RPC answer with a result, to send."""

    id: RequestId | None
    result: Any
    jsonrpc: str = "2.0"


class ErrorResponse(Struct, frozen=True, kw_only=True):
    """A JSON-RPC answer with an error, to send. `id` is None if the id of the refused request could not be read."""

    id: RequestId | None
    error: ErrorObject
    jsonrpc: str = "2.0"


class Notification(Struct, frozen=True, kw_only=True):
    """A JSON-RPC notification to send."""

    method: str
    params: Any
    jsonrpc: str = "2.0"


class _OnlyId(Struct, frozen=True):
    id: Any = None


_envelope = msgspec.json.Decoder(Incoming)
_only_id = msgspec.json.Decoder(_OnlyId)
_anything = msgspec.json.Decoder(Raw)


def read_envelope(body: bytes | bytearray) -> Incoming:
    """Returns a JSON-RPC message decoded except for its params, result and error.

    Raises `RpcError` with -32700 if the body is not JSON, and with -32600 if it is not a JSON-RPC 2.0 message.
    """
    try:
        message = _decode(body, _envelope)
    except ValidationError as error:
        raise _no_message(body, f"{error}.") from None
    except (ValueError, RecursionError) as error:
        raise _not_json(error) from None
    if message.jsonrpc != "2.0":
        raise _no_message(body, '"jsonrpc" is not "2.0".')
    return message


def read_params(method: str, params: Raw, decoder: "msgspec.json.Decoder[Any]") -> Any:
    """Returns a method's params as `decoder` decodes them; missing, null or `[]` params count as an empty object.
    Raises `RpcError` (-32602) with a line that names the wrong field, or (-32700) if they are not JSON."""
    try:
        return decoder.decode(b"{}" if _is_empty(params) else params)
    except ValidationError as error:
        fault = f"{str(error)[:1].lower()}{str(error)[1:]}{_remedy(str(error), decoder.type, params)}"
        raise RpcError(INVALID_PARAMS, f"{method}: {fault}.", "InvalidRequest") from None
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, f"{method}: the params are not valid JSON.") from None


# How msgspec names a field with a word that it may not have, and a field that is missing.
_NO_WORD = re.compile(r"^Invalid enum value .* at `\$\.(\w+)`$")
_MISSING = re.compile(r"missing required field `(\w+)`$")


def _remedy(fault: str, kind: Any, params: Raw) -> str:
    """Returns what to correct: the words of a field, or a name that resembles a missing field's; else ""."""
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return ""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    if (found := _NO_WORD.match(fault)) and found[1] in fields:
        return f"; there are {', '.join(_words_of(fields[found[1]]))}"
    if found := _MISSING.search(fault):
        try:
            given: set[str] = set(msgspec.json.decode(b"{}" if _is_empty(params) else params)) - fields.keys()
        except (ValueError, RecursionError):
            return ""
        if near := get_close_matches(found[1].lower(), {name.lower(): name for name in given}, 1, 0.8):
            return f"; is {next(name for name in given if name.lower() == near[0])!r} meant as `{found[1]}`?"
    return ""


def _words_of(hint: Any) -> Iterator[str]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield from map(str, hint)
    for inner in get_args(hint):
        yield from [inner] if isinstance(inner, str) else _words_of(inner)


def _is_empty(params: Raw) -> bool:
    # The length is compared before the params are copied: they may be tens of megabytes.
    return len(memoryview(params)) <= _LONGEST_EMPTY and bytes(params) in _EMPTY


def _decode(body: bytes | bytearray, decoder: "msgspec.json.Decoder[T]") -> T:
    try:
        return decoder.decode(body)
    except ValidationError:
        raise
    except DecodeError:
        return decoder.decode(_mend_surrogates(body))


def _mend_surrogates(body: bytes | bytearray) -> bytes:
    r"""Returns the body with U+FFFD for each lone surrogate, which msgspec refuses.

    JavaScript writes half an emoji as the escape `\ud83d`.
    """
    text = json.dumps(json.loads(body.decode()), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _no_message(body: bytes | bytearray, fault: str) -> RpcError:
    """Returns the error for a body that is not a JSON-RPC message: a parse error if any part of the body is not JSON,
    else an invalid request with the text `fault`."""
    try:
        _decode(body, _anything)
    except (ValueError, RecursionError) as error:
        return _not_json(error)
    return RpcError(INVALID_REQUEST, f"Not a JSON-RPC message: {fault}", request_id=_find_id(body))


def _not_json(error: Exception) -> RpcError:
    return RpcError(PARSE_ERROR, f"The message is not valid JSON: {error or 'it is nested too deep'}.")


def _find_id(body: bytes | bytearray) -> RequestId | None:
    try:
        found = _decode(body, _only_id).id
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


# Bytes in the longest line that is accepted, 256 MiB: far above any session, far below the memory of a machine.
MAX_LINE = 1 << 28
_BLANK = b" \t\r\n"


class LineTooLong(Struct, frozen=True):
    """Given by `LineSplitter` in place of a line that was dropped because it is longer than `limit` bytes."""

    limit: int


class LineSplitter:
    """Divides a byte stream into lines, whatever the sizes of the pieces that come in.

    A line includes its line break, so that it can be forwarded unchanged. A line that has more than `max_line` bytes,
    the line break included, is reported as soon as it passes the limit, and skipped up to its end.
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max_line = max_line
        self._pieces: list[bytes] = []
        self._length = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """Returns the lines that `data` completes, and a `LineTooLong` for each that passes the limit, in order."""
        return [item for piece in _pieces(data) for item in self._take(piece)]

    def end(self) -> bytes:
        """Ends the stream. Returns the last line if it has no line break, otherwise empty bytes."""
        rest = b"".join(self._pieces)
        self._begin()
        return rest

    def _take(self, piece: bytes) -> Iterator[bytes | LineTooLong]:
        self._length += len(piece)
        if self._length > self._max_line and not self._skipping:
            self._skipping = True
            self._pieces.clear()
            yield LineTooLong(self._max_line)
        if not self._skipping:
            self._pieces.append(piece)
        if piece.endswith(b"\n"):
            if not self._skipping:
                yield b"".join(self._pieces)
            self._begin()

    def _begin(self) -> None:
        self._pieces.clear()
        self._length = 0
        self._skipping = False


class LineFraming:
    """Divides a byte stream into message bodies, one per line. Empty lines are skipped, and the last line needs no line
    break. `max_line` is the length of the longest line that is accepted, in bytes."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._splitter = LineSplitter(max_line)

    def feed(self, data: bytes) -> Iterable[bytes | BadFrame]:
        for item in self._splitter.feed(data):
            if isinstance(item, LineTooLong):
                yield BadFrame(reason=f"A message is longer than {item.limit} bytes.")
            elif body := item.strip(_BLANK):
                yield body

    def end(self) -> Iterable[bytes | BadFrame]:
        """Returns the last body, if the stream ended without a line break after it."""
        body = self._splitter.end().strip(_BLANK)
        return (body,) if body else ()

    def frame(self, body: bytes) -> bytes:
        return body + b"\n"


def _pieces(data: bytes) -> Iterator[bytes]:
    r"""Yields the data divided after each line feed (`\n`). `splitlines` would also divide it at carriage returns."""
    start = 0
    while end := data.find(b"\n", start) + 1:
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]


LENGTH = b"content-length:"
# The specification demands CR LF. Bare LF is accepted too, because the client would otherwise wait for an answer for
# ever.
HEADER_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_END = 4
# Bytes. Real headers are under 100 bytes; a longer text without an end is not a header.
MAX_HEADER = 8192
# Bytes. A body of this size or more is handed on in the buffer that it came in, without a copy.
_LARGE = 1 << 20
# Bytes in the largest body that is accepted, 256 MiB: far above any session, far below the memory of a machine.
MAX_BODY = 1 << 28


class _State(Enum):
    HEADER = auto()
    BODY = auto()
    SEEKING = auto()


class FrameParser:
    """Splits a byte stream into message bodies, wherever the stream is divided into reads. `max_body` and `max_header`
    are in bytes; a larger body or header is reported as a `BadFrame`."""

    def __init__(self, max_body: int = MAX_BODY, max_header: int = MAX_HEADER) -> None:
        self._max_body = max_body
        self._max_header = max_header
        self._buffer = bytearray()
        self._state = _State.HEADER
        self._wanted = 0
        self._searched = 0

    def feed(self, data: bytes) -> list[bytes | bytearray | BadFrame]:
        """Takes the next bytes. Returns the bodies that they complete, and a `BadFrame` for each broken header."""
        self._buffer += data
        found: list[bytes | bytearray | BadFrame] = []
        while (item := self._next()) is not None:
            found.append(item)
        return found

    def end(self) -> list[BadFrame]:
        """Ends the stream. Returns one `BadFrame` if the stream ended inside a message, otherwise an empty list."""
        torn = self._state is _State.BODY or (self._state is _State.HEADER and bool(self._buffer.strip()))
        return [BadFrame(reason="The stream ended inside a message.")] if torn else []

    def frame(self, body: bytes) -> bytes:
        """Returns the body with its `Content-Length` header before it, ready to send."""
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def _next(self) -> bytes | bytearray | BadFrame | None:
        if self._state is _State.SEEKING and not self._find_header():
            return None
        if self._state is _State.HEADER:
            refusal = self._read_header()
            if refusal is not None:
                return refusal
        if self._state is _State.BODY and len(self._buffer) >= self._wanted:
            return self._take_body()
        return None

    def _take_body(self) -> bytes | bytearray:
        # Copying tens of megabytes would hold up all other requests for a tenth of a second.
        if self._wanted >= _LARGE:
            body, self._buffer = self._buffer, self._buffer[self._wanted :]
            del body[self._wanted :]
            self._begin_after(0)
            return body
        with memoryview(self._buffer) as view:
            small = bytes(view[: self._wanted])
        self._begin_after(self._wanted)
        return small

    def _begin_after(self, count: int) -> None:
        del self._buffer[:count]
        self._state = _State.HEADER
        self._searched = 0

    def _find_header(self) -> bool:
        at = self._buffer.lower().find(LENGTH)
        if at < 0:
            # A header's name may be divided between two reads: keep what could be its beginning.
            del self._buffer[: max(0, len(self._buffer) - len(LENGTH) + 1)]
            return False
        self._begin_after(at)
        return True

    def _read_header(self) -> BadFrame | None:
        if self._buffer.startswith((b"{", b"[")):
            remedy = "send `Content-Length: N`, an empty line, and the N bytes of the message"
            return self._seek_header(1, f"A message came without a header: {remedy}.")
        end = HEADER_END.search(self._buffer, max(0, self._searched - _LONGEST_END + 1))
        self._searched = len(self._buffer)
        # If no end is found, the last bytes may be the beginning of one.
        length = end.start() if end else len(self._buffer) - _LONGEST_END + 1
        if length > self._max_header:
            return self._seek_header(1, f"A message header has no end within {self._max_header} bytes.")
        if end is None:
            return None
        wanted = _content_length(bytes(self._buffer[: end.start()]))
        refusal = self._check(wanted)
        if refusal is not None:
            return self._seek_header(end.end(), refusal)
        del self._buffer[: end.end()]
        self._wanted = int(wanted or b"0")
        self._state = _State.BODY
        return None

    def _check(self, length: bytes | None) -> str | None:
        if length is None:
            return "A message header has no Content-Length."
        if not length.isdigit():
            return "A message's Content-Length is not a number of bytes."
        if len(length) > len(str(self._max_body)) or int(length) > self._max_body:
            return f"A message is longer than {self._max_body} bytes."
        return None

    def _seek_header(self, count: int, reason: str) -> BadFrame:
        self._begin_after(count)
        self._state = _State.SEEKING
        return BadFrame(reason=reason)


def _content_length(header: bytes) -> bytes | None:
    for line in header.splitlines():
        if line.lower().startswith(LENGTH):
            return line[len(LENGTH) :].strip()
    return None


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
    stands_alone: Callable[[Raw], bool] = lambda _: False
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
    """The other side's answer to our request `id`. `result` is unparsed JSON; `error` is None for a result."""

    id: RequestId
    result: Raw
    error: "RemoteError | None" = None


class Exited(Struct, frozen=True):
    """The other side has ended the connection. `orderly` says whether the closing request came before."""

    orderly: bool


class Refused(Struct, frozen=True):
    """A received body is no JSON-RPC message, or may not come now. `reply` must be sent to the other side."""

    reply: ErrorResponse


class Ignored(Struct, frozen=True):
    """A message that needs no reaction. `reason` is for the log; "" for messages that correct clients send."""

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
        """Returns what a message body from the other side means, and updates the open requests. Never raises."""
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
        """Returns the notification that cancels a request of this side, whose late answer is then ignored."""
        self._open.discard(request_id)
        return Notification(method=self._dialect.cancel, params={self._dialect.cancel_key: request_id})

    def answer(self, request_id: RequestId | None, result: object) -> Response:
        """Returns the message that answers a request. Raises `KeyError` if it doesn't wait for an answer."""
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
