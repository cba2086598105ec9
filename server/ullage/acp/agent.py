"""The ACP agent of one client: ACP's methods and Ullage's own on one connection.

The methods of version 2 are served by the handlers of version 1.

`initialize` and `authenticate`: the agent's capabilities, and how the user gives it a key, in version 1's shapes.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import PurePath
from typing import Any

from msgspec import Struct, field

from ullage.acp import sessions as acp_sessions
from ullage.acp.announce import UPDATE_METHOD, Announcer, with_whole_paths
from ullage.acp.connection import INITIALIZE, AcpConnection, Client, Spoken, read_client, read_in_client
from ullage.acp.prompt import PromptHandlers, PromptLife
from ullage.acp.session_tools import DoorTools
from ullage.acp.sessions import OpenSessionParams, SessionHandlers
from ullage.acp.version_2 import VERSION, greeting_as_v1, introduction_as_v2, opened_as_v2, question_as_v2, update_as_v2
from ullage.api import session_methods as api
from ullage.api.client_requests import ClientPermissions
from ullage.api.engine import Handler, Reply
from ullage.api.session_methods import read_settings
from ullage.api.wire import REQUEST_PERMISSION, AnyMethod
from ullage.jsonrpc.envelope import MAX_LINE
from ullage.model.blocks import Block, ResourceBlock, TextBlock
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_object, as_plain, as_text
from ullage.model.message import INSTRUCTION_FILES
from ullage.model.settings import Settings
from ullage.model.updates import ToolCall
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.world import ProjectFile, Surroundings
from ullage.tools.session_servers import is_usable

PROTOCOL_VERSION = 1


class InitializeParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `InitializeRequest`. Capabilities of any shape are accepted: `client_capabilities` is version 1's name,
    `capabilities` that of version 2."""

    protocol_version: int
    client_capabilities: Any = None
    capabilities: Any = None
    client_info: Any = None
    info: Any = None
    meta: Any = field(name="_meta", default=None)

    @property
    def name(self) -> str:
        """The client's name, "" if it has none. `client_info` is version 1's member, `info` that of version 2."""
        return as_text(as_object(self.info or self.client_info).get("name"))

    @property
    def version(self) -> int:
        """The version that is spoken: the highest that the agent has and the client asks for, 1 if there is none. A
        client that speaks neither decides whether to continue."""
        return VERSION if self.protocol_version >= VERSION else PROTOCOL_VERSION

    @property
    def client(self) -> Client:
        said = self.client_capabilities
        if self.version == VERSION:
            said = greeting_as_v1({"capabilities": self.capabilities})["clientCapabilities"]
        return read_client(said, self.meta)


class AuthenticateParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `AuthenticateRequest`. `method_id` is the id of a method that the agent offered."""

    method_id: str


# Ways to authenticate: by the request `authenticate` (ACP's `AuthMethodAgent`), and by this program, which the client
# starts again in a terminal with `args` after the arguments that it has (`AuthMethodTerminal`).
KEY_METHOD = {
    "id": "key",
    "name": "Key of a model's provider",
    "description": "Store a key with `ullage acp --login`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY in the agent's "
    "environment and start it again. Without a key the context commands work all the same.",
}
LOGIN_ARGUMENTS = ("--login",)
LOGIN_METHOD: JsonObject = {
    "type": "terminal",
    "id": "login",
    "name": "Store a key",
    "description": "Asks in a terminal for a provider's key and keeps it in the system's keyring.",
    "args": LOGIN_ARGUMENTS,
}
# The optional session methods that the agent serves. `fork` and `title` are not in ACP's stable schema; clients that
# can fork, or set a title, look for these names.
_SESSION_ABILITIES = ("list", "resume", "close", "delete", "additionalDirectories", "fork", "title")


def introduce(version: str, methods: tuple[str, ...], client: Client, *, uses_servers: bool) -> JsonObject:
    """Returns the answer to `initialize` in ACP's version 1. `methods` are the names of Ullage's own methods, for a
    client that can call them. `uses_servers` says that MCP servers can be used. The login in a terminal is offered to a
    client that can start it."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "ullage", "title": "Ullage", "version": version},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "embeddedContext": True},
            # Besides stdio, which every agent of ACP has.
            "mcpCapabilities": {"http": uses_servers},
            "sessionCapabilities": {name: {} for name in _SESSION_ABILITIES},
            "_meta": {"ullage": {"version": version, "methods": methods}},
        },
        "authMethods": (LOGIN_METHOD, KEY_METHOD) if client.starts_logins else (KEY_METHOD,),
    }


