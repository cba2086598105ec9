"""All tools of the ACP door and the state of each session that they need: its MCP servers, mode, plan and questions.

The model writes its list of tasks with a tool, and an update shows it. Questions are asked of clients that can show
them (ACP's elicitation): the model's own, by a tool, and those that MCP servers ask during a call.

A session's modes and config options: its model, its thresholds and automatic compaction.

Changed options are stored in the session's log. A mode lasts as long as the session is open in this process, as
permissions do. In the mode `plan` the model ends with a plan, which it offers by a tool.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ullage.acp.announce import (
    Announcer,
    BooleanOption,
    ConfigChoice,
    ConfigOption,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PlanEntry,
    PlanUpdate,
    SelectOption,
)
from ullage.acp.connection import Client
from ullage.api.client_requests import Ask
from ullage.jsonrpc.envelope import BadReply
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.json_values import JsonObject, as_list, as_object, as_text
from ullage.model.message import ToolDefinition, ToolUseBlock
from ullage.model.updates import Notice, Severity, ToolKind
from ullage.model.words import percent, short
from ullage.policy.budget import ContextBudget
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Question, ToolAbout, ToolOutcome
from ullage.service.sessions import change_model, configure_session
from ullage.tools.offered_servers import PREFIX, Answer, AskedForm, AskedVisit, HttpServer, Server, StdioServer
from ullage.tools.session_servers import SessionServers

OFFER_PLAN = ToolDefinition(
    name="offer_plan",
    description=(
        "Asks the user to accept the plan that you have just written in your answer. If they do, you may use all tools "
        "and are to carry the plan out."
    ),
    input_schema={"type": "object", "properties": {}},
)
ABOUT_OFFER = ToolAbout(title="Carry out this plan", kind=ToolKind.SWITCH_MODE)
PLANNING = (
    "You are in the mode `plan`: only look, change nothing. When you know what is to be done, write the plan in your "
    f"answer and call {OFFER_PLAN.name}."
)
ACCEPTED = "The user accepts the plan and has left the mode `plan`. Carry the plan out now."
MODE, MODEL, WARN_AT, COMPACT_AT, AUTO_COMPACT = "mode", "model", "warn_at", "compact_at", "auto_compact"
# ACP's categories: the mode, the model itself, and options that depend on it.
_MODE, _MODEL, _MODEL_CONFIG = "mode", "model", "model_config"
# The offered thresholds, as percent of usable, like the settings. A lower threshold would be reached every other turn.
# Their names are places on the scale of the window, as everywhere else.
_SHARES = range(50, 100, 5)
_ON, _OFF = "on", "off"
_SETTING_NAMES = {WARN_AT: "warnAt", COMPACT_AT: "compactAt", AUTO_COMPACT: "enabled"}


class Mode(StrEnum):
    """`ask`: the model may use every tool, and the user is asked before it changes anything. `plan`: only tools that
    read."""

    ASK = "ask"
    PLAN = "plan"


class SessionMode(Struct, frozen=True, kw_only=True):
    """ACP's `SessionMode`: a mode, with the name and description that the client shows."""

    id: Mode
    name: str
    description: str


