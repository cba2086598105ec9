"""Answers Ullage's own methods (`_ullage/…`) for the client, by the handlers that `ullage acp` has for them, and
adds their names to the agent's answer to `initialize`. The agent gets nothing of these requests."""

from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from ullage import __version__
from ullage.acp.connection import DIALECT, wire_error
from ullage.api.engine import Handler, RequestEngine
from ullage.api.protocol import AnyMethod
from ullage.jsonrpc.envelope import LineFraming, RequestId
from ullage.model.errors import StoreUnavailable
from ullage.model.json_values import JsonObject, as_object, encode_json
from ullage.proxy.connection import Connection
from ullage.proxy.lines import Piece, fields, peek, with_result

PREFIX = "_ullage/"
# The agent answers `initialize`.
_DIALECT = replace(DIALECT, opening="")


class OwnMethods:
    """Runs the client's requests of Ullage's own methods, each of which gets one answer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._engine: RequestEngine | None = None

    def take(self, piece: Piece) -> None:
        """Takes a line of the client with one of the methods, and answers it in a task."""
        if self._engine is None:
            engine = RequestEngine(LineFraming(), _DIALECT, describe=wire_error)
            engine.around = self._connection.options.around
            engine.connect(self._connection.client)
            for method in _methods():
                engine.add_route(PREFIX + method.name, method.params, self._serve(method))
            self._engine = engine
        self._engine.feed(piece.data)

    def cancel(self, request_id: RequestId | None, piece: Piece) -> bool:
        """Cancels a request by the client's notification. Returns whether the request was one of these."""
        is_ours = self._engine is not None and self._engine.owes(request_id)
        if is_ours:
            self.take(piece)
        return is_ours

    def _serve(self, method: AnyMethod) -> Handler:
        async def handle(params: Any) -> Any:
            workspace = await self._connection.recorder.opened()
            if workspace is None:
                raise StoreUnavailable("the session store failed, and nothing is recorded; start the proxy again")
            return await method.handler(workspace, params)

        return handle


def with_own_methods(piece: Piece, name: str) -> Piece:
    """Returns the agent's answer to `initialize` with Ullage's version and the names of its own methods, as `ullage
    acp` names them. `name` is that of the agent's capabilities in the answer. Returns an answer without a result as it
    is."""
    frame = peek(piece.data)
    if frame is None or not memoryview(frame.result):
        return piece
    capabilities = as_object(fields(frame.result).get(name))
    names = [PREFIX + method.name for method in _methods()]
    told: JsonObject = {**as_object(capabilities.get("_meta")), "ullage": {"version": __version__, "methods": names}}
    changed = Raw(encode_json({**capabilities, "_meta": told}))
    return Piece(with_result(piece.data, {name: changed}))


def _methods() -> tuple[AnyMethod, ...]:
    # Imported here, because the handlers would delay the start.
    from ullage.api.methods import METHODS  # noqa: PLC0415

    return METHODS