PREFIX = "_ullage/"
# A method's name, the type of its params, and its handler.
Route = tuple[str, Any, Handler]
_RENAMED = {"authenticate": "auth/login", "logout": "auth/logout"}
_GONE = frozenset({"session/load", "session/set_mode"})
_OPENED = frozenset({"session/new", "session/fork", "session/set_config_option"})
_Known = dict[str, tuple[Any, Handler]]
LookAround = Callable[[str], Surroundings]


class AgentHooks(Struct, frozen=True, kw_only=True):
    """Functions and settings that the composition root gives the agent.

    - `open`: makes the workspace, with the store that the settings name. Called at the first use, after `initialize`
      is answered, and again if it failed.
    - `warm_up`: called in a thread during `initialize`, to load what the first request would otherwise wait for.
    - `check_model`: reads stored keys again, and raises `NoModelConfigured` if no model can be used.
    - `look_around`: returns what the system prompt says of the machine and of a session's folder. Blocks on the disk.
    - `keep_private`: called with the client's name and the settings. Keeps what they call private for commands without
      a client.
    - `settings`: the settings, unless the client sends its own in `initialize`.
    """

    open: Callable[[Announcer, Settings], Workspace]
    warm_up: Callable[[], object]
    check_model: Callable[[Workspace], object]
    look_around: LookAround
    keep_private: Callable[[str, Settings], object] = lambda _, __: None
    settings: Settings = Settings()


class Agent:
    """The ACP agent of one client. Its input and output pass through `connection`. `max_line` is the length of the
    longest message that is accepted, in bytes."""

    def __init__(self, hooks: AgentHooks, methods: Sequence[AnyMethod], version: str, max_line: int = MAX_LINE) -> None:
        self._hooks = hooks
        self._methods = methods
        self._version = version
        self._settings = hooks.settings
        self._opened: Workspace | None = None
        self.connection = AcpConnection(max_line)
        self._announcer = Announcer(self.connection, self._folder)
        self._prompts = PromptHandlers(self.workspace, self._announcer)
        self._tools = DoorTools(self.workspace, self._announcer, self.connection.ask)
        # ACP's methods in version 1.
        self._routes = (
            (INITIALIZE, InitializeParams, self._initialize),
            ("authenticate", AuthenticateParams, self._authenticate),
            *_session_routes(SessionHandlers(self.workspace, self._announcer, self._tools)),
            ("session/prompt", api.PromptParams, self._prompts.prompt),
            ("session/cancel", api.SessionParams, self._prompts.cancel),
        )
        self._install()

    def workspace(self) -> Workspace:
        """Returns the workspace. The first call opens it, with the client's settings if the client sent any. Raises
        `StoreError` if the store cannot be opened."""
        if self._opened is None:
            self._opened = self._hooks.open(self._announcer, self._settings)
            self._opened.permissions = ClientPermissions(self.connection.ask, "", self._shown)
            self._opened.reads_open_folders = True
            self._opened.session_tools = self._tools
            self._opened.introduce = partial(introduce_agent, self._hooks.look_around)
            if self._announcer.client.reads_files:
                self._opened.editor_files = partial(read_in_client, self.connection.ask)
            self._opened.configure(self._settings)
        return self._opened

    async def close(self) -> None:
        """Ends the MCP servers of all sessions."""
        await self._tools.close_all()

    def _shown(self, session_id: str, call: ToolCall) -> ToolCall:
        return with_whole_paths(call, self._folder(session_id))

    def _folder(self, session_id: str) -> str:
        return self.workspace().open(session_id).transcript.cwd

    def _install(self) -> None:
        for name, params, handler in self._routes:
            self.connection.add_route(name, params, handler)
        self.connection.add_methods(PREFIX, self._methods, self.workspace)

    async def _initialize(self, params: InitializeParams) -> Any:
        client = self._announcer.client = params.client
        if client.settings is not None:
            self._settings = read_settings(client.settings)
        self._hooks.keep_private(params.name, self._settings)
        # A daemon thread, so that the program does not wait for it when the client leaves at once.
        threading.Thread(target=self._hooks.warm_up, name="warm-up", daemon=True).start()
        names = tuple(PREFIX + method.name for method in self._methods)
        introduced = introduce(self._version, names, client, uses_servers=is_usable())
        if params.version == PROTOCOL_VERSION:
            return introduced
        self._speak_version_2()
        return introduction_as_v2(as_plain(introduced))

    def _speak_version_2(self) -> None:
        life = PromptLife(self.workspace, self.connection, self._announcer, self._prompts)
        self.connection.spoken = spoken(life, lambda: self.workspace().ports.ids.new("m"))
        self._routes = tuple(routes_of(self._routes, life))
        self.connection.clear_routes()
        self._install()

    async def _authenticate(self, params: AuthenticateParams) -> api.Nothing:
        known = (KEY_METHOD["id"], LOGIN_METHOD["id"])
        if params.method_id not in known:
            raise InvalidRequest(
                f"there is no authentication method {params.method_id!r}; there are {', '.join(known)}"
            )
        await asyncio.to_thread(self._hooks.check_model, self.workspace())
        return api.Nothing()


