"""Tool calls that need a permission are asked about once, allowed always, or refused if the client cannot be asked."""

from typing import Any

import pytest

from support.workspace import LARGE_MODEL, NoTools, TestClient, build_test_client, play
from ullage.model.message import ToolUseBlock
from ullage.model.updates import PermissionAnswer, ToolCall, ToolKind
from ullage.service.ports.models import Question, ToolAbout, ToolOutcome

CALLS_TWICE = 'tool: look {"at": 1}\n---\ntool: look {"at": 2}\n---\nsay: Done.\n---\nagain:'


class Looker(NoTools):
    """A toolbox with one tool that needs a permission."""

    def __init__(self, kind: ToolKind = ToolKind.READ) -> None:
        self.calls = 0
        self._kind = kind

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        return ToolAbout(title="Look", kind=self._kind)

    async def question(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> Question | None:
        return Question(key=use.name)

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        self.calls += 1
        return ToolOutcome(text="seen")


class Person:
    """A user who always gives the same answer."""

    def __init__(self, answer: PermissionAnswer) -> None:
        self.asked: list[ToolCall] = []
        self._answer = answer

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        self.asked.append(call)
        return self._answer


async def ask(client: TestClient, session_id: str) -> Any:
    return await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Go"}])


async def start(client: TestClient) -> str:
    return (await client.call("session/new", model=LARGE_MODEL))["sessionId"]


@pytest.mark.parametrize(
    ("answer", "asked", "made"),
    [
        (PermissionAnswer.ALLOW_ONCE, 2, 2),
        (PermissionAnswer.ALLOW_ALWAYS, 1, 2),
        (PermissionAnswer.REJECT_ONCE, 2, 0),
    ],
)
async def test_the_users_answer_decides(answer: PermissionAnswer, asked: int, made: int) -> None:
    toolbox, person = Looker(), Person(answer)
    client = build_test_client(live=play(CALLS_TWICE, toolbox))
    client.workspace.permissions = person

    assert await ask(client, await start(client)) == {"stopReason": "end_turn"}

    assert (len(person.asked), toolbox.calls) == (asked, made)


async def test_what_is_always_allowed_holds_for_one_session_until_it_is_closed() -> None:
    person = Person(PermissionAnswer.ALLOW_ALWAYS)
    client = build_test_client(live=play(CALLS_TWICE, Looker()))
    client.workspace.permissions = person
    one = await start(client)
    await ask(client, one)
    await ask(client, one)
    assert len(person.asked) == 1

    await ask(client, await start(client))
    assert len(person.asked) == 2

    await client.call("session/close", sessionId=one)
    await ask(client, one)
    assert len(person.asked) == 3


@pytest.mark.parametrize(("kind", "made"), [(ToolKind.READ, 2), (ToolKind.SEARCH, 2), (ToolKind.EDIT, 0)])
async def test_without_a_user_to_ask_only_reading_is_allowed(kind: ToolKind, made: int) -> None:
    toolbox = Looker(kind)
    client = build_test_client(live=play(CALLS_TWICE, toolbox))
    await ask(client, await start(client))
    assert toolbox.calls == made
