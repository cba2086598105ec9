"""ACP's `session/*` methods except prompts: params, results and handlers."""

import logging
from collections.abc import Callable
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from msgspec import Struct

from ullage.acp.announce import Announcer
from ullage.acp.commands import available_commands
from ullage.acp.options import config_options, set_option
from ullage.acp.replay import replay
from ullage.acp.updates import ConfigOption
from ullage.api import session_methods as api
from ullage.api.engine import Reply
from ullage.model.errors import InvalidRequest
from ullage.model.events import SessionCreated
from ullage.service import sessions
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import publish_usage
from ullage.service.conversation.workspace import Workspace

log = logging.getLogger(__name__)


class _Place(Struct, frozen=True, kw_only=True, rename="camel"):
    """The folder of a session, and MCP servers that the client offers. The agent starts none of them."""

    cwd: str
    mcp_servers: tuple[dict[str, Any], ...] | None = None


class NewSessionParams(_Place, frozen=True, kw_only=True, rename="camel"):
    """ACP's `NewSessionRequest`."""


class OpenSessionParams(_Place, frozen=True, kw_only=True, rename="camel"):
    """ACP's `LoadSessionRequest`, `ResumeSessionRequest` and `ForkSessionRequest`."""

    session_id: str


class NewSessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `NewSessionResponse` and `ForkSessionResponse`."""

    session_id: str
    config_options: tuple[ConfigOption, ...]


class ConfigOptionsResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `LoadSessionResponse`, `ResumeSessionResponse` and `SetSessionConfigOptionResponse`."""

    config_options: tuple[ConfigOption, ...]


class SetConfigOptionParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `SetSessionConfigOptionRequest`."""

    session_id: str
    config_id: str
    value: str | bool


class SessionHandlers:
    """The session handlers of one connection."""

    def __init__(self, workspace: Callable[[], Workspace], announcer: Announcer) -> None:
        self._workspace = workspace
        self._announcer = announcer

    async def new(self, params: NewSessionParams) -> Reply:
        """Starts a session."""
        _check(params)
        workspace = self._workspace()
        # The model is recorded, so that another door that opens the session knows its window.
        created = SessionCreated(cwd=params.cwd, model=workspace.settings.model)
        with self._announcer.silenced():
            conversation = sessions.new_session(workspace, created)
        return self._opened(
            conversation, NewSessionResult(session_id=conversation.id, config_options=self._options(conversation))
        )

    async def load(self, params: OpenSessionParams) -> Reply:
        """Opens a session and sends its whole transcript."""
        conversation = self._open(params)
        await replay(self._workspace(), self._announcer, conversation.id)
        return self._opened(conversation, ConfigOptionsResult(config_options=self._options(conversation)))

    async def resume(self, params: OpenSessionParams) -> Reply:
        """Opens a session that the client shows already."""
        conversation = self._open(params)
        return self._opened(conversation, ConfigOptionsResult(config_options=self._options(conversation)))

    async def fork(self, params: OpenSessionParams) -> Reply:
        """Starts a session that shares another session's log."""
        _check(params)
        with self._announcer.silenced():
            workspace = self._workspace()
            conversation = sessions.fork_session(workspace, workspace.open(params.session_id), None, "")
        return self._opened(
            conversation, NewSessionResult(session_id=conversation.id, config_options=self._options(conversation))
        )

    async def list(self, params: api.ListSessionsParams) -> api.ListSessionsResult:
        """Lists the stored sessions of all doors."""
        return await api.list_sessions(self._workspace(), params)

    async def close(self, params: api.SessionParams) -> api.Nothing:
        """Ends the work of a session and removes the session from memory."""
        return await api.close_session(self._workspace(), params)

    async def delete(self, params: api.SessionParams) -> api.Nothing:
        """Removes a session from the list."""
        return await api.delete_session(self._workspace(), params)

    async def set_config_option(self, params: SetConfigOptionParams) -> ConfigOptionsResult:
        """Changes one config option and returns all of them."""
        conversation = self._workspace().open(params.session_id)
        set_option(conversation, params.config_id, params.value, self._announcer.client)
        return ConfigOptionsResult(config_options=self._options(conversation))

    def _open(self, params: OpenSessionParams) -> Conversation:
        _check(params)
        return self._workspace().open(params.session_id)

    def _options(self, conversation: Conversation) -> tuple[ConfigOption, ...]:
        return config_options(conversation, self._announcer.client)

    def _opened(self, conversation: Conversation, result: Any) -> Reply:
        """Returns the result with a function that sends the commands and the usage once the client has the result,
        and so the session's id."""

        def then() -> None:
            self._announcer.send(conversation.id, available_commands())
            publish_usage(conversation)

        return Reply(result, then)


def _check(place: _Place) -> None:
    is_whole = PurePosixPath(place.cwd).is_absolute() or PureWindowsPath(place.cwd).is_absolute()
    if not is_whole or "\0" in place.cwd:
        raise InvalidRequest(f"cwd must be an absolute path, not {place.cwd!r}")
    if place.mcp_servers:
        log.warning("Ullage's agent uses no MCP servers; %d were offered.", len(place.mcp_servers))
