"""The tool by which the model asks the user a question, for clients that can show one (ACP's elicitation)."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ullage.api.permissions import Ask
from ullage.jsonrpc.rpc_errors import BadReply
from ullage.model.errors import InvalidRequest
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.ports.models import ToolAbout, ToolOutcome

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
