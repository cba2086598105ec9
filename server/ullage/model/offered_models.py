"""The models that a client offers to the server, such as those of the user's editor, and one request to such a model.

The server has no key for them: it asks the client, and the client asks the model. A session names such a model by
`editor/`, then the client's own name of it.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

# Before the client's own name of a model, so that it can't be mistaken for a model that a provider with a key serves.
EDITOR = "editor/"


class OfferedModel(Struct, frozen=True, kw_only=True, rename="camel"):
    """A model that the client offers. `id` is the client's own name of it, without `editor/`, and `name` what users
    read. `maxInputTokens` is the longest prompt that it takes."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    name: str
    max_input_tokens: Annotated[int, Meta(ge=1)]


class SpokenRole(StrEnum):
    """Who said a message of a request to an offered model."""

    USER = "user"
    ASSISTANT = "assistant"


class SpokenMessage(Struct, frozen=True, kw_only=True):
    """A message of a request to an offered model. Calls of tools and their results are written as text."""

    role: SpokenRole
    text: str


class Purpose(StrEnum):
    """What an offered model is asked for: the next answer of a chat, or the summary of a compaction."""

    ANSWER = "answer"
    SUMMARY = "summary"


class CompleteParams(Struct, frozen=True, kw_only=True, rename="camel"):
    """Asks one of the client's models. `model` is the `id` of an offered model. The client sends the answer while it is
    written, in `models/piece` with the same `requestId`, and then answers this request."""

    request_id: str
    model: str
    purpose: Purpose
    messages: tuple[SpokenMessage, ...]


class CompletionFault(StrEnum):
    """Why a client's model gave no whole answer. `no_permission`: the user has not allowed it. `blocked`: the model's
    vendor takes no more requests for now, or none with this content. `not_found`: there is no such model any more.
    `too_long`: the prompt is over the model's limit. `failed`: anything else."""

    NO_PERMISSION = "no_permission"
    BLOCKED = "blocked"
    NOT_FOUND = "not_found"
    TOO_LONG = "too_long"
    FAILED = "failed"


class CompleteResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The end of an answer. `pieces` is how many `models/piece` the client has sent for it. `fault` is null if the
    answer is whole; else `reason` is what the client knows of it."""

    pieces: int
    fault: CompletionFault | None = None
    reason: str = ""


class CountParams(Struct, frozen=True, kw_only=True):
    """Asks how many tokens a prompt is for one of the client's models. `model` is the `id` of an offered model."""

    model: str
    messages: tuple[SpokenMessage, ...]


class CountResult(Struct, frozen=True, kw_only=True):
    """The tokens of a prompt by the model's own count, null if it can't count."""

    tokens: Annotated[int, Meta(ge=0)] | None


class ModelPiece(Struct, frozen=True, kw_only=True, rename="camel"):
    """The next piece of an answer, in the order in which the model writes it."""

    request_id: str
    text: str


class OfferedModels(Struct, frozen=True, kw_only=True):
    """The models that the client offers from now on, all of them. `editor` is the client's name as its users know
    it."""

    editor: str
    models: tuple[OfferedModel, ...]
