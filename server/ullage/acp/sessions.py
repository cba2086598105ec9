"""ACP's `session/*` methods except prompts: params, results and handlers.

Replays a stored transcript as updates: every message in order, with each compaction where it cut the transcript.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from msgspec import UNSET, Struct

from ullage.acp.announce import (
    AgentContentChunk,
    Announcer,
    AvailableCommand,
    AvailableCommandsUpdate,
    BlobResource,
    CommandInput,
    ConfigOption,
    Content,
    ImageContent,
    OwnUpdate,
    PlanUpdate,
    ResourceContent,
    ResourceLink,
    TextResource,
    UserContentChunk,
)
from ullage.acp.session_tools import (
    MODE,
    UPDATE_PLAN,
    DoorTools,
    Mode,
    SessionModeState,
    config_options,
    mode_state,
    read_plan,
    read_servers,
    set_option,
)
from ullage.api import session_methods as api
from ullage.api.context_methods import COMMANDS
from ullage.api.engine import Reply
from ullage.edits.compaction import compaction_id
from ullage.model.errors import InvalidRequest
from ullage.model.events import SessionCreated
from ullage.model.message import (
    CompactionBlock,
    ImageBlock,
    Message,
    ResourceBlock,
    ResultPart,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.updates import (
    AgentThoughtChunk,
    CompactionMeta,
    CompactionStatus,
    CompactionUpdate,
    Meta,
    TextContent,
    ToolStatus,
    Update,
)
from ullage.service import sessions
from ullage.service.conversation.conversation import Conversation, transcript_page
from ullage.service.conversation.usage import publish_usage
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import ToolAbout
from ullage.service.turns import call_update, describe_call, result_update
from ullage.tools.offered_servers import Server

# Messages read from the store at a time.
_PAGE = 100
Describe = Callable[[ToolUseBlock], ToolAbout]


async def replay(workspace: Workspace, announcer: Announcer, session_id: str) -> None:
    """Sends the session's whole transcript as updates, archived messages too. Raises `SessionNotFound`."""
    conversation = workspace.open(session_id)
    describe = partial(describe_call, conversation)
    sent, total = 0, 1
    while sent < total:
        page = transcript_page(conversation, sent, _PAGE)
        for entry in page.entries:
            for update in message_updates(entry.message, describe):
                announcer.replay(session_id, update)
            await announcer.room()
        sent, total = sent + _PAGE, page.total
        # Other tasks get a turn here even if the client reads so fast that the line before never waits.
        await asyncio.sleep(0)


def message_updates(message: Message, describe: Describe) -> Iterator[Update | OwnUpdate]:
    """Yields the updates that show one message to the user, one per block. Yields nothing for a system prompt, which
    users are never shown, and for a block of empty thinking. `describe` returns the title, kind and locations of a tool
    use."""
    if message.role is Role.SYSTEM:
        return
    for block in message.content:
        match block:
            case ThinkingBlock():
                if block.thinking:
                    yield AgentThoughtChunk(content=TextContent(text=block.thinking), message_id=message.id)
            case ToolUseBlock():
                yield call_update(block, describe(block), ToolStatus.IN_PROGRESS)
                yield from _plan(block)
            case ToolResultBlock():
                yield result_update(block)
            case CompactionBlock():
                yield _compaction(message, block)
            case TextBlock() | ImageBlock() | ResourceBlock():
                kind = UserContentChunk if message.role is Role.USER else AgentContentChunk
                yield kind(content=_content(block), message_id=message.id)


def _plan(block: ToolUseBlock) -> Iterator[PlanUpdate]:
    if block.name == UPDATE_PLAN.name:
        with suppress(InvalidRequest):
            yield read_plan(block.input)


def _content(block: ResultPart) -> Content:
    match block:
        case TextBlock(text=text):
            return TextContent(text=text)
        case ImageBlock(data=str(data)):
            return ImageContent(data=data, mime_type=block.media_type)
        case ImageBlock():
            return ResourceLink(uri=block.url or "", name="picture", mime_type=block.media_type)
        case ResourceBlock(text=str(text)):
            return ResourceContent(resource=TextResource(uri=block.uri, text=text, mime_type=block.mime_type or UNSET))
        case ResourceBlock(data=str(data)) if data:
            return ResourceContent(resource=BlobResource(uri=block.uri, blob=data, mime_type=block.mime_type or UNSET))
        case ResourceBlock():
            return ResourceLink(uri=block.uri, name=block.name, mime_type=block.mime_type or UNSET)


