"""The server's requests to its client, and the answers."""

import asyncio
from typing import Any

import pytest
from lsprotocol import types

from support.lsp_client import PATIENCE
from support.lsp_rig import Rig
from ullage.jsonrpc.envelope import BadReply


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