class SessionModeState(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `SessionModeState`: the mode that a session is in, and all modes."""

    current_mode_id: Mode
    available_modes: tuple[SessionMode, ...]


MODES = (
    SessionMode(id=Mode.ASK, name="Ask", description="Use every tool; ask before one that is not Ullage's own."),
    SessionMode(id=Mode.PLAN, name="Plan", description="Only read, and end with a plan that you can accept."),
)


def mode_state(mode: Mode) -> SessionModeState:
    """Returns the modes as a client is sent them, with the one that a session is in."""
    return SessionModeState(current_mode_id=mode, available_modes=MODES)


def config_options(conversation: Conversation, client: Client, mode: Mode) -> tuple[ConfigOption, ...]:
    """Returns the session's config options, each with its current value and the values that the user can choose. There
    is no model option if no model is known. `mode` is the session's mode, which is not among its settings."""
    settings, budget = conversation.settings, conversation.budget
    warned, compacted = "before you are warned", "before it is compacted"
    return (
        _mode_option(mode),
        *_model_option(conversation),
        _switch(settings.enabled, client),
        _share(WARN_AT, "Warn at", f"How full the context may be {warned}.", settings.warn_at, budget),
        _share(COMPACT_AT, "Compact at", f"How full the context may be {compacted}.", settings.compact_at, budget),
    )


def set_option(conversation: Conversation, config_id: str, value: str | bool, known: Sequence[ConfigOption]) -> None:
    """Changes one of the `known` config options of the session to `value`, which is stored in the session's log, except
    for the mode, which the caller keeps. Raises `InvalidRequest` if the option or the value was not offered."""
    options = {option.id: option for option in known}
    if config_id not in options:
        raise InvalidRequest(f"there is no config option {config_id!r}; there are {', '.join(options)}")
    option = options[config_id]
    if not _fits(option, value):
        raise InvalidRequest(f"{value!r} is no value of the config option {config_id!r}; {_values(option)}")
    if config_id == MODEL:
        change_model(conversation, str(value))
    elif config_id != MODE:
        own = {**conversation.transcript.context, _SETTING_NAMES[config_id]: _setting(value)}
        configure_session(conversation, own)


def _mode_option(mode: Mode) -> SelectOption:
    return SelectOption(
        id=MODE,
        name="Mode",
        description="Which tools the model may use.",
        category=_MODE,
        current_value=mode,
        options=tuple(ConfigChoice(value=each.id, name=each.name) for each in MODES),
    )


def _model_option(conversation: Conversation) -> Iterator[ConfigOption]:
    current = conversation.model
    names = [name for name in dict.fromkeys((current, *_known_models(conversation.workspace))) if name]
    if not names:
        return
    choices = [ConfigChoice(value=name, name=name) for name in names]
    if not current:
        choices.insert(0, ConfigChoice(value="", name="not chosen yet"))
    yield SelectOption(
        id=MODEL,
        name="Model",
        description="The model whose window counts, and that answers.",
        category=_MODEL,
        current_value=current,
        options=tuple(choices),
    )


def _known_models(workspace: Environment) -> Iterator[str]:
    """Yields the names of the models in the settings. The first may be "". A provider's pattern (with `*`) is
    not the name of a model and is left out."""
    settings = workspace.settings
    yield settings.model
    yield from settings.models
    yield from (name for own in settings.providers.values() for name in own.models if "*" not in name)


def _switch(enabled: bool, client: Client) -> ConfigOption:
    name, description = "Automatic compaction", "Warn and compact without being asked."
    if client.takes_booleans:
        return BooleanOption(
            id=AUTO_COMPACT, name=name, description=description, category=_MODEL_CONFIG, current_value=enabled
        )
    return SelectOption(
        id=AUTO_COMPACT,
        name=name,
        description=description,
        category=_MODEL_CONFIG,
        current_value=_ON if enabled else _OFF,
        options=(ConfigChoice(value=_ON, name="On"), ConfigChoice(value=_OFF, name="Off")),
    )


def _share(option_id: str, name: str, description: str, current: float, budget: ContextBudget | None) -> SelectOption:
    chosen = f"{100 * current:g}"
    values = sorted({*map(str, _SHARES), chosen}, key=float)
    return SelectOption(
        id=option_id,
        name=name,
        description=description,
        category=_MODEL_CONFIG,
        current_value=chosen,
        options=tuple(ConfigChoice(value=value, name=_place(float(value) / 100, budget)) for value in values),
    )


def _place(share: float, budget: ContextBudget | None) -> str:
    """Returns the label of a threshold, which is a share of usable: its percentage of the window and its tokens, or,
    while no window is known, the percentage of usable."""
    if budget is None:
        return f"{100 * share:g}% of usable"
    tokens = int(budget.usable * share)
    return f"{percent(tokens, budget.window)}% ({short(tokens)})"


def _fits(option: ConfigOption, value: str | bool) -> bool:
    if isinstance(option, BooleanOption):
        return isinstance(value, bool)
    return value in [choice.value for choice in option.options]


def _values(option: ConfigOption) -> str:
    if isinstance(option, BooleanOption):
        return "it is true or false, with `type` `boolean`"
    return f"there are {', '.join(choice.value for choice in option.options)}"


def _setting(value: str | bool) -> Any:
    """Converts a config option's value into the setting's: "on" and "off", or a percentage as a share from 0 to 1."""
    if isinstance(value, bool):
        return value
    return value == _ON if value in (_ON, _OFF) else float(value) / 100


# More entries than anyone reads.
_MOST = 100
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": "What is to be done, in a few words."},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    "priority": {"type": "string", "enum": ["high", "medium", "low"]},
                },
                "required": ["content", "status"],
            },
        }
    },
    "required": ["entries"],
}
UPDATE_PLAN = ToolDefinition(
    name="update_plan",
    description=(
        "Shows the user your list of tasks for work of several steps. Send the whole list whenever a task begins or is "
        "done."
    ),
    input_schema=_SCHEMA,
)


