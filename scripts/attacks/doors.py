"""The two doors in this process, and what each answers to wrong frames.

Each door has a store of its own: a caller passes bodies in and gets messages out. Each frame must get a right answer,
and an earlier session stays as it was. Which answers are right is decided by Python's own JSON reader, not by the
door's. In some cases both readers are right although they differ: for numbers beyond a double, and for text that is not
UTF-8 in a part that the door skips. Then several answers are right.
"""

import asyncio
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
from msgspec import Struct

from attacks.attack import Ground, Outcome
from attacks.frames import ACP_METHODS, LSP_METHODS, Frame, FrameMaker, Json
from ullage.api.protocol import CODES
from ullage.app.acp_agent import make_agent
from ullage.app.language_server import make_language_server
from ullage.model.settings import Settings
from ullage.system.stdio import Connection

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

    prefix, methods = "_ullage/", ACP_METHODS
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

    prefix, methods = "ullage/", LSP_METHODS
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


# Wrong frames

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
# LSP's "not initialized" has the same number as ACP's "not found". An internal error is never right.
REFUSALS = frozenset({PARSE, REQUEST, METHOD, PARAMS, -32800, -32000, -32001, -32002, *CODES.values()})
# After this many frames, broken framing and then valid requests are sent. The next frames name a new session, since the
# last one may be closed, deleted or configured out of use.
_PROBE_EVERY = 100
# After so many faults a run ends.
_MOST_FAULTS = 20
_TALK = [("user", "Fix src/login.py"), ("assistant", "I read src/login.py and fixed it."), ("user", "Thanks")]


class Owed(Struct, frozen=True):
    """The right answers to a body. One of `ids` is answered once; None is the id of an error if no id could be read.
    An error must have one of `codes`. `result` and `silence` say whether a result, or no answer, is right, too.
    Without ids there must be no answer."""

    ids: tuple[Any, ...] = ()
    codes: frozenset[int] = frozenset()
    result: bool = False
    silence: bool = False


NOTHING = Owed()
NOT_JSON = Owed((None,), frozenset({PARSE}))
TOO_LONG = Owed((None,), frozenset({REQUEST}))


def owed(body: bytes) -> Owed:
    """Returns the right answers to a body."""
    if not body.strip():
        # An empty line is no message at the ACP door; an empty frame is invalid JSON at the LSP door.
        return Owed((None,), frozenset({PARSE}), silence=True)
    try:
        message = json.loads(body.decode(), parse_constant=_refuse)
    except RecursionError:
        return Owed((None, *_guess_id(body)), frozenset({PARSE, REQUEST, METHOD, PARAMS}))
    except ValueError:
        return _for_no_json(body)
    if not isinstance(message, dict):
        return Owed((None,), frozenset({REQUEST}))
    return _for_object(cast("dict[str, Any]", message))


def _for_object(message: dict[str, Any]) -> Owed:
    request_id = _mended(message.get("id"))
    method = message.get("method")
    whole = isinstance(request_id, int) and not isinstance(request_id, bool)
    known = request_id if whole or isinstance(request_id, str) else None
    if isinstance(request_id, float) or (whole and not -(2**63) <= int(request_id) < 2**64):
        # A reader may take 1.0 for a whole number, and may read or refuse numbers beyond 64 bits.
        return Owed((request_id, None), REFUSALS, result=True)
    is_envelope = message.get("jsonrpc") == "2.0" and ("id" not in message or known is not None or request_id is None)
    if not is_envelope or not isinstance(method, str | None) or (method is None and not _is_reply(message)):
        return Owed((known,), frozenset({REQUEST}))
    if method is None or "id" not in message:
        return NOTHING
    return Owed((known, None), REFUSALS, result=True)


def _is_reply(message: dict[str, Any]) -> bool:
    return "id" in message and bool(message.keys() & {"result", "error"})


