"""The two doors in this process, each on a store of its own: a caller passes bodies in and gets messages out."""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from attacks.frames import ACP_METHODS, LSP_METHODS
from ullage.app.acp_agent import make_agent
from ullage.app.language_server import make_language_server
from ullage.model.settings import Settings
from ullage.system.stdio import Connection

Json = dict[str, Any]
# Bytes: the longest body that the doors accept here. The limit is small, so that many bodies can exceed it.
LONGEST = 1 << 20
# Turns of the event loop within which a door must have answered, if no work is left in the door.
_TURNS = 20
_SECONDS = 20.0
# The window is known, and no model is ever asked, whatever keys the machine has.
_NOBODY = Settings(model="claude-sonnet-4-5", provider="nobody")


class Door(ABC):
    """One door, with the messages that it has sent since the last exchange. The object is the writer of its
    connection."""

    name: str
    prefix: str
    methods: Sequence[str]
    disturbances: Sequence[bytes]
    opening: ClassVar[Json]

    def __init__(self, connection: Connection, closing: AsyncExitStack) -> None:
        self._connection = connection
        self._closing = closing
        self._sent: list[Json] = []
        connection.connect(self)

    @abstractmethod
    def framed(self, body: bytes) -> bytes:
        """Returns the bytes that carry a body on the wire."""

    @abstractmethod
    def carried(self, body: bytes) -> bytes:
        """Returns the body as it arrives at the door."""

    @abstractmethod
    def bodies(self, data: bytes) -> list[bytes]:
        """Returns the bodies in the bytes that the door has sent."""

    @abstractmethod
    def unfinished(self) -> int:
        """Returns the number of requests and frames that are not finished."""

    @property
    def is_alive(self) -> bool:
        """Whether the door still serves."""
        return not self._connection.stopped.done()

    def write(self, data: bytes) -> None:
        """Takes the bytes that the door sends. Raises an error if they are not messages."""
        for body in self.bodies(data):
            self._sent.append(msgspec.json.decode(body))

    @property
    def has_room(self) -> bool:
        """Whether the writer can take more: always."""
        return True

    async def drain(self) -> None:
        """Returns at once: there is always room."""
        await asyncio.sleep(0)

    async def close(self) -> None:
        """Cancels what still runs, and closes the store."""
        await self._connection.drain(0)
        await self._closing.aclose()

    async def exchange(self, body: bytes) -> list[Json]:
        """Returns the answers to a body: all that the door sends until it is idle, without notifications."""
        return await self._exchange(self.framed(body))

    async def disturb(self, rng: random.Random) -> None:
        """Sends bytes that break the framing, and drops the answers."""
        await self._exchange(b"".join(rng.choices(self.disturbances, k=rng.randrange(1, 4))))

    async def _exchange(self, data: bytes) -> list[Json]:
        self._connection.feed(data)
        async with asyncio.timeout(_SECONDS):
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            while self.unfinished():
                await asyncio.sleep(0)
        sent, self._sent = self._sent, []
        return [message for message in sent if "method" not in message]

    async def ask(self, method: str, **params: Any) -> Any:
        """Returns the result of a valid request. Raises `AssertionError` if the door answers anything else."""
        message = {"jsonrpc": "2.0", "id": "sound", "method": method, "params": params}
        answers = await self.exchange(msgspec.json.encode(message))
        assert [answer["id"] for answer in answers] == ["sound"], answers
        assert "result" in answers[0], answers
        return answers[0]["result"]


class AcpDoor(Door):
    """The door of `ullage acp`."""

    name, prefix, methods = "acp", "_ullage/", ACP_METHODS
    disturbances = (
        b"\n",
        b"\r\n",
        b" \t \r\n",
        b'{"jsonrpc":\n"2.0"}\n',
        b"\r",
        b"\x00\n",
        b"Content-Length: 5\r\n\r\n",
    )
    opening: ClassVar[Json] = {"protocolVersion": 1}

    def __init__(self, store: Path) -> None:
        closing = AsyncExitStack()
        self._agent = make_agent(closing, store, _NOBODY, LONGEST)
        super().__init__(self._agent.connection, closing)

    def framed(self, body: bytes) -> bytes:
        return self.carried(body) + b"\n"

    def carried(self, body: bytes) -> bytes:
        # A line break would end the frame.
        return body.replace(b"\n", b" ")

    def bodies(self, data: bytes) -> list[bytes]:
        assert data.endswith(b"\n")
        return data[:-1].split(b"\n")

    def unfinished(self) -> int:
        return self._agent.connection.unfinished()


class LspDoor(Door):
    """The door of `ullage lsp`."""

    name, prefix, methods = "lsp", "ullage/", LSP_METHODS
    disturbances = (
        b"Content-Length: x\r\n\r\n",
        b"Content-Type: y\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"x" * 10_000,
    )
    opening: ClassVar[Json] = {
        "processId": None,
        "capabilities": {},
        "initializationOptions": {"client": {"name": "fuzz"}},
    }

    def __init__(self, store: Path) -> None:
        closing = AsyncExitStack()
        self._server = make_language_server(closing, store, LONGEST)
        super().__init__(self._server.connection, closing)

    def framed(self, body: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def carried(self, body: bytes) -> bytes:
        return body

    def bodies(self, data: bytes) -> list[bytes]:
        header, _, body = data.partition(b"\r\n\r\n")
        assert header == b"Content-Length: %d" % len(body)
        return [body]

    def unfinished(self) -> int:
        return self._server.connection.unfinished()


DOORS: dict[str, type[AcpDoor] | type[LspDoor]] = {"acp": AcpDoor, "lsp": LspDoor}
