"""Progress bars in the client: `$/progress` with the client's token or with a token that the server creates."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from lsprotocol import types

from ullage.jsonrpc.errors import BadReply
from ullage.lsp.connection import LspConnection

# Seconds. The work waits for the token, so a client that takes longer to create it gets no progress bar.
CREATE_TIMEOUT = 5.0


class Progress:
    """One progress bar. Without a token it shows nothing."""

    def __init__(self, connection: LspConnection, token: types.ProgressToken | None) -> None:
        self._connection = connection
        self._token = token

    def begin(self, title: str, *, cancellable: bool) -> None:
        """Shows the bar."""
        self._send(types.WorkDoneProgressBegin(title=title, cancellable=cancellable))

    def report(self, message: str, percentage: int | None = None) -> None:
        """Shows a line about the progress. `percentage` is the share that is done, 0 to 100, or None if unknown."""
        self._send(types.WorkDoneProgressReport(message=message, percentage=percentage))

    def end(self, message: str | None = None) -> None:
        """Removes the bar, with a last line if given."""
        self._send(types.WorkDoneProgressEnd(message=message))

    def _send(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        if self._token is not None:
            self._connection.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))


class ProgressBoard:
    """All progress bars that are shown, with the function that cancels the work of each."""

    def __init__(self, connection: LspConnection) -> None:
        self._connection = connection
        self._cancels: dict[types.ProgressToken, Callable[[], object]] = {}
        self.may_create = False

    @asynccontextmanager
    async def show(
        self, title: str, cancel: Callable[[], object], token: types.ProgressToken | None = None
    ) -> AsyncGenerator[Progress]:
        """Shows a bar while the context is open: with the client's `token`, or a created token, or not at all.

        If the user cancels the bar, `cancel` is called.
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
        """Cancels the work of a bar, because the user pressed Cancel. A token that is no longer shown is ignored."""
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
