"""`initialize`, `authenticate`, and the requests that may come before them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest

from support.acp_rig import AcpRig, MakeRig
from support.file_keyring import FileKeyring, put_key
from support.lsp_client import RpcFailure
from ullage.model.settings import Settings
from ullage.providers.prerequisites import forget_keys

# A model whose provider is known.
MODEL = "claude-sonnet-4-5"


@pytest.mark.parametrize(("asked", "answered"), [(1, 1), (2, 2), (0, 1), (65535, 2)])
async def test_the_highest_version_up_to_the_one_asked_for_answers(rig: AcpRig, asked: int, answered: int) -> None:
    assert (await rig.ask("initialize", protocolVersion=asked))["protocolVersion"] == answered


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


@pytest.fixture
def no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A keyring in which there is no key yet, and no key in the environment."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FILE_KEYRING", str(tmp_path / "keyring.json"))
    before = keyring.get_keyring()
    keyring.set_keyring(FileKeyring())
    forget_keys()
    yield
    keyring.set_keyring(before)
    forget_keys()


@pytest.mark.usefixtures("no_keys")
async def test_only_a_model_whose_key_is_absent_asks_for_authentication(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(Settings(model=MODEL))
    methods = (await rig.initialize({"auth": {"terminal": True}}))["authMethods"]
    session_id = await rig.new_session()
    with pytest.raises(RpcFailure) as failure:
        await rig.prompt(session_id, "hello")
    assert failure.value.code == -32000
    for method in methods:
        with pytest.raises(RpcFailure) as failure:
            await rig.ask("authenticate", methodId=method["id"])
        assert failure.value.code == -32000
    put_key("ANTHROPIC_API_KEY", "a-key")
    assert await rig.ask("authenticate", methodId="key") == {}


@pytest.mark.parametrize(
    ("settings", "said"),
    [(Settings(model=MODEL, provider="nobody"), "'nobody'"), (Settings(model="unheard-of"), "No model is configured")],
)
@pytest.mark.usefixtures("no_keys")
async def test_no_key_is_asked_for_where_none_would_help(make_rig: MakeRig, settings: Settings, said: str) -> None:
    rig = make_rig(settings)
    await rig.initialize()
    with pytest.raises(RpcFailure, match=said) as failure:
        await rig.prompt(await rig.new_session(), "hello")
    assert failure.value.code == 1401


@pytest.mark.usefixtures("no_keys")
async def test_with_a_key_and_without_a_model_it_is_said_that_none_is_chosen(
    make_rig: MakeRig,
) -> None:
    put_key("OPENAI_API_KEY", "a-key")
    rig = make_rig(Settings())
    await rig.initialize()
    with pytest.raises(RpcFailure, match="No model is chosen") as failure:
        await rig.prompt(await rig.new_session(), "hello")
    assert failure.value.code == 1401


@pytest.mark.parametrize("auth", [None, {}, {"terminal": False}, {"terminal": None}, {"terminal": {}}])
async def test_a_login_in_a_terminal_is_offered_only_to_clients_that_can_start_it(rig: AcpRig, auth: Any) -> None:
    assert [method["id"] for method in (await rig.initialize({"auth": auth}))["authMethods"]] == ["key"]


async def test_the_login_in_a_terminal_has_its_type_and_arguments(rig: AcpRig) -> None:
    login, key = (await rig.initialize({"auth": {"terminal": True}}))["authMethods"]
    assert (login["id"], login["type"], login["args"]) == ("login", "terminal", ["--login"])
    # In version 1, a method without a type is one for `authenticate`.
    assert (key["id"], "type" in key) == ("key", False)


@pytest.mark.parametrize(("auth", "ids"), [({"terminal": {}}, ["login", "key"]), ({"terminal": None}, ["key"])])
async def test_in_version_2_every_way_to_log_in_has_a_type(rig: AcpRig, auth: Any, ids: list[str]) -> None:
    methods = (await rig.initialize_version_2({"auth": auth}))["authMethods"]
    assert [method["methodId"] for method in methods] == ids
    assert [method["type"] for method in methods] == ["terminal", "agent"][-len(ids) :]


async def test_an_unknown_way_to_authenticate_is_refused(rig: AcpRig) -> None:
    await rig.initialize()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("authenticate", methodId="oauth")
    assert failure.value.code == -32602
