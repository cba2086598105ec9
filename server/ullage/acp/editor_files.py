"""Files as the client's editor holds them, by `fs/read_text_file`."""

import logging

from msgspec import Struct

from ullage.api.permissions import Ask
from ullage.jsonrpc.errors import BadReply

log = logging.getLogger(__name__)
METHOD = "fs/read_text_file"


class ReadTextFileParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `ReadTextFileRequest`; `path` is absolute."""

    session_id: str
    path: str


class ReadTextFileResult(Struct, frozen=True, kw_only=True):
    """ACP's `ReadTextFileResponse`."""

    content: str


class ClientFiles:
    """Asks the client. A client that cannot say leaves the file on disk to be read."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def read_text(self, session_id: str, path: str) -> str | None:
        params = ReadTextFileParams(session_id=session_id, path=path)
        try:
            return (await self._ask(METHOD, params, ReadTextFileResult)).content
        except BadReply as error:
            log.warning("The client did not give %s: %s", path, error)
            return None
