"""The request engine of the doors: one client's connection, its running requests, and our own requests to the client.

`jsonrpc/envelope.py` knows which messages are owed, and this module runs them on asyncio. It is in `api/` because all
doors use it and because it gives errors their codes (`api/protocol.py`); `jsonrpc/` is pure.

A message is decoded once, its params by the type of its method. Requests and notifications run as tasks, which start in
the order in which the messages came. Every request gets exactly one answer. An answer contains no text of an exception
that is not an `UllageError`. While the client leaves much of our output unread, no new request starts, so the memory
held for a client is bounded.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from ullage.api.protocol import error_object
from ullage.jsonrpc.envelope import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Answered,
    BadFrame,
    BadReply,
    Called,
    Cancelled,
    Dialect,
    ErrorObject,
    ErrorResponse,
    Event,
    Exited,
    Ignored,
    Notification,
    Notified,
    Peer,
    Refused,
    RequestId,
    RpcError,
    read_params,
)
from ullage.model.errors import UllageError
from ullage.model.json_values import encode_json
from ullage.system.stdio import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    # The proxy starts without what these import.
    from ullage.api.protocol import AnyMethod
    from ullage.service.conversation.workspace import Workspace

log = logging.getLogger(__name__)
R = TypeVar("R")
Handler = Callable[[Any], Coroutine[Any, Any, Any]]
ReadParams = Callable[[Raw], Any]


class Reply(Struct, frozen=True):
    """What a handler may return: the result, and a function that is called as soon as it was sent."""

    result: Any
    then: Callable[[], object]


class Framing(Protocol):
    """Divides a byte stream into message bodies, and adds to a body what separates it from others when it is sent."""

    def feed(self, data: bytes) -> Iterable[bytes | bytearray | BadFrame]:
        """Yields the message bodies that `data` completes, and a `BadFrame` for each fault found in it."""
        ...

    def end(self) -> Iterable[bytes | bytearray | BadFrame]:
        """Yields the last bodies and faults when the stream has ended."""
        ...

    def frame(self, body: bytes) -> bytes:
        """Returns a message body with its frame, as the bytes to send."""
        ...


# Gets a request's method and params, and returns what is entered while the request runs.
Around = Callable[[str, Any], AbstractContextManager[Any]]


def no_around(_method: str, _params: Any) -> AbstractContextManager[Any]:
    """Returns nothing to enter."""
    return nullcontext()


class _Route(Struct, frozen=True):
    read: ReadParams
    handler: Handler


class RequestEngine:
    """One client's connection: runs the client's requests, answers each once, and sends requests to the
    client. `feed` takes input, and output goes to the writer that `connect` was given. `stopped` gets the exit status
    when the connection has ended. `describe` converts an `UllageError` to the error object that is sent. `around` may
    be set, and is entered while the handler of a request runs."""

    def __init__(
        self,
        framing: Framing,
        dialect: Dialect,
        *,
        prefix: str = "",
        describe: Callable[[UllageError], ErrorObject] = error_object,
    ) -> None:
        self._framing = framing
        self._peer = Peer(dialect, prefix)
        self._describe = describe
        self._routes: dict[str, _Route] = {}
        self._running: dict[RequestId | None, asyncio.Task[None]] = {}
        self._questions: dict[RequestId, asyncio.Future[Answered]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._writer: Writer | None = None
        self._gate = asyncio.Lock()
        self.around: Around = no_around
        self.stopped: Future[int] = Future()

    def add_route(self, method: str, params: Any, handler: Handler) -> None:
        """Registers the handler of a request or notification. It gets the params decoded as the type `params`."""
        decoder = msgspec.json.Decoder(params)
        self.add_reader(method, lambda raw: read_params(method, raw, decoder), handler)

    def add_methods(self, prefix: str, methods: "Iterable[AnyMethod]", workspace: "Callable[[], Workspace]") -> None:
        """Registers Ullage's methods under the door's prefix. `workspace` is called in the task of each request."""
        for method in methods:
            self.add_route(prefix + method.name, method.params, partial(_call, method, workspace))

    def add_reader(self, method: str, read: ReadParams, handler: Handler) -> None:
        """Registers the handler of a method whose params `read` decodes. `read` raises `RpcError` for bad params."""
        self._routes[method] = _Route(read, handler)

    def clear_routes(self) -> None:
        """Removes the handlers of all methods, so that others can be registered."""
        self._routes.clear()

    # Messages to the client

    def notify(self, method: str, params: object) -> None:
        self._send(Notification(method=method, params=params))

    async def ask(self, method: str, params: object, result: type[R]) -> R:
        """Sends a request to the client and returns its result as the type `result`, however long the answer takes.
        Raises `BadReply` if the answer is an error or has the wrong shape. If the task is cancelled, the request is
        cancelled at the client."""
        request = self._peer.ask(method, params)
        reply: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._questions[request.id] = reply
        self._send(request)
        try:
            return _read_reply(await reply, result)
        except asyncio.CancelledError:
            self._send(self._peer.take_back(request.id))
            raise
        finally:
            del self._questions[request.id]

    async def room(self) -> None:
        """Returns once the client has read most of the output. A handler that sends many messages waits here."""
        while self._writer is not None and not self._writer.has_room:
            await self._writer.drain()

    # The life of the connection

    def connect(self, writer: Writer) -> None:
        """Sets the writer that takes all output from now on."""
        self._writer = writer

    def feed(self, data: bytes) -> None:
        """Takes the client's next bytes. Never raises: a message that cannot be served is answered by an error."""
        for item in self._framing.feed(data):
            self._take(item)

    def end(self) -> None:
        """Ends the connection with exit status 0, because the client's input has ended."""
        for item in self._framing.end():
            self._take(item)
        self.stop(0)

    def stop(self, status: int) -> None:
        """Ends the connection with an exit status. Later calls are ignored."""
        if not self.stopped.done():
            self.stopped.set_result(status)

    async def drain(self, seconds: float) -> None:
        """Lets running requests end for up to `seconds`, then cancels them and all other work."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)
        tasks = {*self._running.values(), *self._background}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def cancel_others(self) -> None:
        """Cancels every running request except the one whose handler calls this method."""
        for task in self._running.values():
            if task is not asyncio.current_task():
                task.cancel()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Starts background work, which `drain` cancels. A failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._finish_background)

    def owes(self, request_id: RequestId | None) -> bool:
        """Returns whether a request of the client with this id is not answered yet."""
        return request_id in self._peer.owed

    def unfinished(self) -> int:
        """Returns how much work has not ended: requests in both directions, notifications and background tasks. It is 0
        if everything has ended; a request may be counted twice."""
        kept = (self._running, self._background, self._questions, self._peer.owed, self._peer.open)
        return sum(map(len, kept))

    # Messages in

    def _take(self, item: bytes | bytearray | BadFrame) -> None:
        if self.stopped.done():
            return
        if isinstance(item, BadFrame):
            self._send(ErrorResponse(id=None, error=ErrorObject(code=item.code, message=item.reason)))
        else:
            self._handle(self._peer.receive(item))

    def _handle(self, event: Event) -> None:
        match event:
            case Called():
                self._start(event)
            case Notified(method=method, params=params):
                self._start_notification(method, params)
            case Answered(id=request_id):
                # If the task that asked was cancelled a moment ago, the answer is dropped.
                if not self._questions[request_id].done():
                    self._questions[request_id].set_result(event)
            case Cancelled(id=request_id):
                self._running[request_id].cancel()
            case Exited(orderly=orderly):
                self.stop(0 if orderly else 1)
            case Refused(reply=reply):
                self._send(reply)
            case Ignored(reason=reason):
                if reason:
                    log.warning("Ignored %s", reason)

    def _start(self, call: Called) -> None:
        try:
            if (route := self._routes.get(call.method)) is None:
                near = get_close_matches(call.method, self._routes, 1, 0.85)
                remedy = f" Is {near[0]} meant?" if near else ""
                raise RpcError(METHOD_NOT_FOUND, f"There is no method {call.method}.{remedy}")
            params = route.read(call.params)
        except Exception as error:  # noqa: BLE001 - a reader may be another library's
            self._send(self._peer.refuse(call.id, self._error_object(error, "a request")))
            return
        # The callback is given the id alone: with the call it would keep the body, perhaps tens of megabytes, until the
        # request is answered.
        request_id = call.id
        task = asyncio.get_running_loop().create_task(self._run(request_id, call.method, route.handler, params))
        self._running[request_id] = task
        task.add_done_callback(lambda task: self._finish(request_id, task))

    def _start_notification(self, method: str, params: Raw) -> None:
        if (route := self._routes.get(method)) is None:
            return
        try:
            read = route.read(params)
        except RpcError as refusal:
            # A notification has no answer, so the error is logged.
            log.warning("Ignored the notification %s: %s", method, refusal)
        else:
            self.spawn(self._run_notification(route.handler, read))

    async def _run_notification(self, handler: Handler, params: Any) -> None:
        await self._turn()
        await handler(params)

    async def _turn(self) -> None:
        # The lock is fair: waiting requests start in the order in which they came, one at a time, so that each sees how
        # much output the requests before it have written.
        async with self._gate:
            await self.room()

    # Answers out

    async def _run(self, request_id: RequestId | None, method: str, handler: Handler, params: Any) -> None:
        then: Callable[[], object] | None = None
        try:
            await self._turn()
            with self.around(method, params):
                result = await handler(params)
            if isinstance(result, Reply):
                result, then = result.result, result.then
            # Encoded here, so that a result that cannot be encoded counts as a failure of the request.
            message: Struct | None = self._peer.answer(request_id, Raw(encode_json(result)))
        except asyncio.CancelledError:
            message = self._peer.end_cancelled(request_id)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises, the request gets its answer
            message = self._peer.refuse(request_id, self._error_object(error, "a request"))
        del self._running[request_id]
        if message is not None:
            self._send(message)
        if then is not None:
            then()

    def _finish(self, request_id: RequestId | None, task: "asyncio.Task[None]") -> None:
        # A task that was cancelled before its first step has not answered.
        if self._running.get(request_id) is task:
            del self._running[request_id]
            if message := self._peer.end_cancelled(request_id):
                self._send(message)

    def _finish_background(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("A notification failed: %s", self._error_object(error, "a notification").message)

    def _error_object(self, error: BaseException, what: str) -> ErrorObject:
        if isinstance(error, UllageError):
            return self._describe(error)
        if isinstance(error, RpcError):
            return error.error_object
        reference = uuid.uuid4().hex[:8]
        log.error("Internal error in %s, reference %s", what, reference, exc_info=error)
        message = f"Internal error, reference {reference}; Ullage's log has the details."
        return ErrorObject(code=INTERNAL_ERROR, message=message)

    def _send(self, message: Struct) -> None:
        if self._writer is not None:
            self._writer.write(self._framing.frame(encode_json(message)))


def _read_reply(reply: Answered, result: type[R]) -> R:
    if reply.error is not None:
        raise BadReply(reply.error.message)
    try:
        return msgspec.json.decode(reply.result, type=result)
    except (ValueError, RecursionError) as error:
        raise BadReply(str(error)) from None


async def _call(method: "AnyMethod", workspace: "Callable[[], Workspace]", params: Any) -> Any:
    return await method.handler(workspace(), params)