class _TaskInput(Struct, frozen=True, kw_only=True):
    """Input of the tool `update_plan`: the whole list."""

    entries: tuple[PlanEntry, ...]


ABOUT_PLAN = ToolAbout(title="Update the plan", kind=ToolKind.THINK)


def read_plan(given: dict[str, Any]) -> PlanUpdate:
    """Returns the update for the list that a call's input holds. Raises `InvalidRequest` if it holds none."""
    try:
        entries = msgspec.convert(given, _TaskInput).entries
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{UPDATE_PLAN.name}: {error}") from None
    return PlanUpdate(entries=entries[:_MOST])


ELICIT = "elicitation/create"
_FIELD = "answer"
ASK_USER = ToolDefinition(
    name="ask_user",
    description=(
        "Asks the user one question and returns the answer. Use it only where you cannot continue without knowing, and "
        "give the possible answers where there are few."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "options": {"type": "array", "items": {"type": "string"}, "description": "The possible answers, if few."},
        },
        "required": ["question"],
    },
)
_LIMITS = ("minimum", "maximum")
# The kinds of fields, each with the fields of its schema that ACP has, too.
_FIELDS = {
    "string": ("minLength", "maxLength", "pattern", "format", "default", "enum", "oneOf"),
    "number": (*_LIMITS, "default"),
    "integer": (*_LIMITS, "default"),
    "boolean": ("default",),
    "array": ("minItems", "maxItems", "items", "default"),
}
_ACTIONS: dict[str, Literal["accept", "decline", "cancel"]] = {"accept": "accept", "decline": "decline"}


class _Input(Struct, frozen=True, kw_only=True):
    """Input of the tool `ask_user`. Without `options` the user writes the answer."""

    question: str
    options: tuple[str, ...] = ()


class _Question(Struct, frozen=True, kw_only=True, rename="camel"):
    """What every `CreateElicitationRequest` has. `tool_call_id` names the call during which the user is asked."""

    message: str
    session_id: str
    tool_call_id: str | UnsetType = UNSET


class FormQuestion(_Question, frozen=True, kw_only=True, rename="camel"):
    """ACP's `CreateElicitationRequest` in the mode `form`. `requested_schema` has the fields of the form, as JSON
    Schema."""

    mode: Literal["form"] = "form"
    requested_schema: JsonObject


class VisitQuestion(_Question, frozen=True, kw_only=True, rename="camel"):
    """ACP's `CreateElicitationRequest` in the mode `url`."""

    mode: Literal["url"] = "url"
    elicitation_id: str
    url: str


class ElicitationResult(Struct, frozen=True, kw_only=True):
    """ACP's `CreateElicitationResponse`. `content` has the fields of the form if the user filled it in."""

    action: str
    content: dict[str, Any] | UnsetType | None = UNSET


