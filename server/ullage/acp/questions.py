"""Questions to the user, for clients that can show them (ACP's elicitation): the model's own, by a tool, and those that
MCP servers ask during a call.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ullage.acp.connection import Client
from ullage.api.client_requests import Ask
from ullage.jsonrpc.rpc_errors import BadReply
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_list, as_object, as_text
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.ports.models import ToolAbout, ToolOutcome
from ullage.tools.offered_servers import Answer, AskedForm, AskedVisit

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


class FormSchema(Struct, frozen=True, kw_only=True):
    """ACP's `ElicitationSchema`: the fields of the form, as JSON Schema."""

    type: Literal["object"] = "object"
    properties: dict[str, dict[str, Any]]
    required: tuple[str, ...]


class ElicitationParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """ACP's `CreateElicitationRequest` in the mode `form`, for a tool call of a session."""

    mode: Literal["form"] = "form"
    message: str
    session_id: str
    tool_call_id: str
    requested_schema: FormSchema


class ElicitationResult(Struct, frozen=True, kw_only=True):
    """ACP's `CreateElicitationResponse`. `content` has the fields of the form if the user filled it in."""

    action: str
    content: dict[str, Any] | UnsetType | None = UNSET


def about_question(given: dict[str, Any]) -> ToolAbout:
    """Returns the description of a call for the user."""
    question = given.get("question")
    return ToolAbout(title=f"Ask: {question}" if isinstance(question, str) else "Ask you", kind=ToolKind.OTHER)


async def ask_user(ask: Ask, session_id: str, call_id: str, given: dict[str, Any]) -> ToolOutcome:
    """Asks the client's user, however long the answer takes, and returns the answer as the call's result. Raises
    `InvalidRequest` if the call's input holds no question."""
    try:
        wanted = msgspec.convert(given, _Input)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{ASK_USER.name}: {error}") from None
    answer = {"type": "string", "title": "Answer", **({"enum": list(wanted.options)} if wanted.options else {})}
    params = ElicitationParams(
        message=wanted.question,
        session_id=session_id,
        tool_call_id=call_id,
        requested_schema=FormSchema(properties={_FIELD: answer}, required=(_FIELD,)),
    )
    try:
        result = await ask(ELICIT, params, ElicitationResult)
    except BadReply as error:
        return ToolOutcome(text=f"The user could not be asked: {error}", is_error=True)
    content = result.content if isinstance(result.content, dict) else {}
    if result.action == "accept" and isinstance(content.get(_FIELD), str):
        return ToolOutcome(text=content[_FIELD])
    return ToolOutcome(text="[The user did not answer.]")


class _Question(Struct, frozen=True, kw_only=True, rename="camel"):
    """What every `CreateElicitationRequest` has. `tool_call_id` is that of the call during which the server asks."""

    message: str
    session_id: str
    tool_call_id: str | UnsetType = UNSET


class FormQuestion(_Question, frozen=True, kw_only=True, rename="camel"):
    """ACP's `CreateElicitationRequest` in the mode `form`."""

    mode: Literal["form"] = "form"
    requested_schema: JsonObject


class VisitQuestion(_Question, frozen=True, kw_only=True, rename="camel"):
    """ACP's `CreateElicitationRequest` in the mode `url`."""

    mode: Literal["url"] = "url"
    elicitation_id: str
    url: str


async def forward(ask: Ask, client: Client, question: FormQuestion | VisitQuestion | None) -> Answer:
    """Asks the client's user, however long the answer takes. The answer is `decline` where the client cannot show the
    question, or fails at it."""
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
    schema: JsonObject = {"type": "object", "properties": fields, "required": list(asked.required)}
    return FormQuestion(message=message, session_id=session_id, tool_call_id=call, requested_schema=schema)


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
