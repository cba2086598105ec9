"""The permission request to a client, and the result of each answer."""

import asyncio
from typing import Any

import pytest
from lsprotocol import types

from support.lsp_client import PATIENCE
from support.lsp_rig import Rig
from ullage.api.client_requests import ClientPermissions
from ullage.jsonrpc.envelope import BadReply
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


# The server's requests to its client, and the answers


@pytest.fixture
async def rig() -> Rig:
    rig = Rig()
    await rig.initialize()
    rig.sent.clear()
    return rig


def ask_for_configuration(rig: Rig) -> "asyncio.Task[list[Any]]":
    params = types.ConfigurationParams(items=[])
    return asyncio.create_task(rig.connection.ask(types.WORKSPACE_CONFIGURATION, params, list[Any]))


async def asked_id(rig: Rig) -> str:
    """Waits for the request for the configuration and returns its id."""
    asked = await rig.until(lambda message: message.get("method") == types.WORKSPACE_CONFIGURATION)
    rig.sent.remove(asked)
    return asked["id"]


async def test_requests_of_both_sides_leave_no_state(rig: Rig) -> None:
    rig.answers["workspace/configuration"] = lambda _: [None]
    for number in range(200):
        await rig.ask("ullage/ping", {}, number)
        params = types.ConfigurationParams(items=[types.ConfigurationItem(section="x")])
        assert list(await rig.connection.ask(types.WORKSPACE_CONFIGURATION, params, list[Any])) == [None]
        token = types.WorkDoneProgressCreateParams(token=number)
        asking = asyncio.ensure_future(rig.connection.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, token, object))
        await asyncio.sleep(0)
        asking.cancel()
    await rig.settle()
    assert rig.connection.unfinished() == 0


async def test_an_error_reply_and_a_malformed_reply_of_the_client_reach_who_asked(rig: Rig) -> None:
    replies = (
        ({"error": {"code": -1, "message": "no"}}, "no"),
        ({"result": 5}, "Expected `array`"),
        ({"error": 7}, "7"),
    )
    for reply, fault in replies:
        asking = ask_for_configuration(rig)
        rig.send({"jsonrpc": "2.0", "id": await asked_id(rig), **reply})
        with pytest.raises(BadReply, match=fault):
            await asyncio.wait_for(asking, PATIENCE)
    rig.send({"jsonrpc": "2.0", "id": "never asked", "result": 1})
    assert rig.connection.unfinished() == 0


async def test_half_an_emoji_in_a_reply_of_the_client_is_no_obstacle(rig: Rig) -> None:
    asking = ask_for_configuration(rig)
    rig.send(rb'{"jsonrpc":"2.0","id":"%b","result":["\ud83d"]}' % (await asked_id(rig)).encode())
    assert await asyncio.wait_for(asking, PATIENCE) == ["\ufffd"]