def _for_no_json(body: bytes) -> Owed:
    """Returns the right answers to a body that is not JSON. A door may skip invalid UTF-8 in a part that it does not
    decode."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return Owed((None, *_guess_id(body)), REFUSALS, result=True, silence=True)
    return NOT_JSON


def _mended(request_id: Any) -> Any:
    """Returns the id as an answer has it. UTF-8 cannot hold half a surrogate pair, so a replacement character comes
    back."""
    if not isinstance(request_id, str):
        return request_id
    return request_id.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _guess_id(body: bytes) -> tuple[Any, ...]:
    try:
        message = json.loads(body.decode(errors="replace"))
    except (ValueError, RecursionError):
        return (1, 2, 3)
    found = cast("dict[str, Any]", message).get("id") if isinstance(message, dict) else None
    return (found,)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


async def fuzz(door: Door, seed: int, numbers: range) -> list[str]:
    """Sends the frames of these numbers, then closes the door. Returns the faults."""
    try:
        return await _fuzz(door, seed, numbers)
    finally:
        await door.close()


async def _fuzz(door: Door, seed: int, numbers: range) -> list[str]:
    await door.ask("initialize", **door.opening)
    session_id = await _talk(door)
    before = await _state(door, session_id)
    maker = FrameMaker(seed, door.methods, door.prefix, await _talk(door), LONGEST)
    faults: list[str] = []
    for number in numbers:
        frame = maker.make(number)
        answers = await door.exchange(frame.body)
        if fault := _fault(door, frame, answers):
            faults.append(f"frame {number}, {frame.kind}: {fault}; it was {frame.body[:300]!r}")
        if number % _PROBE_EVERY == 0:
            await door.disturb(random.Random(f"{seed}/{number}"))
            await _state(door, session_id)
            maker.session_id = await _talk(door)
        if not door.is_alive or len(faults) >= _MOST_FAULTS:
            break
    if await _state(door, session_id) != before:
        faults.append(f"the session is not what it was: {before!r}")
    return faults


async def _talk(door: Door) -> str:
    session_id: str = (await door.ask(f"{door.prefix}session/new", cwd="/project"))["sessionId"]
    messages = [{"role": role, "content": text} for role, text in _TALK]
    await door.ask(f"{door.prefix}session/append", sessionId=session_id, messages=messages)
    return session_id


async def _state(door: Door, session_id: str) -> Any:
    """Returns the whole state of a session that no frame names."""
    messages = await door.ask(f"{door.prefix}context/messages", sessionId=session_id, scope="transcript")
    usage = await door.ask(f"{door.prefix}context/get", sessionId=session_id)
    return messages["entries"], messages["total"], usage["used"]


def _fault(door: Door, frame: Frame, answers: list[dict[str, Any]]) -> str:
    if not door.is_alive:
        return "the door is closed"
    wanted = TOO_LONG if len(frame.body) > LONGEST else owed(door.carried(frame.body))
    if len(answers) == 1 and wanted.ids:
        return _fault_in(answers[0], wanted)
    if not answers and (wanted.silence or not wanted.ids):
        return ""
    return f"there are {len(answers)} answers: {answers}"


def _fault_in(answer: dict[str, Any], wanted: Owed) -> str:
    if answer["id"] not in wanted.ids:
        return f"the answer's id is {answer['id']!r}, not one of {wanted.ids}"
    if "error" not in answer:
        return "" if wanted.result else f"there is a result: {answer}"
    code = answer["error"]["code"]
    return "" if code in wanted.codes else f"the error is {answer['error']}, not one of {sorted(wanted.codes)}"


def wrong_frames(ground: Ground) -> Outcome:
    """Guards against frames that get no answer or a wrong one, or change a session: random frames at both doors."""
    numbers, faults = ground.numbers(300, 100_000), list[str]()
    for name, door in DOORS.items():
        found = asyncio.run(fuzz(door(ground.folder / f"{name}.db"), ground.seed, numbers))
        faults += [f"{name}: {fault}" for fault in found]
    tried = len(numbers) * len(DOORS)
    return Outcome(tried=tried, survived="every frame got what it was owed", faults=tuple(faults))
