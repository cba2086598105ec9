"""All tools of the ACP door, for the service's port `SessionTools`, and the state of each session that they need: the
MCP servers that its client describes, its mode and its plan.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from ullage.acp.announce import Announcer
from ullage.acp.options import ABOUT_OFFER, ACCEPTED, OFFER_PLAN, PLANNING, Mode, config_options
from ullage.acp.questions import ASK_USER, about_question, as_question, ask_user, forward
from ullage.acp.task_list import ABOUT_PLAN, UPDATE_PLAN, read_plan
from ullage.acp.updates import ConfigOptionUpdate, CurrentModeUpdate
from ullage.api.client_requests import Ask
from ullage.model.blocks import ToolUseBlock
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.json_values import JsonObject
from ullage.model.message import ToolDefinition
from ullage.model.updates import Notice, Severity
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Question, ToolAbout, ToolOutcome
from ullage.tools.offered_servers import PREFIX, Answer, AskedForm, AskedVisit, HttpServer, Server, StdioServer
from ullage.tools.session_servers import SessionServers

_NOT_IN_PLAN = "In the mode `plan` only tools that read can be used. Offer a plan, or say what you would need."
_OWN = frozenset({UPDATE_PLAN.name, OFFER_PLAN.name, ASK_USER.name})


class _Session(Struct, kw_only=True, eq=False):
    """The state of one session."""

    servers: SessionServers
    mode: Mode = Mode.ASK
    # The call of a server's tool that runs now.
    call_id: str = ""


class DoorTools:
    """The tools of one connection's sessions: those of the MCP servers that the client offers, the plan, questions to
    the user, and the offer to leave the mode `plan`."""

    def __init__(self, workspace: Callable[[], Workspace], announcer: Announcer, ask: Ask) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._ask = ask
        self._sessions: dict[str, _Session] = {}

    async def open(self, session_id: str, servers: Sequence[Server], folder: str) -> None:
        """Takes the MCP servers that the client offers for a session that it opens; they are started with the next
        prompt. Servers from an earlier opening end."""
        before = self._sessions.pop(session_id, None)
        mode = before.mode if before else Mode.ASK
        client = self._announcer.client
        elicit = partial(self._elicit, session_id) if client.shows_forms or client.shows_addresses else None
        started = SessionServers(servers, folder, elicit=elicit)
        self._sessions[session_id] = _Session(servers=started, mode=mode)
        if before is not None:
            await before.servers.close()

    async def close(self, session_id: str) -> None:
        """Ends what a session uses. Does nothing if it is not open."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.servers.close()

    async def close_all(self) -> None:
        """Ends what all sessions use."""
        for session_id in tuple(self._sessions):
            await self.close(session_id)

    def mode(self, session_id: str) -> Mode:
        """Returns the mode of a session."""
        return self._session(session_id).mode

    def set_mode(self, session_id: str, mode: Mode) -> None:
        """Sets the mode of a session, which holds from the next tool call on, and sends it to the client."""
        self._sessions.setdefault(session_id, _no_servers()).mode = mode
        self._announcer.send(session_id, CurrentModeUpdate(current_mode_id=mode))
        options = config_options(self._workspace().open(session_id), self._announcer.client, mode)
        self._announcer.send(session_id, ConfigOptionUpdate(config_options=options))

    async def prepare(self, session_id: str) -> None:
        for fault in await self._session(session_id).servers.prepare():
            self._workspace().bus.emit(session_id, Notice(severity=Severity.WARNING, title=fault))

    async def refresh(self, session_id: str) -> None:
        await self._session(session_id).servers.refresh()

    def offered(self, session_id: str, declared: Sequence[ToolDefinition]) -> tuple[ToolDefinition, ...]:
        session = self._session(session_id)
        plans = session.mode is Mode.PLAN
        of_servers = [
            tool for tool in session.servers.definitions if not plans or session.servers.only_reads(tool.name)
        ]
        asks = (ASK_USER,) if self._announcer.client.shows_forms else ()
        others = (tool for tool in declared if not _is_ours(tool.name))
        return (*others, UPDATE_PLAN, *asks, *((OFFER_PLAN,) if plans else ()), *of_servers)

    def reminder(self, session_id: str) -> str:
        return PLANNING if self._session(session_id).mode is Mode.PLAN else ""

    def describe(self, session_id: str, use: ToolUseBlock) -> ToolAbout | None:
        match use.name:
            case UPDATE_PLAN.name:
                return ABOUT_PLAN
            case OFFER_PLAN.name:
                return ABOUT_OFFER
            case ASK_USER.name:
                return about_question(use.input)
            case name if name.startswith(PREFIX):
                return self._session(session_id).servers.describe(name)
            case _:
                return None

    def question(self, session_id: str, use: ToolUseBlock) -> Question | None:
        session = self._session(session_id)
        if use.name == OFFER_PLAN.name and session.mode is Mode.PLAN:
            # Each plan is another question, so an answer "always" covers this one alone.
            return Question(key=f"{use.name} {use.id}")
        return session.servers.question(use.name) if self._may_use(session, use) else None

    async def run(self, session_id: str, use: ToolUseBlock) -> ToolOutcome:
        session = self._session(session_id)
        try:
            match use.name:
                case UPDATE_PLAN.name:
                    self._announcer.send(session_id, read_plan(use.input))
                    return ToolOutcome(text="The user is shown this list.")
                case OFFER_PLAN.name:
                    self.set_mode(session_id, Mode.ASK)
                    return ToolOutcome(text=ACCEPTED)
                case ASK_USER.name:
                    return await ask_user(self._ask, session_id, use.id, use.input)
                case name if not self._may_use(session, use):
                    return ToolOutcome(text=_NOT_IN_PLAN, is_error=True)
                case name:
                    session.call_id = use.id
                    return await session.servers.run(name, use.input)
        except UllageError as error:
            return ToolOutcome(text=str(error), is_error=True)
        finally:
            session.call_id = ""

    async def _elicit(self, session_id: str, server: str, asked: AskedForm | AskedVisit) -> Answer:
        new_id = self._workspace().ports.ids.new("elicitation")
        question = as_question(asked, server, session_id, self._session(session_id).call_id, new_id)
        return await forward(self._ask, self._announcer.client, question)

    def _may_use(self, session: _Session, use: ToolUseBlock) -> bool:
        return session.mode is not Mode.PLAN or session.servers.only_reads(use.name)

    def _session(self, session_id: str) -> _Session:
        """Returns the state of a session. One that the client has not opened has no servers."""
        return self._sessions.get(session_id) or _no_servers()