def _session_routes(handlers: SessionHandlers) -> tuple[tuple[str, Any, Handler], ...]:
    return (
        ("session/new", acp_sessions.NewSessionParams, handlers.new),
        ("session/load", acp_sessions.OpenSessionParams, handlers.load),
        ("session/resume", acp_sessions.OpenSessionParams, handlers.resume),
        ("session/fork", acp_sessions.OpenSessionParams, handlers.fork),
        ("session/list", api.ListSessionsParams, handlers.list),
        ("session/close", api.SessionParams, handlers.close),
        ("session/delete", api.SessionParams, handlers.delete),
        ("session/set_title", api.RenameSessionParams, handlers.set_title),
        ("session/set_mode", acp_sessions.SetModeParams, handlers.set_mode),
        ("session/set_config_option", acp_sessions.SetConfigOptionParams, handlers.set_config_option),
    )


def routes_of(routes: Sequence[Route], life: PromptLife) -> Iterator[Route]:
    """Yields the methods of version 2 with their handlers, made from version 1's."""
    known = {name: (params, handler) for name, params, handler in routes}
    for name, params, handler in routes:
        if name in _OPENED:
            yield name, params, _shaped(handler)
        elif name not in _GONE and name not in _REPLACED:
            yield _RENAMED.get(name, name), params, handler
    if "logout" not in known:
        yield "auth/logout", api.Nothing, _log_out
    for name, replaced in _REPLACED.items():
        yield replaced(name, known, life)


def spoken(life: PromptLife, new_id: Callable[[], str]) -> Spoken:
    """Returns how the messages to a client of version 2 differ. `new_id` makes the ids of texts that are no messages of
    the transcript."""

    def shaped(method: str, params: Any) -> Any:
        if method == UPDATE_METHOD:
            said = as_plain(params)
            update = update_as_v2(as_object(said.get("update")), new_id)
            return None if update is None else {**said, "update": update}
        return question_as_v2(as_plain(params)) if method == REQUEST_PERMISSION.name else params

    def asking(_: str, params: Any) -> AbstractContextManager[None]:
        session_id = getattr(params, "session_id", "")
        return life.blocked(session_id) if session_id else nullcontext()

    return Spoken(shaped=shaped, asking=asking)


def _shaped(handler: Handler) -> Handler:
    async def handle(params: Any) -> Any:
        return _as_v2(await handler(params))

    return handle


def _as_v2(result: Any) -> Any:
    if isinstance(result, Reply):
        return Reply(opened_as_v2(as_plain(result.result)), result.then)
    return opened_as_v2(as_plain(result))


