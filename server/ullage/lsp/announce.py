"""Sends session updates to the client: as `ullage/session/update`, or as messages and progress bars.

A plain client, which doesn't understand `ullage/session/update`, gets messages and progress bars.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from lsprotocol import types
from msgspec import UNSET

from ullage.api.agent_methods import FOLLOWING_CHANGED, FollowingChange, wire_rows
from ullage.api.wire import UPDATE, SessionNotification
from ullage.lsp.connection import LspConnection, ProgressBoard
from ullage.lsp.handshake import Client
from ullage.model import words
from ullage.model.edits import EditTrigger
from ullage.model.figure import FollowedRow, Nearness
from ullage.model.updates import (
    CompactionMeta,
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Notice,
    Severity,
    Update,
)
from ullage.service.ports.world import Indexing

UPDATE_METHOD = f"ullage/{UPDATE}"
_CHANGED_METHOD = f"ullage/{FOLLOWING_CHANGED}"
MESSAGE_TYPES = {
    Severity.INFO: types.MessageType.Info,
    Severity.WARNING: types.MessageType.Warning,
    Severity.ERROR: types.MessageType.Error,
}
# A message is due where a conversation moves in this order.
_NEARER = (Nearness.FAR, Nearness.NEAR, Nearness.IMMINENT)


class _Bar:
    """A progress bar: a queue of the lines to show, in order, which ends with None. `characters` counts the characters
    of the summary so far."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.characters = 0


class Announcer:
    """Listens to a workspace: sends the session updates and the progress of indexing to the client.

    On a plain client, which doesn't understand `ullage/session/update`, an automatic compaction gets a progress bar
    whose Cancel button calls `cancel_compaction` with the session's id. Each message names the conversation by what
    `title_of` returns for the session's id, "" if it has no title.
    """

    def __init__(
        self,
        connection: LspConnection,
        board: ProgressBoard,
        cancel_compaction: Callable[[str], object],
        title_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._connection = connection
        self._board = board
        self._cancel_compaction = cancel_compaction
        self._title_of = title_of
        self._bars: dict[str, _Bar] = {}
        self._nearness: dict[str, Nearness] = {}
        # Commands that run now, and the messages that wait for their ends.
        self._commands = 0
        self._waiting: list[tuple[str, Severity]] = []
        self.client = Client()

    def session_updated(self, session_id: str, update: Update) -> None:
        """Sends one update to the client. A plain client gets a message for a notice, a progress bar for an automatic
        compaction, and nothing for other updates."""
        if self.client.takes_updates:
            self._connection.notify(UPDATE_METHOD, SessionNotification(session_id=session_id, update=update))
            return
        match update:
            case Notice():
                self.show_if_plain(self.titled(session_id, _notice_text(update)), update.severity)
            case CompactionUpdate(status=CompactionStatus.IN_PROGRESS):
                self._begin(session_id, update)
            case CompactionUpdate():
                self._end(update)
            case CompactionSummaryChunk():
                self._advance(update)
            case _:
                pass

    def following_changed(self, rows: Sequence[FollowedRow], gone: Sequence[str]) -> None:
        """Sends the followed conversations that have changed. Only a client that asked for them gets any. A plain one
        gets a message when a conversation comes nearer to its compaction or to the end of its window."""
        for row in rows:
            before = self._nearness.get(row.session_id, Nearness.FAR)
            now = self._nearness[row.session_id] = row.nearness or Nearness.FAR
            if row.used and row.window and _NEARER.index(now) > _NEARER.index(before):
                text = words.context_warning(row.used, row.window, row.compacts_at, agent=row.agent)
                self.show_if_plain(words.about(row.title, text), Severity.WARNING)
        self._connection.notify(_CHANGED_METHOD, FollowingChange(rows=wire_rows(rows), gone=tuple(gone)))

    def indexing(self, progress: Indexing) -> None:
        """Shows, in a progress bar, how many records of the archive are left to index before a search can run. Removes
        the bar when none are left. The bar's Cancel button cancels the search."""
        if progress.id not in self._bars:
            self._draw(progress.id, "Indexing the archive", progress.cancel)
        bar = self._bars[progress.id]
        if progress.left:
            bar.lines.put_nowait(f"{progress.left:,} of {progress.total:,} records left")
        else:
            del self._bars[progress.id]
            bar.lines.put_nowait(None)

    def show_if_plain(self, text: str, severity: Severity = Severity.INFO) -> None:
        """Shows a message in a plain client, one that doesn't understand `ullage/session/update`. Sends nothing to
        other clients, because they get the updates and show messages of their own."""
        if self.client.takes_updates:
            return
        if self._commands:
            self._waiting.append((text, severity))
        else:
            self.warn(text, severity)

    @contextmanager
    def command(self) -> Generator[None]:
        """While the block runs, messages wait for its end: where a progress bar and messages have the same line, as in
        Helix, the end of the bar removes what was shown before."""
        self._commands += 1
        try:
            yield
        finally:
            self._commands -= 1
            if not self._commands:
                waiting, self._waiting = self._waiting, []
                for text, severity in waiting:
                    self.warn(text, severity)

    def titled(self, session_id: str, text: str) -> str:
        """Returns a message with the title of the session that it is about, "" for none."""
        return words.about(self._title_of(session_id), text) if session_id else text

    def warn(self, text: str, severity: Severity = Severity.WARNING) -> None:
        """Shows a message in every client, plain or not."""
        params = types.ShowMessageParams(type=MESSAGE_TYPES[severity], message=text)
        self._connection.notify(types.WINDOW_SHOW_MESSAGE, params)

    def _begin(self, session_id: str, update: CompactionUpdate) -> None:
        # A compaction that the user asked for is shown in the progress bar of its command.
        if update.meta is UNSET or update.meta.ullage.trigger != EditTrigger.AUTOMATIC:
            return
        self._draw(update.compaction_id, "Compacting", lambda: self._cancel_compaction(session_id))

    def _draw(self, bar_id: str, title: str, cancel: Callable[[], object]) -> None:
        bar = self._bars[bar_id] = _Bar()
        self._connection.spawn(self._follow(bar, title, cancel))

    async def _follow(self, bar: _Bar, title: str, cancel: Callable[[], object]) -> None:
        async with self._board.show(title, cancel) as progress:
            while (line := await bar.lines.get()) is not None:
                progress.report(line)

    def _advance(self, update: CompactionSummaryChunk) -> None:
        if (bar := self._bars.get(update.compaction_id)) is not None:
            bar.characters += len(update.content.text)
            bar.lines.put_nowait(f"Writing the summary: {bar.characters:,} characters")

    def _end(self, update: CompactionUpdate) -> None:
        if (bar := self._bars.pop(update.compaction_id, None)) is None:
            return
        if update.status is CompactionStatus.COMPLETED and update.meta is not UNSET:
            bar.lines.put_nowait(_compacted(update.meta.ullage))
        bar.lines.put_nowait(None)


def _notice_text(notice: Notice) -> str:
    return notice.title if notice.description is UNSET else f"{notice.title} {notice.description}"


def _compacted(done: CompactionMeta) -> str:
    return words.compacted(done.messages_archived, done.context_size_before, done.context_size_after)
