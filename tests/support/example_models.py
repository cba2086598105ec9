"""A client whose editor has models and tools for them, for the examples."""

from contextlib import aclosing
from typing import Any, TypeVar, cast

from msgspec import Struct

from support.example_messages import Examples
from support.workspace import TestClient, as_json
from ullage.api.client_models import ClientModels
from ullage.api.wire import COMPLETE, COUNT
from ullage.app.serving_mcp import ConversationTools
from ullage.model.offered_models import (
    CompleteParams,
    CompleteResult,
    CompletionFault,
    CountResult,
    Purpose,
    SpokenMessage,
    SpokenRole,
)

R = TypeVar("R")
_MODEL = "copilot/gpt-4.1"
_OFFERED = {"id": _MODEL, "name": "GPT-4.1", "maxInputTokens": 111_000}
_PROMPT = (
    SpokenMessage(role=SpokenRole.USER, text="Where is frost converted?"),
    SpokenMessage(role=SpokenRole.ASSISTANT, text="In units.py."),
    SpokenMessage(role=SpokenRole.USER, text="And where is it rounded?"),
)


async def ask_editor(examples: Examples, client: TestClient, session_id: str) -> None:
    """Keeps what is said when the server asks a model of the client's editor, and when such a model calls a tool."""
    client.workspace.looks_up = ConversationTools(client.workspace)
    await examples.call(
        client, "context/lookUp", sessionId=session_id, tool="search", arguments={"query": "units.py", "limit": 1}
    )

    async def answer(_: str, params: Struct, kind: type[R], /) -> R:
        asked = cast("CompleteParams", params)
        examples.keep("models.complete.params", as_json(asked))
        await _tell(examples, client, "models/piece", requestId=asked.request_id, text="In report.py, ")
        result = CompleteResult(pieces=1)
        examples.keep("models.complete.result", as_json(result))
        return cast("R", result)

    client.workspace.editor_models = models = ClientModels(answer, "ullage/")
    await _tell(examples, client, "models/offer", editor="Visual Studio Code", models=[_OFFERED])
    async with aclosing(models.stream(_MODEL, Purpose.ANSWER, _PROMPT)) as pieces:
        assert [piece async for piece in pieces] == ["In report.py, "]
    await _count(examples)
    broken = CompleteResult(pieces=1, fault=CompletionFault.FAILED, reason="Canceled")
    examples.keep(f"{COMPLETE.name.replace('/', '.')}.cancelled.result", as_json(broken))


async def _count(examples: Examples) -> None:
    """Keeps what is said when the server asks for a model's own count of a prompt."""

    async def answer(_: str, params: Struct, kind: type[R], /) -> R:
        result = CountResult(tokens=1_204)
        none = CountResult(tokens=None)
        for part, value in (("params", params), ("result", result), ("cancelled.result", none)):
            examples.keep(f"{COUNT.name.replace('/', '.')}.{part}", as_json(value))
        return cast("R", result)

    assert await ClientModels(answer, "ullage/").count(f"editor/{_MODEL}", _PROMPT) == 1_204


async def _tell(examples: Examples, client: TestClient, method: str, **params: Any) -> None:
    await examples.call(client, method, **params)
    del examples.messages[f"{method.replace('/', '.')}.result"]
