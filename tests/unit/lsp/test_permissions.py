"""The permission request to a client, and the result of each answer."""

import asyncio
from typing import Any

import pytest

from support.lsp_rig import Rig
from ullage.api.client_requests import ClientPermissions
from ullage.model.updates import PermissionAnswer, ToolCall, ToolKind, ToolStatus

CALL = ToolCall(tool_call_id="t1", title="Read a.py", kind=ToolKind.READ, status=ToolStatus.PENDING)

PERMISSION_METHOD = "ullage/session/request_permission"


def selected(option: Any) -> Any:
    return {"outcome": {"outcome": "selected", "optionId": option}}


async def start() -> Rig:
    rig = Rig()
    await rig.initialize({"experimental": {"ullage": {"permissions": True}}})
    return rig


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (selected("allow_once"), PermissionAnswer.ALLOW_ONCE),
        (selected("allow_always"), PermissionAnswer.ALLOW_ALWAYS),
        (selected("reject_once"), PermissionAnswer.REJECT_ONCE),
        (selected("allow_everything"), PermissionAnswer.REJECT_ONCE),
        (selected(3), PermissionAnswer.REJECT_ONCE),
        ({"outcome": {"outcome": "selected"}}, PermissionAnswer.REJECT_ONCE),
        ({"outcome": {"outcome": "cancelled"}}, PermissionAnswer.CANCELLED),
        ({}, PermissionAnswer.REJECT_ONCE),
        (None, PermissionAnswer.REJECT_ONCE),
    ],
)
async def test_only_an_option_that_was_offered_permits(result: Any, answer: PermissionAnswer) -> None:
    rig = await start()
    questions: list[Any] = []
    rig.answers[PERMISSION_METHOD] = lambda params: questions.append(params) or result

    assert await ClientPermissions(rig.connection.ask, "ullage/").ask("s_1", CALL) is answer

    (question,) = questions
    assert question["sessionId"] == "s_1"
    assert question["toolCall"]["toolCallId"] == "t1"
    assert [option["kind"] for option in question["options"]] == ["allow_once", "allow_always", "reject_once"]
    assert not rig.connection.unfinished()


async def test_an_error_permits_nothing() -> None:
    rig = await start()
    asking = asyncio.create_task(ClientPermissions(rig.connection.ask, "ullage/").ask("s_1", CALL))
    question = await rig.until(lambda message: message.get("method") == PERMISSION_METHOD)
    rig.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "unknown"}})
    assert await asking is PermissionAnswer.REJECT_ONCE


async def test_a_question_whose_turn_is_stopped_is_taken_back() -> None:
    rig = await start()
    asking = asyncio.create_task(ClientPermissions(rig.connection.ask, "ullage/").ask("s_1", CALL))
    question = await rig.until(lambda message: message.get("method") == PERMISSION_METHOD)

    asking.cancel()
    await asyncio.wait([asking])

    assert rig.notified("$/cancelRequest") == [{"id": question["id"]}]
    assert not rig.connection.unfinished()


async def test_the_late_reply_to_a_question_that_was_taken_back_is_expected(caplog: pytest.LogCaptureFixture) -> None:
    rig = await start()
    asking = asyncio.create_task(ClientPermissions(rig.connection.ask, "ullage/").ask("s_1", CALL))
    question = await rig.until(lambda message: message.get("method") == PERMISSION_METHOD)
    asking.cancel()
    await asyncio.wait([asking])

    rig.send({"jsonrpc": "2.0", "id": question["id"], "result": selected("allow_always")})
    await rig.ask("ullage/ping", {})

    assert not caplog.records
    assert not rig.connection.unfinished()


@pytest.mark.parametrize(
    ("capabilities", "options", "asks"),
    [
        ({"experimental": {"ullage": {"permissions": True}}}, None, True),
        ({}, {"client": {"permissions": True}}, True),
        ({"experimental": {"ullage": {"permissions": {}}}}, None, True),
        ({"experimental": {"ullage": True}}, {"client": True}, False),
        ({"experimental": {"ullage": {"permissions": False}}}, {"client": {"name": "vim"}}, False),
    ],
)
async def test_a_client_says_whether_it_asks(capabilities: Any, options: Any, asks: bool) -> None:
    rig = Rig()
    await rig.initialize(capabilities, options)
    await rig.ask("ullage/ping", {})
    assert bool(rig.toy.listeners[0].client.asks_permission) is asks
