"""What an MCP server asks the user during a call, and the answer (MCP's elicitation)."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct


class AskedForm(Struct, frozen=True, kw_only=True):
    """A form: `fields` are the schemas of its fields by name, as JSON Schema, and `required` names those that the user
    must fill in."""

    message: str
    fields: dict[str, Any]
    required: tuple[str, ...] = ()


class AskedVisit(Struct, frozen=True, kw_only=True):
    """An address that the user is asked to open. `id` is the server's for this question, "" if it gave none."""

    message: str
    url: str
    id: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """The user's answer: `accept` with the fields of the form, `decline`, or `cancel` for none."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


# Takes the server's name and what it asks; returns once the user has answered, however long that takes.
Elicit = Callable[[str, AskedForm | AskedVisit], Awaitable[Answer]]
