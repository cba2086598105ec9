"""Our own requests to the client: msgspec types both ways, which pygls would make named tuples of."""

import asyncio
import uuid
from collections.abc import Callable
from typing import TypeVar

import msgspec
from lsprotocol import types
from msgspec import Raw, Struct

from ullage.jsonrpc.envelope import Incoming, Notification, Request, RequestId
from ullage.jsonrpc.errors import BadReply

R = TypeVar("R")
# Our requests' ids begin so, unlike pygls's.
_OURS = "ullage-"


class Questions:
    """What was asked and is not answered yet."""

    def __init__(self, send: Callable[[Struct], None]) -> None:
        self._send = send
        self._open: dict[RequestId, asyncio.Future[Raw]] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def ask(self, method: str, params: Struct, result: type[R]) -> R:
        """The client's answer, however long it takes. Raises `BadReply`. A question whose task is cancelled is taken
        back."""
        request_id = f"{_OURS}{uuid.uuid4().hex}"
        reply: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._open[request_id] = reply
        self._send(Request(id=request_id, method=method, params=params))
        try:
            return msgspec.json.decode(await reply, type=result)
        except asyncio.CancelledError:
            self._send(Notification(method=types.CANCEL_REQUEST, params={"id": request_id}))
            raise
        except msgspec.DecodeError as error:
            raise BadReply(str(error)) from None
        finally:
            del self._open[request_id]

    def take(self, message: Incoming) -> bool:
        """Takes a reply in; False if it is to none of these questions. One that was taken back is answered, too: the
        protocol wants it so."""
        if not isinstance(message.id, str) or not message.id.startswith(_OURS):
            return False
        reply = self._open.get(message.id)
        if reply is not None and not reply.done():
            if bytes(message.error):
                reply.set_exception(BadReply(bytes(message.error).decode(errors="replace")))
            else:
                # The message's bytes are the connection's: they must outlast it.
                reply.set_result(message.result.copy())
        return True
