"""The ACP agent of one client: ACP's methods and Ullage's own on one connection.

The methods of version 2 are served by the handlers of version 1. In version 1 a prompt is answered when its turn ends.
In version 2 the answer says that the prompt is in the transcript, and a `state_update` says what follows.

`initialize` and `authenticate`: the agent's capabilities, and how the user gives it a key, in version 1's shapes.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import PurePath
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from ullage.acp import sessions as acp_sessions
from ullage.acp.announce import UPDATE_METHOD, Announcer, with_whole_paths
from ullage.acp.connection import INITIALIZE, AcpConnection, Client, Spoken, read_client, read_in_client
from ullage.acp.session_tools import DoorTools
from ullage.acp.sessions import OpenSessionParams, SessionHandlers
from ullage.acp.version_2 import VERSION, greeting_as_v1, introduction_as_v2, opened_as_v2, question_as_v2, update_as_v2
from ullage.api import session_methods as api
from ullage.api.client_requests import ClientPermissions
from ullage.api.context_methods import Invocation, find_command
from ullage.api.engine import Handler, Reply
from ullage.api.protocol import REQUEST_PERMISSION, AnyMethod
from ullage.api.session_methods import read_settings
from ullage.jsonrpc.envelope import MAX_LINE, cancelled
from ullage.model.answer import TurnEnd
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.json_values import JsonObject, as_object, as_plain, as_text
from ullage.model.message import INSTRUCTION_FILES, Block, ResourceBlock, TextBlock
from ullage.model.settings import Settings
from ullage.model.updates import ToolCall, UserMessageChunk
from ullage.model.usage import Usage
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import ProjectFile, Surroundings
from ullage.tools.session_servers import is_usable

# Seconds that `session/close` waits for turns that it has cancelled.
_PATIENCE = 10.0
_RUNNING: JsonObject = {"state": "running"}
_BLOCKED: JsonObject = {"state": "requires_action"}


class PromptUsage(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `Usage`: the tokens of a prompt turn's requests. `input_tokens` excludes the tokens read from or written to
    the cache, and `thought_tokens` are part of `output_tokens`. It says nothing of how full the context is."""

    total_tokens: int
    input_tokens: int
    output_tokens: int
    thought_tokens: int
    cached_read_tokens: int
    cached_write_tokens: int


