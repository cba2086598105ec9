"""Sends updates of sessions to the client, each in a form that the client can show.

A client that cannot show compactions gets each as a tool call of kind `think`. A client that cannot show notices gets
them as text, except those that repeat what the tool call of a compaction shows. While an answer is written, what was
cleared becomes one text after it.
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ullage.acp.connection import AcpConnection, Client
from ullage.acp.updates import AgentContentChunk, OwnUpdate, with_fences, with_whole_paths
from ullage.model import words
from ullage.model.updates import (
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Notice,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    ToolContent,
    ToolKind,
    ToolStatus,
    Update,
    UserMessageChunk,
)

UPDATE_METHOD = "session/update"
_CLEARED = "context_cleared"
_SHOWN_BY_COMPACTION = {"auto_compacting", "compaction_complete", "compaction_failed"}


class SessionNotification(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `session/update`."""

    session_id: str
    update: Update | OwnUpdate


class Announcer:
    """Listens to a workspace and sends its session updates to one client. `folder` takes a session's id and returns its
    working folder."""

    def __init__(self, connection: AcpConnection, folder: Callable[[str], str]) -> None:
        self._connection = connection
        self._folder = folder
        self._silenced = False
        # The notices that wait for the end of an answer, and the number of prompts that are being answered, by session.
        self._waiting: dict[str, list[Notice]] = {}
        self._answering = Counter[str]()
        self.client = Client()
        self.on_prompt: Callable[[str, UserMessageChunk], object] = lambda _, __: None

    def session_updated(self, session_id: str, update: Update) -> None:
        """Sends one update in a form that the client can show.

        A user's message is given to `on_prompt` alone, because in version 1 the client that sent the prompt shows it
        already. Nothing is sent inside a `silenced` block.
        """
        if self._silenced:
            return
        match update:
            case CompactionUpdate() | CompactionSummaryChunk() if not self.client.shows_compactions:
                self._show_compaction(session_id, update)
            case Notice() if not self.client.shows_notices:
                self._send_notice(session_id, update)
            case UserMessageChunk():
                self.on_prompt(session_id, update)
            case _:
                self.send(session_id, self._shown(session_id, update))

    def send(self, session_id: str, update: Update | OwnUpdate) -> None:
        """Sends an update to the client unchanged."""
        self._connection.notify(UPDATE_METHOD, SessionNotification(session_id=session_id, update=update))

    async def room(self) -> None:
        """Waits until the client has read most of what was sent to it, so that the output doesn't fill the memory."""
        await self._connection.room()

    def replay(self, session_id: str, update: Update | OwnUpdate) -> None:
        """Sends one update of a stored transcript, in a form that the client can show.

        A stored transcript has no notices, and each of its compactions is one update. A client that can't show
        compactions gets it as a tool call and the update that ends the call.
        """
        match update:
            case CompactionUpdate() if not self.client.shows_compactions:
                begun = replace(update, status=CompactionStatus.IN_PROGRESS)
                self._show_compaction(session_id, begun)
                self._show_compaction(session_id, update)
            case _:
                self.send(session_id, self._shown(session_id, update))

    def send_text(self, session_id: str, text: str) -> None:
        """Sends text that the client shows as the agent's answer. The text is not added to the transcript."""
        self.send(session_id, AgentContentChunk(content=TextContent(text=text)))

    @contextmanager
    def silenced(self) -> Generator[None]:
        """Drops all updates inside the block, in which a session is created, because the client doesn't know the
        session's id yet. The block must not await anything, or updates of other sessions would be lost, too."""
        self._silenced = True
        try:
            yield
        finally:
            self._silenced = False

    @contextmanager
    def answering(self, session_id: str) -> Generator[None]:
        """Answers a prompt of the session inside the block. For a client that shows no notices, a long turn would have
        one text after another in its answer that old tool results were cleared; it gets one, after the answer."""
        self._answering[session_id] += 1
        try:
            yield
        finally:
            self._answering[session_id] -= 1
            waiting = self._waiting.pop(session_id, [])
            if waiting:
                self._send_text_of(session_id, cleared_in_answer(waiting))
            if not self._answering[session_id]:
                del self._answering[session_id]

    def _shown(self, session_id: str, update: Update | OwnUpdate) -> Update | OwnUpdate:
        match update:
            case ToolCall():
                return with_whole_paths(update, self._folder(session_id))
            case ToolCallUpdate():
                return with_fences(update)
            case _:
                return update

    def _show_compaction(self, session_id: str, update: CompactionUpdate | CompactionSummaryChunk) -> None:
        if isinstance(update, CompactionUpdate):
            self.send(session_id, compaction_as_tool_call(update))

    def _send_notice(self, session_id: str, notice: Notice) -> None:
        kind = "" if notice.meta is UNSET else notice.meta.ullage.kind
        if kind in _SHOWN_BY_COMPACTION:
            return
        if kind == _CLEARED and self._answering[session_id]:
            self._waiting.setdefault(session_id, []).append(notice)
        else:
            self._send_text_of(session_id, notice)

    def _send_text_of(self, session_id: str, notice: Notice) -> None:
        description = "" if notice.description is UNSET else f" {notice.description}"
        self.send_text(session_id, f"\n\n_{notice.title}{description}_\n\n")


def cleared_in_answer(notices: Sequence[Notice]) -> Notice:
    """Returns one notice for all notices of an answer: the last, and how many there were."""
    last = notices[-1]
    return last if len(notices) == 1 else replace(last, title=words.cleared_again(len(notices), last.title))


def compaction_as_tool_call(update: CompactionUpdate) -> ToolCall | ToolCallUpdate:
    """Returns a compaction as a tool call, for a client that can't show compactions.

    For a compaction that has begun, the result is a `ToolCall` of kind `think`. For one that has ended, it is the
    `ToolCallUpdate` that ends the call, with the summary if the compaction succeeded, otherwise with the error as its
    title.
    """
    match update.status:
        case CompactionStatus.IN_PROGRESS:
            return ToolCall(
                tool_call_id=update.compaction_id,
                title="Compacting the context",
                kind=ToolKind.THINK,
                status=ToolStatus.IN_PROGRESS,
            )
        case CompactionStatus.COMPLETED:
            return ToolCallUpdate(
                tool_call_id=update.compaction_id,
                status=ToolStatus.COMPLETED,
                title=_done(update),
                content=() if update.summary is UNSET else tuple(ToolContent(content=text) for text in update.summary),
            )
        case CompactionStatus.FAILED | CompactionStatus.CANCELLED:
            failed = words.compaction_failed("" if update.error is UNSET else update.error)
            return ToolCallUpdate(
                tool_call_id=update.compaction_id,
                status=ToolStatus.FAILED,
                title=failed if update.status is CompactionStatus.FAILED else "Compaction cancelled",
            )


def _done(update: CompactionUpdate) -> str:
    if update.meta is UNSET:
        return "Compacted the context"
    done = update.meta.ullage
    return words.compacted(done.messages_archived, done.context_size_before, done.context_size_after)
