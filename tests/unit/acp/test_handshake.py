"""`initialize`, `authenticate`, and the requests that may come before them."""

from typing import Any

import pytest

from support.acp_rig import AcpRig
from support.lsp_client import RpcFailure


@pytest.mark.parametrize(("asked", "answered"), [(1, 1), (2, 2), (0, 1), (65535, 2)])
async def test_the_highest_version_up_to_the_one_asked_for_answers(rig: AcpRig, asked: int, answered: int) -> None:
    assert (await rig.ask("initialize", protocolVersion=asked))["protocolVersion"] == answered


async def test_what_the_agent_can_do_is_said(rig: AcpRig) -> None:
    result = await rig.initialize()
    assert result["agentInfo"]["name"] == "ullage"
    can = result["agentCapabilities"]
    assert can["loadSession"] is True
    assert can["promptCapabilities"] == {"image": True, "embeddedContext": True}
    assert set(can["sessionCapabilities"]) == {*("list", "resume", "close", "delete", "fork", "additionalDirectories")}


async def test_own_methods_are_in_the_capabilities_and_served(rig: AcpRig) -> None:
    methods = (await rig.initialize())["agentCapabilities"]["_meta"]["ullage"]["methods"]
    assert "_ullage/context/get" in methods
    session_id = await rig.new_session()
    got = await rig.ask("_ullage/context/get", sessionId=session_id)
    assert (got["used"], got["size"]) == (0, 200_000)


async def test_nothing_is_served_before_initialize_and_it_comes_once(rig: AcpRig) -> None:
    with pytest.raises(RpcFailure) as early:
        await rig.ask("session/list")
    await rig.initialize()
    with pytest.raises(RpcFailure) as twice:
        await rig.initialize()
    assert (early.value.code, twice.value.code) == (-32600, -32600)


async def test_initialize_with_unusable_params_may_come_again(rig: AcpRig) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("initialize", protocolVersion="one")
    assert failure.value.code == -32602
    await rig.initialize()


@pytest.mark.parametrize("capabilities", [None, [], "x", {"session": 5}, {"session": {"compaction": True}}, {"fs": []}])
async def test_capabilities_of_the_wrong_shape_are_ignored(rig: AcpRig, capabilities: Any) -> None:
    await rig.ask("initialize", protocolVersion=1, clientCapabilities=capabilities)
    session_id = await rig.new_session()
    await rig.say(session_id, *["words " * 400] * 8)
    await rig.prompt(session_id, "/compact")
    assert rig.updates("compaction_update") == []


async def test_settings_may_come_with_initialize(rig: AcpRig) -> None:
    await rig.initialize(settings={"model": "gpt-4o"})
    session_id = await rig.new_session()
    assert (await rig.update(session_id, "usage_update"))["size"] == 128_000


async def test_settings_that_cannot_be_used_are_refused_by_name(rig: AcpRig) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.initialize(settings={"context": {"warnAt": 7}})
    assert failure.value.code == -32602
    assert "$.context.warnAt" in str(failure.value)
    with pytest.raises(RpcFailure) as early:
        await rig.ask("session/list")
    assert early.value.code == -32600
    await rig.initialize()


async def test_without_a_model_a_prompt_asks_for_authentication(rig: AcpRig) -> None:
    await rig.initialize()
    session_id = await rig.new_session()
    with pytest.raises(RpcFailure) as failure:
        await rig.prompt(session_id, "hello")
    assert failure.value.code == -32000
    assert failure.value.data == {"kind": "NoModelConfigured"}


async def test_authenticating_without_a_key_says_so(rig: AcpRig) -> None:
    method = (await rig.initialize())["authMethods"][0]
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("authenticate", methodId=method["id"])
    assert failure.value.code == -32000


async def test_an_unknown_way_to_authenticate_is_refused(rig: AcpRig) -> None:
    await rig.initialize()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("authenticate", methodId="oauth")
    assert failure.value.code == -32602
