"""The request engine under both doors: one client's connection, with the requests that run and the questions to it.

`jsonrpc/peer.py` knows what is owed to whom; this module runs it on asyncio. It stands in `api/` because both doors use
it and because it gives errors their codes (`api/codes.py`); `jsonrpc/` is pure.

A message is decoded once, its params by the type of the method. Requests and notifications run as tasks, which start
in the order in which their messages came. Every request gets exactly one answer, and no answer holds text of an
exception that is not ours. While the client leaves much of what was sent to it unread, no request starts, so that the
memory held for a client is bounded, however much it asks.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from ullage.api.codes import error_object
from ullage.jsonrpc.envelope import ErrorResponse, Notification, RequestId, read_params
from ullage.jsonrpc.peer import (
    Answered,
    Called,
    Cancelled,
    Dialect,
    Event,
    Exited,
    Ignored,
    Notified,
    Peer,
    Refused,
    cancelled,
)
from ullage.jsonrpc.rpc_errors import INTERNAL_ERROR, METHOD_NOT_FOUND, BadFrame, BadReply, ErrorObject, RpcError
from ullage.model.errors import UllageError
from ullage.model.json_values import encode_json
from ullage.system.writer import Writer

log = logging.getLogger(__name__)
R = TypeVar("R")
Handler = Callable[[Any], Coroutine[Any, Any, Any]]
ReadParams = Callable[[Raw], Any]


class Reply(Struct, frozen=True):
    """A handler's result, and a function to call as soon as the result is sent."""

    result: Any
    then: Callable[[], object]


class Framing(Protocol):
    """How message bodies are cut out of a byte stream, and how a body is sent."""

    def feed(self, data: bytes) -> Iterable[bytes | BadFrame]:
        """The bodies that `data` completes, and the faults found in it."""
        ...

    def end(self) -> Iterable[bytes | BadFrame]:
        """The rest, when the stream has ended."""
        ...

    def frame(self, body: bytes) -> bytes:
        """A body as it is sent."""
        ...


class _Route(Struct, frozen=True):
    read: ReadParams
    handler: Handler


class RequestEngine:
    """One client's connection. `feed` takes bytes in, the writer given to `connect` takes bytes out, `stopped` holds
    the exit status once the client is done. `describe` makes the wire's error of one of ours."""

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
        self.stopped: Future[int] = Future()

    def add_route(self, method: str, params: Any, handler: Handler) -> None:
        """Serves `method`, as request or notification. `handler` gets params of type `params`."""
        decoder = msgspec.json.Decoder(params)
        self.add_reader(method, lambda raw: read_params(method, raw, decoder), handler)

    def add_reader(self, method: str, read: ReadParams, handler: Handler) -> None:
        """Serves `method` with params that are not read by msgspec. `read` raises `RpcError` for bad params."""
        self._routes[method] = _Route(read, handler)

    # Messages to the client

    def notify(self, method: str, params: object) -> None:
        """Sends a notification."""
        self._send(Notification(method=method, params=params))

    async def ask(self, method: str, params: object, result: type[R]) -> R:
        """The client's answer to a request of ours, however long it takes. Raises `BadReply`. If the task is cancelled,
        the request is taken back."""
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
        """Returns once the client has read most of what was sent. A handler that sends many messages waits here."""
        while self._writer is not None and not self._writer.has_room:
            await self._writer.drain()

    # The life of the connection

    def connect(self, writer: Writer) -> None:
        """Where bytes are written from now on."""
        self._writer = writer

    def feed(self, data: bytes) -> None:
        """Takes bytes in any split. Never raises: a request that cannot be served is refused."""
        for item in self._framing.feed(data):
            self._take(item)

    def end(self) -> None:
        """The end of input ends the connection."""
        for item in self._framing.end():
            self._take(item)
        self.stop(0)

    def stop(self, status: int) -> None:
        """Ends the connection; the first status counts."""
        if not self.stopped.done():
            self.stopped.set_result(status)

    async def drain(self, seconds: float) -> None:
        """Lets running requests end for so long, then cancels them and all other work."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)
        tasks = {*self._running.values(), *self._background}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def cancel_others(self) -> None:
        """Cancels every running request but the one whose handler calls this."""
        for task in self._running.values():
            if task is not asyncio.current_task():
                task.cancel()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs work that nobody waits for; a failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._finish_background)

    def unfinished(self) -> int:
        """How many requests, notifications and questions have not ended; 0 at rest."""
        kept = (self._running, self._background, self._questions, self._peer.owed, self._peer.open)
        return sum(map(len, kept))

    # Messages in

    def _take(self, item: bytes | BadFrame) -> None:
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
                # The task that asked may have been cancelled a moment ago; then nobody takes the answer.
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
                raise RpcError(METHOD_NOT_FOUND, f"There is no method {call.method}.")
            params = route.read(call.params)
        except Exception as error:  # noqa: BLE001 - a reader may be another library's
            self._send(self._peer.refuse(call.id, self._error_object(error, "a request")))
            return
        task = asyncio.get_running_loop().create_task(self._run(call.id, route.handler, params))
        self._running[call.id] = task
        task.add_done_callback(lambda task: self._finish(call.id, task))

    def _start_notification(self, method: str, params: Raw) -> None:
        if (route := self._routes.get(method)) is None:
            return
        try:
            read = route.read(params)
        except RpcError as refusal:
            # A notification has no answer.
            log.warning("Ignored the notification %s: %s", method, refusal)
        else:
            self.spawn(self._run_notification(route.handler, read))

    async def _run_notification(self, handler: Handler, params: Any) -> None:
        await self._turn()
        await handler(params)

    async def _turn(self) -> None:
        # The lock is fair: what waits for room starts in the order it came, and one at a time, so that each sees how
        # much those before it have written.
        async with self._gate:
            await self.room()

    # Answers out

    async def _run(self, request_id: RequestId | None, handler: Handler, params: Any) -> None:
        then: Callable[[], object] | None = None
        try:
            await self._turn()
            result = await handler(params)
            if isinstance(result, Reply):
                result, then = result.result, result.then
            # Encoded here, so that a result that cannot be sent is a failure of the request.
            message = self._peer.answer(request_id, Raw(encode_json(result)))
        except asyncio.CancelledError:
            message = self._peer.refuse(request_id, cancelled().error_object)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises, the request gets its answer
            message = self._peer.refuse(request_id, self._error_object(error, "a request"))
        del self._running[request_id]
        self._send(message)
        if then is not None:
            then()

    def _finish(self, request_id: RequestId | None, task: "asyncio.Task[None]") -> None:
        # A task that was cancelled before its first step could not answer.
        if self._running.get(request_id) is task:
            del self._running[request_id]
            self._send(self._peer.refuse(request_id, cancelled().error_object))

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
