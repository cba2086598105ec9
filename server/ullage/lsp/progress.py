"""Progress bars in the client: `$/progress` with the client's token or with a token that the server creates."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from lsprotocol import types

from ullage.jsonrpc.rpc_errors import BadReply
from ullage.lsp.connection import LspConnection

# Seconds. The work waits for the token, so a client that takes longer to create it gets no progress bar.
CREATE_TIMEOUT = 5.0


class Progress:
    """A progress bar in the client, named by `token`. If `token` is None, its methods send nothing."""

    def __init__(self, connection: LspConnection, token: types.ProgressToken | None) -> None:
        self._connection = connection
        self._token = token

    def begin(self, title: str, *, cancellable: bool) -> None:
        """Shows the bar with a title, and with a Cancel button if `cancellable` is true."""
        self._send(types.WorkDoneProgressBegin(title=title, cancellable=cancellable))

    def report(self, message: str, percentage: int | None = None) -> None:
        """Shows a line of text in the bar. `percentage` is the finished share of the work, 0 to 100, or None if
        unknown."""
        self._send(types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self, message: str | None = None) -> None:
        """Removes the bar. `message` is a last line for the user, or None."""
        self._send(types.WorkDoneProgressEnd(message=message))

    def _send(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._connection.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))


class ProgressBoard:
    """All progress bars that are shown now, each with the function that cancels its work. `may_create` is true if the
    client lets the server create progress bars."""

    def __init__(self, connection: LspConnection) -> None:
        self._connection = connection
        self._cancels: dict[types.ProgressToken, Callable[[], object]] = {}
        self.may_create = False

    @asynccontextmanager
    async def show(
        self, title: str, cancel: Callable[[], object], token: types.ProgressToken | None = None
    ) -> AsyncGenerator[Progress]:
        """Shows a progress bar while the block runs, and yields it.

        The bar has the client's `token`, or without one a token that the server creates. If the client can't create it
        within 5 seconds, no bar is shown and the block runs all the same. If the user cancels the bar, `cancel` is
        called.
        """
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
        """Calls the `cancel` function of the bar with this token, because the user pressed Cancel. The token of a bar
        that is no longer shown is ignored."""
        if (cancel := self._cancels.get(token)) is not None:
            cancel()

    async def _create(self) -> types.ProgressToken | None:
        if not self.may_create:
            return None
        token = uuid.uuid4().hex
        params = types.WorkDoneProgressCreateParams(token=token)
        request = self._connection.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, object)
        try:
            async with asyncio.timeout(CREATE_TIMEOUT):
                await request
        except (BadReply, TimeoutError):
            return None
        return token