class PromptResponse(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `PromptResponse`. `usage` is left out if the provider reported none. It is not in ACP's stable schema yet;
    clients that do not know it ignore it."""

    stop_reason: TurnEnd
    usage: PromptUsage | UnsetType = UNSET


class _Running(Struct, kw_only=True, eq=False):
    """The prompts of one session that have not ended. `counted` are the tokens of the session's requests that earlier
    answers contain."""

    counted: Usage
    tasks: set[asyncio.Task[TurnEnd]] = field(default_factory=set["asyncio.Task[TurnEnd]"])

    def take(self, totals: Usage) -> Usage:
        """Returns the tokens since the last call: turns run one after the other, so the ending turn's."""
        took, self.counted = totals - self.counted, totals
        return took


class PromptHandlers:
    """The handlers of `session/prompt` and `session/cancel` for one connection. Slash commands of Ullage are run here,
    all other prompts are sent to the model."""

    def __init__(self, workspace: Callable[[], Workspace], announcer: Announcer) -> None:
        self._workspace = workspace
        self._announcer = announcer
        self._running: dict[str, _Running] = {}

    async def prompt(self, params: api.PromptParams) -> PromptResponse:
        """Serves `session/prompt`: runs the prompt and returns the stop reason of its turn once the turn has ended. The
        answer of a slash command is sent as an update. Raises `SessionNotFound`, and the errors of the model."""
        workspace, session_id = self._workspace(), params.session_id
        conversation = workspace.open(session_id)
        invocation = find_command(params.prompt)
        if invocation is not None:
            return PromptResponse(stop_reason=await self._run(conversation, self._command(session_id, invocation)))
        running = self._running_in(conversation)
        try:
            with self._announcer.answering(session_id):
                end = await self._run(conversation, _ask(workspace, params))
        finally:
            took = running.take(_totals(conversation))
        return PromptResponse(stop_reason=end, usage=_usage(took) if took.total > 0 else UNSET)

    async def cancel(self, params: api.SessionParams) -> None:
        """Serves `session/cancel`: cancels the session's running work, and the prompts that wait for it. All its
        prompts are answered with the stop reason `cancelled`."""
        session_id = params.session_id
        self._workspace().cancel(session_id)
        running = self._running.get(session_id)
        for task in running.tasks if running else ():
            # Once: a second cancellation would interrupt the end of a turn.
            if not task.cancelling():
                task.cancel()

    async def _command(self, session_id: str, invocation: Invocation) -> TurnEnd:
        self._announcer.send_text(session_id, await _answer(self._workspace(), session_id, invocation))
        return TurnEnd.END_TURN

    def _running_in(self, conversation: Conversation) -> _Running:
        found = self._running.get(conversation.id)
        return found or self._running.setdefault(conversation.id, _Running(counted=_totals(conversation)))

    async def _run(self, conversation: Conversation, work: Coroutine[Any, Any, TurnEnd]) -> TurnEnd:
        """Waits for the work and returns its result, or `CANCELLED` if `session/cancel` stopped it. If the request
        itself is cancelled, the work is cancelled, too."""
        task = asyncio.get_running_loop().create_task(work)
        running = self._running_in(conversation)
        running.tasks.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            running.tasks.discard(task)
            if not running.tasks:
                self._running.pop(conversation.id, None)
        return TurnEnd.CANCELLED if task.cancelled() else task.result()


async def _ask(workspace: Workspace, params: api.PromptParams) -> TurnEnd:
    return (await api.prompt(workspace, params)).stop_reason


def _totals(conversation: Conversation) -> Usage:
    return conversation.projection.tracker.totals


def _usage(took: Usage) -> PromptUsage:
    return PromptUsage(
        total_tokens=took.total,
        input_tokens=took.input_tokens,
        output_tokens=took.output_tokens,
        thought_tokens=took.reasoning_tokens,
        cached_read_tokens=took.cache_read_input_tokens,
        cached_write_tokens=took.cache_creation_input_tokens,
    )


async def _answer(workspace: Workspace, session_id: str, invocation: Invocation) -> str:
    """Returns the slash command's answer, or the text of its error: the user reads it where the answer would be."""
    try:
        return await invocation.run(workspace, session_id)
    except UllageError as error:
        return str(error)


class Inserted(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `PromptResponse`: the prompt is in the transcript under this id."""

    message_id: str


class _Prompt(Struct, kw_only=True, eq=False):
    """A prompt of the client. `inserted` gets its message's id, and `answered` is set once the client has it."""

    content: tuple[JsonObject, ...]
    inserted: "asyncio.Future[str]"
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class PromptLife:
    """Serves the prompts of one connection as version 2 has them: each is answered once it is in the transcript, and
    its session is `running` until the last one has ended."""

    def __init__(
        self,
        workspace: Callable[[], Workspace],
        connection: AcpConnection,
        announcer: Announcer,
        turns: PromptHandlers,
    ) -> None:
        self._workspace = workspace
        self._connection = connection
        self._announcer = announcer
        self._turns = turns
        # Those that are not in the transcript yet, in the order in which they get there.
        self._waiting: dict[str, list[_Prompt]] = {}
        self._running: dict[str, set[asyncio.Task[None]]] = {}
        announcer.on_prompt = self._insert

    async def prompt(self, params: api.PromptParams) -> Reply:
        """Serves `session/prompt`. Raises `SessionNotFound`, and the errors of a prompt that is not recorded."""
        self._workspace().open(params.session_id)
        prompt = _Prompt(content=params.prompt, inserted=asyncio.get_running_loop().create_future())
        self._waiting.setdefault(params.session_id, []).append(prompt)
        turn = self._connection.start_turn(self._turn(params, prompt))
        self._begin(params.session_id, turn)
        try:
            await asyncio.wait([turn, prompt.inserted], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # A prompt that is in the transcript gets its answer, and its turn continues.
            if not _is_in(prompt):
                turn.cancel()
                raise
        finally:
            if not prompt.inserted.done():
                prompt.inserted.cancel()
                self._withdraw(params.session_id, prompt)
                prompt.answered.set()
        if prompt.inserted.cancelled():
            # The turn raises why.
            await turn
            raise cancelled()
        return Reply(Inserted(message_id=prompt.inserted.result()), prompt.answered.set)

    def show_state(self, session_id: str) -> None:
        self._send(session_id, _RUNNING if self._running.get(session_id) else {"state": "idle"})

    async def ended(self, session_id: str) -> None:
        """Returns once the session's turns have ended, which were cancelled before, or after 10 seconds."""
        if turns := self._running.get(session_id):
            await asyncio.wait(turns, timeout=_PATIENCE)

    @contextmanager
    def blocked(self, session_id: str) -> Generator[None]:
        """Says, during the block, that the session's turn waits for the user."""
        self._send(session_id, _BLOCKED)
        try:
            yield
        finally:
            if self._running.get(session_id):
                self._send(session_id, _RUNNING)

    async def _turn(self, params: api.PromptParams, prompt: _Prompt) -> None:
        """Runs a prompt as version 1 does. Then sends the session's state if no other prompt runs. Raises the error of
        a prompt that is not in the transcript."""
        session_id, ended = params.session_id, {"stopReason": "cancelled"}
        if find_command(params.prompt):
            # A command is no message of the transcript, so its id is made here.
            self._accept(session_id, prompt, self._workspace().ports.ids.new("m"))
        try:
            ended = as_plain(await self._turns.prompt(params))
        except Exception as error:
            ended = {"stopReason": "error", "error": as_plain(self._connection.error_of(error))}
            if not _is_in(prompt):
                raise
        finally:
            try:
                if _is_in(prompt):
                    # So that no client waits for a turn that has ended.
                    await prompt.answered.wait()
            finally:
                self._end(session_id, ended)

    def _insert(self, session_id: str, update: UserMessageChunk) -> None:
        """Sends the message that has just become part of the session: the client's first waiting prompt, which is
        answered now, or text of another door's method."""
        waiting = self._waiting.get(session_id)
        if waiting:
            self._accept(session_id, waiting[0], update.message_id)
        else:
            self._echo(session_id, update.message_id, [as_plain(update.content)])

    def _withdraw(self, session_id: str, prompt: _Prompt) -> None:
        waiting = self._waiting[session_id]
        waiting.remove(prompt)
        if not waiting:
            del self._waiting[session_id]

    def _accept(self, session_id: str, prompt: _Prompt, message_id: str) -> None:
        self._withdraw(session_id, prompt)
        prompt.inserted.set_result(message_id)
        self._echo(session_id, message_id, prompt.content)

    def _echo(self, session_id: str, message_id: str, content: Sequence[Any]) -> None:
        said = {"sessionUpdate": "user_message", "messageId": message_id, "content": content}
        self._connection.notify(UPDATE_METHOD, {"sessionId": session_id, "update": said})

    def _begin(self, session_id: str, turn: "asyncio.Task[None]") -> None:
        running = self._running.setdefault(session_id, set())
        if not running:
            self._send(session_id, _RUNNING)
        running.add(turn)

    def _end(self, session_id: str, ended: JsonObject) -> None:
        turn, running = asyncio.current_task(), self._running.get(session_id, set())
        if turn is not None:
            running.discard(turn)
        if not running:
            self._running.pop(session_id, None)
            self._send(session_id, {"state": "idle", **ended})

    def _send(self, session_id: str, state: JsonObject) -> None:
        said = {"sessionUpdate": "state_update", **state}
        self._connection.notify(UPDATE_METHOD, {"sessionId": session_id, "update": said})


def _is_in(prompt: _Prompt) -> bool:
    return prompt.inserted.done() and not prompt.inserted.cancelled()


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
    """The ACP agent of one client, over `connection`. `max_line` is the longest accepted message, in bytes."""

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
        """Returns the workspace, which the first call opens with the client's settings. Raises `StoreError`."""
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
        # No daemon: Python ends one in the midst of native code, which may abort the program. It takes half a second.
        threading.Thread(target=self._hooks.warm_up, name="warm-up").start()
        names = tuple(PREFIX + method.name for method in self._methods)
        introduced = introduce(self._version, names, client, uses_servers=is_usable())
        if params.version == PROTOCOL_VERSION:
            return introduced
        life = PromptLife(self.workspace, self.connection, self._announcer, self._prompts)
        self.connection.spoken = spoken(life, lambda: self.workspace().ports.ids.new("m"))
        self._routes = tuple(routes_of(self._routes, life))
        self.connection.clear_routes()
        self._install()
        return introduction_as_v2(as_plain(introduced))

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
            yield "auth/login" if name == "authenticate" else name, params, handler
    yield "auth/logout", api.Nothing, _log_out
    for name, replaced in _REPLACED.items():
        yield replaced(name, known, life)


def spoken(life: PromptLife, new_id: Callable[[], str]) -> Spoken:
    """Returns how the messages to a client of version 2 differ. `new_id` makes ids of texts outside the transcript."""

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