def _compaction(marker: Message, block: CompactionBlock) -> CompactionUpdate:
    """Returns a stored compaction as one update: completed, with the whole summary, as ACP requires. Its trigger is "",
    because the marker doesn't contain it."""
    meta = CompactionMeta(
        trigger="",
        compaction_number=block.compaction_number,
        message_id=marker.id,
        messages_archived=block.messages_archived,
        context_size_before=block.context_size_before,
        context_size_after=block.context_size_after,
    )
    return CompactionUpdate(
        compaction_id=compaction_id(marker),
        status=CompactionStatus.COMPLETED,
        summary=(TextContent(text=block.summary),),
        meta=Meta(ullage=meta),
    )


class _Place(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a session works: its folder, further folders of the project, and the MCP servers that the client offers.
    The servers are started with the session's next prompt."""

    cwd: str
    additional_directories: tuple[str, ...] | None = None
    mcp_servers: tuple[dict[str, Any], ...] | None = None


class NewSessionParams(_Place, frozen=True, kw_only=True, rename="camel"):
    """ACP's `NewSessionRequest`: an absolute folder, further folders, and MCP servers."""


class OpenSessionParams(_Place, frozen=True, kw_only=True, rename="camel"):
    """ACP's `LoadSessionRequest`, `ResumeSessionRequest` and `ForkSessionRequest`: an existing session, with its
    folder."""

    session_id: str


class NewSessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `NewSessionResponse` and `ForkSessionResponse`: the new session's id, modes and config options."""

    session_id: str
    modes: SessionModeState
    config_options: tuple[ConfigOption, ...]


class OpenSessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `LoadSessionResponse` and `ResumeSessionResponse`: the session's modes and config options."""

    modes: SessionModeState
    config_options: tuple[ConfigOption, ...]


class ConfigOptionsResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `SetSessionConfigOptionResponse`: all config options with their current values."""

    config_options: tuple[ConfigOption, ...]


class SetTitleResult(Struct, frozen=True, kw_only=True):
    """ACP's `SetSessionTitleResponse`: the title as it is stored."""

    title: str


class SetModeParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `SetSessionModeRequest`. `mode_id` is the id of one of the session's modes."""

    session_id: str
    mode_id: str


class SetConfigOptionParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `SetSessionConfigOptionRequest`. `value` is a boolean for an option that is on or off, otherwise the
    `value` of the chosen `ConfigChoice`."""

    session_id: str
    config_id: str
    value: str | bool


class SessionHandlers:
    """The handlers of ACP's `session/*` methods, except prompts, for one connection."""

    def __init__(self, workspace: Callable[[], Workspace], announcer: Announcer, tools: DoorTools) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._tools = tools

    async def new(self, params: NewSessionParams) -> Reply:
        """Creates a session. Raises `InvalidRequest` for a relative folder, or an MCP server that cannot be used."""
        servers = _check(params)
        workspace = self._workspace()
        # The model is recorded, so that another door that opens the session knows its window.
        created = SessionCreated(cwd=params.cwd, model=workspace.settings.model)
        session_id = workspace.ports.ids.new("s")
        # Before the session is made: a request that is cancelled meanwhile makes none.
        await self._place(session_id, params, servers)
        with self._announcer.silenced():
            conversation = sessions.new_session(workspace, created, session_id=session_id)
        return self._opened(conversation, self._created(conversation))

    async def load(self, params: OpenSessionParams) -> Reply:
        """Opens a stored session and sends its transcript first. Raises `SessionNotFound` or `InvalidRequest`."""
        conversation = await self._open(params)
        await replay(self._workspace(), self._announcer, conversation.id)
        return self._opened(conversation, self._open_result(conversation))

    async def resume(self, params: OpenSessionParams) -> Reply:
        """Serves `session/resume`: opens a stored session without sending its transcript, which the client shows
        already. Raises `SessionNotFound` or `InvalidRequest`."""
        conversation = await self._open(params)
        return self._opened(conversation, self._open_result(conversation))

    async def fork(self, params: OpenSessionParams) -> Reply:
        """Creates a session with the whole log of the named one. Raises `SessionNotFound` or `InvalidRequest`."""
        servers = _check(params)
        workspace = self._workspace()
        parent, session_id = workspace.open(params.session_id), workspace.ports.ids.new("s")
        await self._place(session_id, params, servers)
        with self._announcer.silenced():
            conversation = sessions.fork_session(workspace, parent, None, "", session_id=session_id)
        return self._opened(conversation, self._created(conversation))

    async def list(self, params: api.ListSessionsParams) -> api.ListSessionsResult:
        """Returns a page of the stored sessions, whichever door made them, newest first."""
        return await api.list_sessions(self._workspace(), params)

    async def close(self, params: api.SessionParams) -> api.Nothing:
        """Cancels the session's work and frees its memory. The store keeps it. Raises `SessionNotFound`."""
        result = await api.close_session(self._workspace(), params)
        await self._tools.close(params.session_id)
        return result

    async def delete(self, params: api.SessionParams) -> api.Nothing:
        """Serves `session/delete`: removes the session from the list of sessions. Raises `SessionNotFound`."""
        result = await api.delete_session(self._workspace(), params)
        await self._tools.close(params.session_id)
        return result

    async def set_title(self, params: api.RenameSessionParams) -> SetTitleResult:
        """Serves `session/set_title` of ACP's unstable schema. Raises `SessionNotFound`."""
        await api.rename_session(self._workspace(), params)
        return SetTitleResult(title=self._workspace().open(params.session_id).transcript.title)

    async def set_mode(self, params: SetModeParams) -> api.Nothing:
        """Serves `session/set_mode`. Raises `SessionNotFound`, or `InvalidRequest` if there is no such mode."""
        conversation = self._workspace().open(params.session_id)
        if params.mode_id not in tuple(Mode):
            raise InvalidRequest(f"there is no mode {params.mode_id!r}; there are {', '.join(Mode)}")
        self._tools.set_mode(conversation.id, Mode(params.mode_id))
        return api.Nothing()

    async def set_config_option(self, params: SetConfigOptionParams) -> ConfigOptionsResult:
        """Serves `session/set_config_option`: changes one config option and returns all of them. Raises
        `SessionNotFound`, or `InvalidRequest` if the option or the value was not offered."""
        conversation = self._workspace().open(params.session_id)
        set_option(conversation, params.config_id, params.value, self._options(conversation))
        if params.config_id == MODE:
            self._tools.set_mode(conversation.id, Mode(str(params.value)))
        return ConfigOptionsResult(config_options=self._options(conversation))

    async def _open(self, params: OpenSessionParams) -> Conversation:
        servers = _check(params)
        conversation = self._workspace().open(params.session_id)
        await self._place(conversation.id, params, servers)
        return conversation

    async def _place(self, session_id: str, place: _Place, servers: Sequence[Server]) -> None:
        """Notes which folders and servers the client has opened for the session, besides the session's own folder."""
        self._workspace().open_folders[session_id] = place.additional_directories or ()
        await self._tools.open(session_id, servers, place.cwd)

    def _created(self, conversation: Conversation) -> NewSessionResult:
        found = self._open_result(conversation)
        return NewSessionResult(session_id=conversation.id, modes=found.modes, config_options=found.config_options)

    def _open_result(self, conversation: Conversation) -> OpenSessionResult:
        modes = mode_state(self._tools.mode(conversation.id))
        return OpenSessionResult(modes=modes, config_options=self._options(conversation))

    def _options(self, conversation: Conversation) -> tuple[ConfigOption, ...]:
        return config_options(conversation, self._announcer.client, self._tools.mode(conversation.id))

    def _opened(self, conversation: Conversation, result: Any) -> Reply:
        """Returns a reply with `result`. Once it is sent, so that the client knows the session's id, the slash commands
        and the usage are sent, too."""

        def then() -> None:
            self._announcer.send(conversation.id, _available_commands())
            publish_usage(conversation)

        return Reply(result, then)


def _check(place: _Place) -> tuple[Server, ...]:
    """Returns the MCP servers that the client offers. Raises `InvalidRequest` for a relative folder or a bad server."""
    named = (("cwd", place.cwd), *(("additionalDirectories", folder) for folder in place.additional_directories or ()))
    for name, folder in named:
        is_whole = PurePosixPath(folder).is_absolute() or PureWindowsPath(folder).is_absolute()
        if not is_whole or "\0" in folder:
            raise InvalidRequest(f"{name} must be an absolute path, not {folder!r}")
    return read_servers(place.mcp_servers or ())


def _available_commands() -> AvailableCommandsUpdate:
    """Returns the update that lists all slash commands of Ullage."""
    return AvailableCommandsUpdate(
        available_commands=tuple(
            AvailableCommand(
                name=command.name,
                description=command.description,
                input=CommandInput(hint=command.hint) if command.hint else UNSET,
            )
            for command in COMMANDS
        )
    )