def _no_servers() -> _Session:
    return _Session(servers=SessionServers((), ""))


def _is_ours(name: str) -> bool:
    return name in _OWN or name.startswith(PREFIX)


class _Named(Struct, frozen=True, kw_only=True):
    """ACP's `EnvVariable` and `HttpHeader`."""

    name: str
    value: str


class _Stdio(Struct, frozen=True, kw_only=True):
    """ACP's `McpServerStdio`."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[_Named, ...] = ()


class _Http(Struct, frozen=True, kw_only=True):
    """ACP's `McpServerHttp`."""

    name: str
    url: str
    headers: tuple[_Named, ...] = ()


def read_servers(given: Sequence[JsonObject]) -> tuple[Server, ...]:
    """Returns the servers that a client offers. Raises `InvalidRequest`, which names the faulty one, for a transport
    that is not supported or a wrong shape."""
    return tuple(_read(at, server) for at, server in enumerate(given))


def _read(at: int, server: JsonObject) -> Server:
    kind = server.get("type", "stdio")
    try:
        match kind:
            case "stdio":
                stdio = msgspec.convert(_without_nulls(server), _Stdio)
                return StdioServer(name=stdio.name, command=stdio.command, args=stdio.args, env=_dict(stdio.env))
            case "http":
                http = msgspec.convert(_without_nulls(server), _Http)
                return HttpServer(name=http.name, url=http.url, headers=_dict(http.headers))
            case _:
                raise InvalidRequest(f"mcpServers[{at}]: the transport {kind!r} is not supported; stdio and http are")
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"mcpServers[{at}]: {error}") from None


def _without_nulls(server: JsonObject) -> JsonObject:
    return {name: value for name, value in server.items() if value is not None}


def _dict(pairs: Sequence[_Named]) -> dict[str, Any]:
    return {pair.name: pair.value for pair in pairs}
