"""An agent whose every line a test writes: a program that connects its standard streams to the test by a socket."""

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PATIENCE = 180.0
_CHUNK = 1 << 16


class Puppet:
    """The agent's end in the test. After `dies` the next process of the agent connects again."""

    def __init__(self) -> None:
        self.name = "puppet"
        self.version = 1
        # The params of the last `initialize`.
        self.greeted: Json = {}
        self.abilities: Json = {"loadSession": True, "sessionCapabilities": {}}
        self._came: asyncio.Queue[Json] = asyncio.Queue()
        self._writer: asyncio.StreamWriter | None = None
        self._gone = asyncio.Event()
        self._gone.set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._gone.clear()
        with suppress(ConnectionError):
            while line := await reader.readline():
                self._came.put_nowait(json.loads(line))
            writer.close()
            await writer.wait_closed()
        self._gone.set()

    async def gone(self) -> None:
        """Returns once no process of the agent is connected."""
        async with asyncio.timeout(PATIENCE):
            await self._gone.wait()

    async def gets(self, method: str) -> Json:
        """Returns the next message to the agent, which must have this method. `initialize` is answered here."""
        message = await self.gets_next()
        assert message.get("method") == method, message
        return message

    async def gets_next(self) -> Json:
        """Returns the next message to the agent, whatever it is. `initialize` is answered here."""
        async with asyncio.timeout(PATIENCE):
            message = await self._came.get()
            while message.get("method") == "initialize":
                self.greeted = message["params"]
                self.answers(message, protocolVersion=self.version, **self._introduction())
                message = await self._came.get()
        return message

    async def gets_both(self, first: str, second: str) -> tuple[Json, Json]:
        """Returns the next two messages to the agent, which have these methods and come in either order."""
        async with asyncio.timeout(PATIENCE):
            found = {message["method"]: message for message in [await self._came.get(), await self._came.get()]}
        assert found.keys() == {first, second}, found
        return found[first], found[second]

    async def gets_any(self) -> Json:
        """Returns the next message to the agent, whatever it is."""
        async with asyncio.timeout(PATIENCE):
            return await self._came.get()

    async def gets_answer(self) -> Json:
        """Returns the next message to the agent, which must be an answer of the client's."""
        async with asyncio.timeout(PATIENCE):
            message = await self._came.get()
        assert "method" not in message, message
        return message

    def _introduction(self) -> Json:
        info = {"name": self.name, "version": "1"}
        if self.version == 2:
            return {"info": info, "capabilities": {"session": self.abilities}}
        return {"agentInfo": info, "agentCapabilities": self.abilities}

    def asks(self, request_id: int, method: str, **params: Any) -> None:
        """Sends the client a request of the agent's own."""
        self._sends({"id": request_id, "method": method, "params": params})

    def answers(self, request: Json, **result: Any) -> None:
        self._sends({"id": request["id"], "result": result})

    def refuses(self, request: Json, code: int = -32002) -> None:
        self._sends({"id": request["id"], "error": {"code": code, "message": "no"}})

    def updates(self, session_id: str, **update: Any) -> None:
        self._sends({"method": "session/update", "params": {"sessionId": session_id, "update": update}})

    def says(self, session_id: str, text: str) -> None:
        self.updates(session_id, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})

    def reports(self, session_id: str, used: int, size: int = 8_000) -> None:
        self.updates(session_id, sessionUpdate="usage_update", used=used, size=size)

    def prints(self, text: str) -> None:
        assert self._writer is not None
        self._writer.write(text.encode())

    def dies(self) -> None:
        assert self._writer is not None
        self._writer.close()

    def _sends(self, message: Json) -> None:
        assert self._writer is not None
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@asynccontextmanager
async def puppet(folder: Path) -> AsyncGenerator[tuple[Puppet, list[str]]]:
    """Yields the agent's end, and the command line of the program that connects to it."""
    agent, path = Puppet(), str(folder / "puppet")
    server = await asyncio.start_unix_server(agent.connected, path, limit=1 << 24)
    try:
        yield agent, [sys.executable, "-S", __file__, path]
    finally:
        server.close()
        await agent.gone()


def _relay(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(path)

        def outward() -> None:
            for line in sys.stdin.buffer:
                end.sendall(line)
            os._exit(0)

        threading.Thread(target=outward, daemon=True).start()
        while data := end.recv(_CHUNK):
            os.write(1, data)
        os._exit(3)


if __name__ == "__main__":
    _relay(sys.argv[1])
