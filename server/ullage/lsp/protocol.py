"""The Language Server Protocol on pygls, with its sharp edges filed off.

A message is decoded once. Methods added by `add_route` get params of their own msgspec type and run as tasks that
start in the order their messages came; what pygls itself serves goes to pygls. Every request gets exactly one
answer, and no answer holds text of an exception that is not ours.
"""

import asyncio
import contextvars
import logging
import uuid
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any

import msgspec
from cattrs import Converter
from lsprotocol import types
from msgspec import UNSET, Raw, Struct
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from ullage.api.error_object import error_object
from ullage.jsonrpc import codes
from ullage.jsonrpc.envelope import (
    ErrorResponse,
    Incoming,
    Notification,
    RequestId,
    Response,
    read_envelope,
    read_params,
)
from ullage.jsonrpc.errors import ErrorData, ErrorObject, RpcError
from ullage.jsonrpc.peer import no_reply
from ullage.lsp.questions import Questions
from ullage.lsp.standard import reply_to_builtins, structure_message
from ullage.model.errors import UllageError
from ullage.model.json_values import encode_json

log = logging.getLogger(__name__)
# The Language Server Protocol's code for a request before `initialize`.
NOT_INITIALIZED = -32002

Handler = Callable[[Any], Coroutine[Any, Any, Any]]


class Route(Struct, frozen=True, kw_only=True):
    """How a method of our own is served: its params' decoder and its handler."""

    decoder: msgspec.json.Decoder[Any]
    handler: Handler