async def ask_user(ask: Ask, session_id: str, call_id: str, given: dict[str, Any]) -> ToolOutcome:
    """Asks the client's user, however long the answer takes, and returns the answer as the call's result. Raises
    `InvalidRequest` if the call's input holds no question."""
    try:
        wanted = msgspec.convert(given, _Input)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{ASK_USER.name}: {error}") from None
    answer = {"type": "string", "title": "Answer", **({"enum": list(wanted.options)} if wanted.options else {})}
    schema = _form({_FIELD: answer}, (_FIELD,))
    question = FormQuestion(
        message=wanted.question, session_id=session_id, tool_call_id=call_id, requested_schema=schema
    )
    try:
        result = await ask(ELICIT, question, ElicitationResult)
    except BadReply as error:
        return ToolOutcome(text=f"The user could not be asked: {error}", is_error=True)
    content = result.content if isinstance(result.content, dict) else {}
    if result.action == "accept" and isinstance(content.get(_FIELD), str):
        return ToolOutcome(text=content[_FIELD])
    return ToolOutcome(text="[The user did not answer.]")


async def forward(ask: Ask, client: Client, question: FormQuestion | VisitQuestion | None) -> Answer:
    """Asks the client's user, however long that takes; `decline` where the client cannot show it, or fails."""
    shown = client.shows_forms if isinstance(question, FormQuestion) else client.shows_addresses
    if question is None or not shown:
        return Answer(action="decline")
    try:
        result = await ask(ELICIT, question, ElicitationResult)
    except BadReply:
        return Answer(action="decline")
    content = as_object(result.content) if isinstance(question, FormQuestion) else None
    action = _ACTIONS.get(result.action, "cancel")
    return Answer(action=action, content=content if action == "accept" else None)


def as_question(
    asked: AskedForm | AskedVisit, server: str, session_id: str, call_id: str, new_id: str
) -> FormQuestion | VisitQuestion | None:
    """Returns what the client is asked, with the server's name before its words, so that the user knows who asks.
    `new_id` names a question for which the server gave no id. Returns None for a form with a field that ACP lacks."""
    message = f"{server}: {asked.message}"
    call = call_id or UNSET
    if isinstance(asked, AskedVisit):
        question_id = asked.id or new_id
        return VisitQuestion(
            message=message, session_id=session_id, tool_call_id=call, elicitation_id=question_id, url=asked.url
        )
    fields = {name: _field(as_object(schema)) for name, schema in asked.fields.items()}
    if not all(fields.values()):
        return None
    schema = _form(fields, asked.required)
    return FormQuestion(message=message, session_id=session_id, tool_call_id=call, requested_schema=schema)


def _form(fields: JsonObject, required: Sequence[str]) -> JsonObject:
    """Returns ACP's `ElicitationSchema`."""
    return {"type": "object", "properties": fields, "required": [*required]}


def _field(schema: JsonObject) -> JsonObject:
    """Returns the schema of a field with what ACP has of it; empty for a kind of field that ACP lacks. Names of choices
    in MCP's former way (`enumNames`) become titles."""
    kind = as_text(schema.get("type"))
    if kind not in _FIELDS:
        return {}
    kept: dict[str, Any] = {name: schema[name] for name in _FIELDS[kind] if schema.get(name) is not None}
    names = as_list(schema.get("enumNames"))
    if names and "enum" in kept:
        choices = as_list(kept.pop("enum"))
        kept["oneOf"] = [{"const": one, "title": name} for one, name in zip(choices, names, strict=False)]
    texts = {name: schema[name] for name in ("title", "description") if isinstance(schema.get(name), str)}
    return {"type": kind, **texts, **kept}


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
        for session_id in tuple(self._sessions):
            await self.close(session_id)

    def mode(self, session_id: str) -> Mode:
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
        others = (tool for tool in declared if not (tool.name in _OWN or tool.name.startswith(PREFIX)))
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
                question = use.input.get("question")
                return ToolAbout(
                    title=f"Ask: {question}" if isinstance(question, str) else "Ask you", kind=ToolKind.OTHER
                )
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
