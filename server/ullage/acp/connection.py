"""A client's connection: lines in and out, requests running, questions open.

A message is decoded once, its params by the method's own type. Requests run as tasks that start in the order their
messages came. Every request gets exactly one answer, and no answer holds text of an exception that is not ours.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from ullage.acp.errors import wire_error
from ullage.jsonrpc import codes
from ullage.jsonrpc.envelope import ErrorResponse, RequestId, read_params
from ullage.jsonrpc.errors import BadReply, ErrorObject, RpcError
from ullage.jsonrpc.lines import MAX_LINE, LineSplitter, LineTooLong
from ullage.jsonrpc.peer import Answered, Called, Cancelled, Event, Ignored, Notified, Peer, Refused, cancelled
from ullage.model.errors import UllageError
from ullage.model.json_values import encode_json
from ullage.system.stdio import Writer

log = logging.getLogger(__name__)
R = TypeVar("R")
Handler = Callable[[Any], Coroutine[Any, Any, Any]]


class Reply(Struct, frozen=True):
    """A handler's result, and what is to be done as soon as the client has been sent it."""

    result: Any
    then: Callable[[], object]


class _Route(Struct, frozen=True):
    decoder: msgspec.json.Decoder[Any]
    handler: Handler


class AcpConnection:
    """`feed` takes bytes in, the writer takes messages out, `stopped` holds the exit status once the client is done.

    `opening` is the one method that may, and must, come first.
    """

    def __init__(self, opening: str, max_line: int = MAX_LINE) -> None:
        self._opening = opening
        self._peer = Peer()
        self._lines = LineSplitter(max_line)
        self._routes: dict[str, _Route] = {}
        self._running: dict[RequestId | None, asyncio.Task[tuple[Raw, Callable[[], object]]]] = {}
        self._questions: dict[RequestId, asyncio.Future[Answered]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._writer: Writer | None = None
        self._opened = False
        self._relaxed = asyncio.Event()
        self._relaxed.set()
        self.stopped: Future[int] = Future()

    def add_route(self, method: str, params: Any, handler: Handler) -> None:
        """Serves `method`, as request or notification: `handler` gets params of type `params`."""
        self._routes[method] = _Route(msgspec.json.Decoder(params), handler)

    def connect(self, writer: Writer) -> None:
        """Where messages go from now on."""
        self._writer = writer

    def tell(self, method: str, params: Struct) -> None:
        """Sends a notification."""
        self._send(self._peer.tell(method, params))

    async def ask(self, method: str, params: Struct, result: type[R]) -> R:
        """The client's answer, however long it takes. Raises `BadReply`. A question whose task is cancelled is taken
        back."""
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

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs work that nobody waits for; a failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._finish_background)

    def unfinished(self) -> int:
        """How much is kept of requests, notifications and questions that have not ended; 0 at rest."""
        kept = (self._running, self._background, self._questions, self._peer.owed, self._peer.open)
        return sum(map(len, kept))

    # The life of the connection

    def feed(self, data: bytes) -> None:
        """Takes bytes in any split."""
        for item in self._lines.feed(data):
            if isinstance(item, LineTooLong):
                self._refuse_line(f"A message is longer than {item.limit} bytes.")
            else:
                self._take_line(item)

    def end(self) -> None:
        """The end of input ends the connection; a last line may lack its break."""
        self._take_line(self._lines.end())
        self.stop(0)

    def hold(self, held: bool) -> None:
        """Much waits for the client to read it, or no longer does."""
        (self._relaxed.clear if held else self._relaxed.set)()

    async def relaxed(self) -> None:
        """Returns once not much waits for the client: for what sends more than it is asked for."""
        await self._relaxed.wait()

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

    # Messages in

    def _take_line(self, line: bytes) -> None:
        body = line.strip(b" \t\r\n")
        if body and not self.stopped.done():
            self._take(self._peer.receive(body))

    def _refuse_line(self, reason: str) -> None:
        self._send(ErrorResponse(id=None, error=ErrorObject(code=codes.INVALID_REQUEST, message=reason)))

    def _take(self, event: Event) -> None:
        match event:
            case Called():
                self._call(event)
            case Notified(method=method, params=params):
                self._notify(method, params)
            case Answered(id=request_id):
                # One whose task was cancelled a moment ago takes no answer any more.
                if not self._questions[request_id].done():
                    self._questions[request_id].set_result(event)
            case Cancelled(id=request_id):
                self._running[request_id].cancel()
            case Refused(reply=reply):
                self._send(reply)
            case Ignored(reason=reason):
                log.warning("Ignored %s", reason)

    def _call(self, call: Called) -> None:
        try:
            route = self._route(call.method)
            params = read_params(call.method, call.params, route.decoder)
            self._opened = True
        except RpcError as refusal:
            self._send(self._peer.refuse(call.id, refusal.error_object))
            return
        task = asyncio.get_running_loop().create_task(_encoded(route.handler, params))
        self._running[call.id] = task
        task.add_done_callback(lambda task: self._answer(call, task))

    def _route(self, method: str) -> _Route:
        if method not in self._routes:
            raise RpcError(codes.METHOD_NOT_FOUND, f"There is no method {method}.")
        if (method == self._opening) == self._opened:
            said = "came already" if self._opened else "must come first"
            raise RpcError(codes.INVALID_REQUEST, f"{self._opening} {said}.")
        return self._routes[method]

    def _notify(self, method: str, params: Raw) -> None:
        route = self._routes.get(method)
        if route is None or not self._opened:
            return
        try:
            self.spawn(route.handler(read_params(method, params, route.decoder)))
        except RpcError as refusal:
            # A notification has no answer.
            log.warning("Ignored the notification %s: %s", method, refusal)

    # Answers out

    def _answer(self, call: Called, task: "asyncio.Task[tuple[Raw, Callable[[], object]]]") -> None:
        del self._running[call.id]
        if task.cancelled():
            self._refuse(call, cancelled().error_object)
        elif (error := task.exception()) is not None:
            self._refuse(call, _error_object(error, "a request"))
        else:
            result, then = task.result()
            self._send(self._peer.answer(call.id, result))
            then()

    def _refuse(self, call: Called, error: ErrorObject) -> None:
        # An opening that failed may be tried again.
        self._opened = self._opened and call.method != self._opening
        self._send(self._peer.refuse(call.id, error))

    def _finish_background(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("A notification failed: %s", _error_object(error, "a notification").message)

    def _send(self, message: Struct) -> None:
        if self._writer is not None:
            self._writer.write(encode_json(message) + b"\n")


def _read_reply(reply: Answered, result: type[R]) -> R:
    if reply.error is not None:
        raise BadReply(reply.error.message)
    try:
        return msgspec.json.decode(reply.result, type=result)
    except (ValueError, RecursionError) as error:
        raise BadReply(str(error)) from None


async def _encoded(handler: Handler, params: Any) -> tuple[Raw, Callable[[], object]]:
    # Inside the task, so that a result that cannot be sent is a failure of the request.
    result = await handler(params)
    if isinstance(result, Reply):
        return Raw(encode_json(result.result)), result.then
    return Raw(encode_json(result)), _nothing


def _nothing() -> None:
    pass


def _error_object(error: BaseException, what: str) -> ErrorObject:
    if isinstance(error, UllageError):
        return wire_error(error)
    if isinstance(error, RpcError):
        return error.error_object
    reference = uuid.uuid4().hex[:8]
    log.error("Internal error in %s, reference %s", what, reference, exc_info=error)
    message = f"Internal error, reference {reference}; the agent's log has the details."
    return ErrorObject(code=codes.INTERNAL_ERROR, message=message)