class ResumeParams(OpenSessionParams, frozen=True, kw_only=True, rename="camel"):
    """Version 2's `ResumeSessionRequest`. The transcript is replayed if `replay_from` is not None."""

    replay_from: JsonObject | None = None


def _prompt(name: str, known: _Known, life: PromptLife) -> Route:
    return name, known[name][0], life.prompt


def _resume(name: str, known: _Known, life: PromptLife) -> Route:
    """Version 2 has one method to open a session: whether the transcript is replayed is one of its params."""
    resume, load = known[name][1], known["session/load"][1]

    async def handle(given: ResumeParams) -> Any:
        cursor = given.replay_from
        if cursor is not None and cursor.get("type") != "start":
            raise InvalidRequest(f"a replay begins at the start, not at {cursor}")
        result = await (resume if cursor is None else load)(given)
        life.show_state(given.session_id)
        return _as_v2(result)

    return name, ResumeParams, handle


def _close(name: str, known: _Known, life: PromptLife) -> Route:
    params, close = known[name]

    async def handle(given: Any) -> Any:
        result = await close(given)
        await life.ended(given.session_id)
        return result

    return name, params, handle


_REPLACED: dict[str, Callable[[str, _Known, PromptLife], Route]] = {
    "session/prompt": _prompt,
    "session/resume": _resume,
    "session/close": _close,
}


async def _log_out(_: Any) -> api.Nothing:
    # There is nothing to forget: the keys are the user's.
    return api.Nothing()


# About 5,000 tokens per file and 15,000 in all; a longer file is the first part of itself.
_MOST_CHARS = 20_000
_MOST_CHARS_IN_ALL = 60_000
_TASK = (
    "You help the user with the project that is open in their editor. Look at it with your tools before you answer "
    "questions about it. Name files by their paths. Answer in Markdown, as briefly as the question allows.\n"
    "You can do what your tools do and nothing else: without a tool for it, you run no commands and change no files. "
    "Then say what the user should do."
)
_NOT_INCLUDED = "The project has instruction files that are not included here: "


async def introduce_agent(look_around: LookAround, conversation: Conversation) -> tuple[Block, ...]:
    """Returns the system prompt of a session in its folder and the client's further folders, for its first prompt. The
    nearest instruction files come first. Never raises."""
    return await asyncio.to_thread(_system_prompt, look_around, conversation)


def _system_prompt(look_around: LookAround, conversation: Conversation) -> tuple[Block, ...]:
    workspace, cwd = conversation.workspace, conversation.transcript.cwd
    further = workspace.open_folders.get(conversation.id, ())
    around = look_around(cwd)
    trusted = conversation.settings.trusted_folders if workspace.trusts_projects else ()
    find = workspace.ports.project_files.find
    # The same text is often there twice, under the names that two agents look for.
    read: dict[str, ProjectFile] = {}
    named: list[str] = []
    for folder in around.folders:
        for file in find(folder, INSTRUCTION_FILES, trusted, _MOST_CHARS):
            path = str(PurePath(folder, file.path))
            if file.text.strip():
                read.setdefault(file.text, ProjectFile(path=path, text=file.text))
            else:
                named.append(path)
    about = TextBlock(text="\n\n".join((_TASK, "\n".join(_environment(around, cwd, further)), *_names(named))))
    return (about, *_as_resources(read.values()))


def _environment(around: Surroundings, cwd: str, further: Sequence[str]) -> Iterator[str]:
    yield f"Working folder: {cwd}"
    yield from (f"Further folder: {folder}" for folder in further)
    yield f"Platform: {around.platform}"
    yield f"Date: {around.date}"
    if around.branch:
        yield f"Git branch: {around.branch}"


def _names(paths: Sequence[str]) -> Iterator[str]:
    if paths:
        yield f"{_NOT_INCLUDED}{', '.join(paths)}"


def _as_resources(files: Iterable[ProjectFile]) -> Iterator[ResourceBlock]:
    left = _MOST_CHARS_IN_ALL
    for file in files:
        text = file.text[:left]
        left -= len(text)
        if text:
            yield ResourceBlock(uri=file.path, text=text)
