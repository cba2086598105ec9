"""Sends updates of sessions to the client, each in a form that the client can show.

A client that cannot show compactions gets each as a tool call of kind `think`. A client that cannot show notices gets
them as text, except those that repeat what the tool call of a compaction shows. While an answer is written, what was
cleared becomes one text after it.

Session updates that only the ACP door sends, the shapes of config options, and tool calls as clients need them.

The updates are replayed content and the list of slash commands. Tool calls have whole paths, and output in a fence,
because clients render text as Markdown.
"""

import re
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from ullage.acp.connection import AcpConnection, Client
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

# CommonMark, "Fenced code blocks": a fence is closed by a line of at least as many backticks.
_SHORTEST_FENCE = 3
_BACKTICKS = re.compile(r"`+")


class ImageContent(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="image"):
    """ACP's content block of an image: `data` in base64, and its media type."""

    data: str
    mime_type: str


class ResourceLink(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="resource_link"):
    """ACP's content block of a link to a file or other resource. The text is not included."""

    uri: str
    name: str
    mime_type: str | UnsetType = UNSET


class TextResource(Struct, frozen=True, kw_only=True, rename="camel"):
    """The text of a resource, and its address."""

    uri: str
    text: str
    mime_type: str | UnsetType = UNSET


class BlobResource(Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of a resource in base64, and its address."""

    uri: str
    blob: str
    mime_type: str | UnsetType = UNSET


class ResourceContent(Struct, frozen=True, kw_only=True, tag_field="type", tag="resource"):
    """ACP's content block of a resource with its content."""

    resource: TextResource | BlobResource


Content = TextContent | ImageContent | ResourceLink | ResourceContent


class _Update(Struct, frozen=True, kw_only=True, tag_field="sessionUpdate", rename="camel"):
    """The base of session updates. The field `sessionUpdate` contains the kind of update."""


class UserContentChunk(_Update, frozen=True, kw_only=True, tag="user_message_chunk"):
    """One content block of a user's message, sent when a transcript is replayed."""

    content: Content
    message_id: str


class AgentContentChunk(_Update, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """One content block of the agent's answer. A block without `message_id` is text that is only shown, for example a
    notice, and is not part of the transcript."""

    content: Content
    message_id: str | UnsetType = UNSET


class CommandInput(Struct, frozen=True, kw_only=True):
    """The text that the client shows as a hint where the user types a slash command's argument."""

    hint: str


class AvailableCommand(Struct, frozen=True, kw_only=True):
    """A slash command. `name` has no slash. `input` is left out if the command takes no argument."""

    name: str
    description: str
    input: CommandInput | UnsetType = UNSET


class AvailableCommandsUpdate(_Update, frozen=True, kw_only=True, tag="available_commands_update"):
    """The update that lists all slash commands of a session."""

    available_commands: tuple[AvailableCommand, ...]


class ConfigChoice(Struct, frozen=True, kw_only=True):
    """One value of a `SelectOption`: `value` is sent to the agent, `name` is shown to the user."""

    value: str
    name: str


class SelectOption(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="select"):
    """A config option whose value is chosen from a list. `current_value` is the `value` of one of the choices."""

    id: str
    name: str
    description: str
    category: str
    current_value: str
    options: tuple[ConfigChoice, ...]


class BooleanOption(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="boolean"):
    """A config option that is on or off."""

    id: str
    name: str
    description: str
    category: str
    current_value: bool


ConfigOption = SelectOption | BooleanOption


class ConfigOptionUpdate(_Update, frozen=True, kw_only=True, rename="camel", tag="config_option_update"):
    """The update that lists all config options after Ullage itself has changed one."""

    config_options: tuple[ConfigOption, ...]


class CurrentModeUpdate(_Update, frozen=True, kw_only=True, rename="camel", tag="current_mode_update"):
    """The session is in another mode."""

    current_mode_id: str


class PlanEntry(Struct, frozen=True, kw_only=True):
    """One task of a plan, with ACP's priorities and states."""

    content: str
    priority: Literal["high", "medium", "low"] = "medium"
    status: Literal["pending", "in_progress", "completed"]


class PlanUpdate(_Update, frozen=True, kw_only=True, tag="plan"):
    """The model's plan, whole."""

    entries: tuple[PlanEntry, ...]


OwnUpdate = (
    UserContentChunk | AgentContentChunk | AvailableCommandsUpdate | ConfigOptionUpdate | CurrentModeUpdate | PlanUpdate
)


def with_whole_paths(call: ToolCall, folder: str) -> ToolCall:
    """Returns the tool call with its locations joined to `folder`: ACP requires absolute paths."""
    return replace(call, locations=tuple(replace(at, path=str(PurePath(folder, at.path))) for at in call.locations))


def fenced(text: str) -> str:
    """Returns the text as a Markdown code block with a fence longer than any row of backticks in it; "" stays ""."""
    if not text:
        return ""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}\n{text}{end}{fence}"


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
                if update.content is UNSET:
                    return update
                return replace(
                    update,
                    content=tuple(
                        replace(part, content=TextContent(text=fenced(part.content.text))) for part in update.content
                    ),
                )
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