class UllageProtocol(LanguageServerProtocol):
    """One client's connection. `handle_body` takes messages in, `writer` takes them out, `questions` are our own to the
    client, `stopped` holds the exit status once the client is done."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        self._routes: dict[str, Route] = {}
        self._running: dict[RequestId, asyncio.Task[Raw]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._initialized = False
        self.stopped: Future[int] = Future()
        self.questions = Questions(self._send_data)
        self.on_initialize: Callable[[types.InitializeParams, types.InitializeResult], None] = _accept
        super().__init__(server, converter)

    def add_route(self, method: str, params: Any, handler: Handler) -> None:
        """Serves `method`, as request or notification: `handler` gets params of type `params`."""
        self._routes[method] = Route(decoder=msgspec.json.Decoder(params), handler=handler)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Runs work that nobody waits for; a failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._finish_background)
        return task

    async def drain(self, seconds: float) -> None:
        """Lets running requests end for so long, then cancels them and all other work."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)
        tasks = {*self._running.values(), *self._background}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def stop(self, status: int) -> None:
        """Ends the connection; the first status counts."""
        if not self.stopped.done():
            self.stopped.set_result(status)

    def unfinished(self) -> int:
        """How much is kept of requests and notifications that have not ended; 0 at rest."""
        kept = (self._running, self._background, self._request_futures, self._result_types, self.questions)
        return sum(map(len, kept))

    # Messages in

    def handle_body(self, body: bytes) -> None:
        """Takes one message. Never raises; a request that cannot be served is answered."""
        if self.stopped.done():
            return
        request_id: RequestId | None = None
        try:
            message = read_envelope(body)
            request_id = message.id if message.id is not UNSET else None
            self._take(message)
        except RpcError as refusal:
            self.refuse(
                refusal.code, str(refusal), refusal.request_id if request_id is None else request_id, refusal.kind
            )
        except Exception as error:  # noqa: BLE001 - the one boundary to pygls, whose code may raise anything
            self._fail(request_id, error, "a message")

    def refuse(self, code: int, message: str, request_id: RequestId | None = None, kind: str = "") -> None:
        """Sends an error response; without `request_id`, about a message that could not be read."""
        data = ErrorData(kind=kind) if kind else UNSET
        self._send_data(ErrorResponse(id=request_id, error=ErrorObject(code=code, message=message, data=data)))

    def _take(self, message: Incoming) -> None:
        if message.method is UNSET:
            self._take_reply(message)
        elif message.id is UNSET:
            self._take_notification(message.method, message.params)
        elif message.id is None:
            raise RpcError(codes.INVALID_REQUEST, "A request's id is a number or a string, not null.")
        else:
            self._take_request(message.id, message.method, message.params)

    def _take_request(self, request_id: RequestId, method: str, params: Raw) -> None:
        self._check_lifecycle(request_id, method)
        route = self._routes.get(method)
        if method == types.SHUTDOWN:
            self._shut_down(request_id)
        elif route is not None:
            self._start(request_id, route.handler, read_params(method, params, route.decoder))
        elif self._is_pygls_own(method):
            message = self._structure(method, params, request_id)
            contextvars.copy_context().run(self._handle_request, request_id, method, message.params)
        else:
            raise RpcError(codes.METHOD_NOT_FOUND, f"There is no method {method}.")

    def _check_lifecycle(self, request_id: RequestId, method: str) -> None:
        if self._shutdown:
            raise RpcError(codes.INVALID_REQUEST, "The server is shutting down.")
        if method == types.INITIALIZE and self._initialized:
            raise RpcError(codes.INVALID_REQUEST, "The server is initialized already.")
        if method != types.INITIALIZE and not self._initialized:
            raise RpcError(NOT_INITIALIZED, "The first request must be initialize.", "ServerNotInitialized")
        if request_id in self._running:
            raise RpcError(codes.INVALID_REQUEST, "A request with this id is running.")

    def _take_notification(self, method: str, params: Raw) -> None:
        if method == types.EXIT:
            self.stop(0 if self._shutdown else 1)
            return
        if self._shutdown or not self._initialized:
            return
        route = self._routes.get(method)
        try:
            if method == types.CANCEL_REQUEST:
                self._cancel(self._structure(method, params).params.id)
            elif route is not None:
                self.spawn(route.handler(read_params(method, params, route.decoder)))
            elif self._is_pygls_own(method):
                message = self._structure(method, params)
                contextvars.copy_context().run(self._handle_notification, method, message.params)
        except RpcError as refusal:
            # A notification has no answer, and a toast would blame the person for the client's mistake.
            log.warning("Ignored the notification %s: %s", method, refusal)

    def _is_pygls_own(self, method: str) -> bool:
        try:
            self._get_handler(method)
        except JsonRpcMethodNotFound:
            return False
        return True

    def _structure(self, method: str, params: Raw, request_id: RequestId | None = None) -> Any:
        return structure_message(self._converter, self.get_message_type(method), method, params, request_id)

    def _take_reply(self, message: Incoming) -> None:
        if self.questions.take(message):
            return
        if not message.is_reply:
            raise no_reply(message)
        request_id = message.id
        if request_id is UNSET or request_id is None or request_id not in self._request_futures:
            log.warning("Ignored a reply to no request of ours: %r", request_id)
            return
        try:
            reply: Any = self.structure_message(reply_to_builtins(message, request_id))
        except (JsonRpcException, ValueError):
            fault = types.ResponseError(code=codes.INVALID_REQUEST, message="the client's reply is malformed")
            self._handle_response(request_id, error=fault)
        else:
            self.handle_message(reply)

    # Running and answering

    def _start(self, request_id: RequestId, handler: Handler, params: Any) -> None:
        task = asyncio.get_running_loop().create_task(_encoded(handler, params))
        self._running[request_id] = task
        task.add_done_callback(lambda task: self._answer(request_id, task))

    def _answer(self, request_id: RequestId, task: "asyncio.Task[Raw]") -> None:
        del self._running[request_id]
        if task.cancelled():
            self.refuse(codes.REQUEST_CANCELLED, "The request was cancelled.", request_id, "Cancelled")
        elif (error := task.exception()) is not None:
            self._fail(request_id, error, "a request")
        else:
            self._send_data(Response(id=request_id, result=task.result()))

    def _fail(self, request_id: RequestId | None, error: BaseException, what: str) -> None:
        if isinstance(error, UllageError):
            self._send_data(ErrorResponse(id=request_id, error=error_object(error)))
        elif isinstance(error, RpcError):
            self.refuse(error.code, str(error), request_id, error.kind)
        else:
            reference = _log_failure(what, error)
            message = f"Internal error, reference {reference}; the server's log has the details."
            self.refuse(codes.INTERNAL_ERROR, message, request_id)

    def _finish_background(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, UllageError):
            log.warning("A notification failed: %s", error)
        else:
            _log_failure("a notification", error)

    def _cancel(self, request_id: Any) -> None:
        # lsprotocol lets values of other types through.
        task = self._running.get(request_id) if isinstance(request_id, RequestId) else None
        if task is not None:
            task.cancel()

    def _shut_down(self, request_id: RequestId) -> None:
        self._shutdown = True
        for task in self._running.values():
            task.cancel()
        self._send_data(Response(id=request_id, result=None))

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """Gives pygls' own answer, after `on_initialize` has read the one and added to the other."""
        result = yield from super().lsp_initialize(params)
        self.on_initialize(params, result)
        self._initialized = True
        return result

    # pygls' own handlers: the same answers, and no future outlives its handler

    def _execute_handler(self, msg_id: RequestId, *args: Any, **kwargs: Any) -> None:
        super()._execute_handler(msg_id, *args, **kwargs)
        if (future := self._request_futures.get(msg_id)) is not None:
            future.add_done_callback(lambda _: self._forget(msg_id))

    def _send_handler_result(self, future: "Future[Any]", *, msg_id: RequestId) -> None:
        if (error := future.exception()) is not None:
            self._fail(msg_id, error, "a request")
        else:
            self._send_response(msg_id, result=future.result())

    def _check_handler_result(self, future: "Future[Any]") -> None:
        if (error := future.exception()) is not None:
            _log_failure("a notification", error)

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: RequestId | None = None,
    ) -> "Future[Any]":
        """Asks the client; the future is forgotten when it is answered or cancelled."""
        msg_id = uuid.uuid4().hex if msg_id is None else msg_id
        future = super().send_request(method, params, callback, msg_id)
        future.add_done_callback(lambda _: self._forget(msg_id))
        return future

    def _forget(self, msg_id: RequestId) -> None:
        self._request_futures.pop(msg_id, None)
        self._result_types.pop(msg_id, None)

    # Messages out

    def notify(self, method: str, params: Any | None = None) -> None:
        """Sends a notification with params of lsprotocol's or of our own types."""
        if isinstance(params, Struct):
            self._send_data(Notification(method=method, params=params))
        else:
            super().notify(method, params)

    def _send_data(self, data: Any) -> None:
        body = encode_json(data if isinstance(data, Struct) else self._converter.unstructure(data))
        if self.writer is not None:
            self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def _accept(_params: types.InitializeParams, _result: types.InitializeResult) -> None:
    pass


async def _encoded(handler: Handler, params: Any) -> Raw:
    # Inside the task, so that a result that cannot be sent is a failure of the request.
    return Raw(encode_json(await handler(params)))


def _log_failure(what: str, error: BaseException) -> str:
    reference = uuid.uuid4().hex[:8]
    log.error("Internal error in %s, reference %s", what, reference, exc_info=error)
    return reference
