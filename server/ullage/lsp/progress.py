"""Progress bars in the client: `$/progress` on the client's token or on one of our own."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from lsprotocol import types

from ullage.jsonrpc.rpc_errors import BadReply
from ullage.lsp.connection import LspConnection

# A client that has not created a token by then will not show it; the work must not wait longer, seconds.
CREATE_TIMEOUT = 5.0


class Progress:
    """One bar while it is shown; silent where the client shows none."""

    def __init__(self, connection: LspConnection, token: types.ProgressToken | None) -> None:
        self._connection = connection
        self._token = token

    def begin(self, title: str, *, cancellable: bool) -> None:
        """Draws it."""
        self._send(types.WorkDoneProgressBegin(title=title, cancellable=cancellable))

    def report(self, message: str, percentage: int | None = None) -> None:
        """A line on how the work stands, and if known how much of it is done (0 to 100)."""
        self._send(types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self, message: str | None = None) -> None:
        """Takes it away, leaving a last line."""
        self._send(types.WorkDoneProgressEnd(message=message))

    def _send(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._connection.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))


class ProgressBoard:
    """Every bar that is shown, and what cancelling it does."""

    def __init__(self, connection: LspConnection) -> None:
        self._connection = connection
        self._cancels: dict[types.ProgressToken, Callable[[], object]] = {}
        self.may_create = False

    @asynccontextmanager
    async def show(
        self, title: str, cancel: Callable[[], object], token: types.ProgressToken | None = None
    ) -> AsyncGenerator[Progress]:
        """A bar around some work: on the client's `token`, else on a created one, else silent."""
        token = await self._create() if token is None else token
        progress = Progress(self._connection, token)
        if token is not None:
            self._cancels[token] = cancel
        progress.begin(title, cancellable=True)
        try:
            yield progress
        finally:
            if token is not None:
                self._cancels.pop(token, None)
            progress.end()

    def cancel(self, token: types.ProgressToken) -> None:
        """The person pressed Cancel; a token that is gone already is ignored."""
        if (cancel := self._cancels.get(token)) is not None:
            cancel()

    async def _create(self) -> types.ProgressToken | None:
        if not self.may_create:
            return None
        token = uuid.uuid4().hex
        params = types.WorkDoneProgressCreateParams(token=token)
        request = self._connection.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, object)
        try:
            await asyncio.wait_for(request, CREATE_TIMEOUT)
        except (BadReply, TimeoutError):
            return None
        return token
