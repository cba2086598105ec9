"""The toy server in process: bytes in by `send`, messages out in `sent`, without a subprocess or pipe."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from support.lsp_client import PATIENCE, RpcFailure, frame
from support.lsp_toy import Toy

Json = dict[str, Any]
_SENT_HEADER = b"\r\n\r\n"


class _Recorder:
    def __init__(self, take: Callable[[Json], None]) -> None:
        self._take = take

    def write(self, data: bytes) -> None:
        _, _, body = data.partition(_SENT_HEADER)
        self._take(msgspec.json.decode(body))

    @property
    def has_room(self) -> bool:
        return True

    async def drain(self) -> None:
        pass


class Rig:
    """The client's end of one in-process server."""

    def __init__(self) -> None:
        self.toy = Toy()
        self.server = self.toy.server()
        self.connection = self.server.connection
        self.sent: list[Json] = []
        self._changed = asyncio.Event()
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.connection.connect(_Recorder(self._take))

    def send(self, message: Any) -> None:
        self.send_bytes(frame(message))

    def send_bytes(self, data: bytes) -> None:
        self.connection.feed(data)

    def request(self, request_id: int | str, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any = None, request_id: int | str = "q") -> Any:
        self.request(request_id, method, params)
        return await self.answer(request_id)

    async def answer(self, request_id: int | str | None) -> Any:
        """Waits for the answer of a request and returns its result. Raises `RpcFailure` for an error."""
        message = await self.until(lambda message: "method" not in message and message["id"] == request_id)
        self.sent.remove(message)
        if "error" in message:
            raise RpcFailure(message["error"])
        return message["result"]

    async def until(self, fits: Callable[[Json], bool]) -> Json:
        """Waits for the first sent message that fits, sent already or later, and returns it."""
        async with asyncio.timeout(PATIENCE):
            while not (found := [message for message in self.sent if fits(message)]):
                self._changed.clear()
                await self._changed.wait()
        return found[0]

    async def settle(self) -> None:
        """Runs the event loop until nothing is ready."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def initialize(self, capabilities: Json | None = None, options: Any = None) -> Json:
        params = {"processId": None, "capabilities": capabilities or {}, "initializationOptions": options}
        result = await self.ask("initialize", params, "init")
        self.notify("initialized", {})
        await self.settle()
        return result

    def notified(self, method: str) -> list[Any]:
        return [message["params"] for message in self.sent if message.get("method") == method and "id" not in message]

    def _take(self, message: Json) -> None:
        if "method" in message and "id" in message and message["method"] in self.answers:
            answer = self.answers[message["method"]](message["params"])
            asyncio.get_running_loop().call_soon(self.send, {"jsonrpc": "2.0", "id": message["id"], "result": answer})
        self.sent.append(message)
        self._changed.set()
