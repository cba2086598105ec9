"""What happens in sessions, told to the client: as the updates it understands, else in a form that every client shows.

A client that shows no compactions gets each as a tool call of kind `think`; one that shows no notices gets them as
text, but for those that repeat what is shown of a compaction.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import PurePath

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ullage.acp.client import Client
from ullage.acp.connection import AcpConnection
from ullage.acp.updates import AgentContentChunk, OwnUpdate
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
_SAID_BY_COMPACTION = {"auto_compacting", "compaction_complete", "compaction_failed"}


class SessionNotification(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `session/update`."""

    session_id: str
    update: Update | OwnUpdate


class Announcer:
    """The workspace's listener; `folder` gives a session's."""

    def __init__(self, connection: AcpConnection, folder: Callable[[str], str]) -> None:
        self._connection = connection
        self._folder = folder
        self._hushed = False
        self.client = Client()

    def session_updated(self, session_id: str, update: Update) -> None:
        """Passes one update on."""
        if self._hushed:
            return
        match update:
            case CompactionUpdate() | CompactionSummaryChunk() if not self.client.shows_compactions:
                self._show_compaction(session_id, update)
            case Notice() if not self.client.shows_notices:
                self._say_notice(session_id, update)
            case UserMessageChunk():
                # The client that asked shows its prompt already.
                pass
            case ToolCall():
                self.send(session_id, with_whole_paths(update, self._folder(session_id)))
            case _:
                self.send(session_id, update)

    def send(self, session_id: str, update: Update | OwnUpdate) -> None:
        """Sends an update as it is."""
        self._connection.notify(UPDATE_METHOD, SessionNotification(session_id=session_id, update=update))

    async def relaxed(self) -> None:
        """Returns once the client has read most of what it was told."""
        await self._connection.room()

    def show_again(self, session_id: str, update: Update | OwnUpdate) -> None:
        """Sends a piece of a stored transcript, which has no notices and only compactions that ended."""
        match update:
            case CompactionUpdate() if not self.client.shows_compactions:
                begun = replace(update, status=CompactionStatus.IN_PROGRESS)
                self._show_compaction(session_id, begun)
                self._show_compaction(session_id, update)
            case ToolCall():
                self.send(session_id, with_whole_paths(update, self._folder(session_id)))
            case _:
                self.send(session_id, update)

    def say(self, session_id: str, text: str) -> None:
        """Sends text of the agent's own, which is no part of the transcript."""
        self.send(session_id, AgentContentChunk(content=TextContent(text=text)))

    @contextmanager
    def hushed(self) -> Generator[None]:
        """While a session is opened: the client cannot know yet what it would be told of. Nothing may be awaited."""
        self._hushed = True
        try:
            yield
        finally:
            self._hushed = False

    def _show_compaction(self, session_id: str, update: CompactionUpdate | CompactionSummaryChunk) -> None:
        if isinstance(update, CompactionUpdate):
            self.send(session_id, compaction_as_tool_call(update))

    def _say_notice(self, session_id: str, notice: Notice) -> None:
        if notice.meta is not UNSET and notice.meta.ullage.kind in _SAID_BY_COMPACTION:
            return
        description = "" if notice.description is UNSET else f" {notice.description}"
        self.say(session_id, f"\n\n_{notice.title}{description}_\n\n")


def with_whole_paths(call: ToolCall, folder: str) -> ToolCall:
    """The call with its locations as ACP wants them, absolute."""
    return replace(call, locations=tuple(replace(at, path=str(PurePath(folder, at.path))) for at in call.locations))


def compaction_as_tool_call(update: CompactionUpdate) -> ToolCall | ToolCallUpdate:
    """A compaction for a client that has no place for one: begun, or ended with its summary or its error."""
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
