"""Ullage's own methods through the proxy: named in `initialize`, answered by Ullage, cancelled."""

from pathlib import Path

import pytest

from support.lsp_client import RpcFailure
from support.proxy_rig import proxy_rig
from ullage.api.methods import METHODS
from ullage.proxy.connection import ProxyOptions

TOY = {"usage": True, "window": 8_000}
OWN = ProxyOptions(own_methods=True)


async def test_the_answer_to_initialize_names_the_methods_beside_what_the_agent_says(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**TOY, "load": True}, OWN) as rig:
        greeted = await rig.greet()
    told = greeted["agentCapabilities"]["_meta"]["ullage"]
    assert told["methods"] == [f"_ullage/{method.name}" for method in METHODS]
    assert greeted["agentCapabilities"]["loadSession"]
    assert greeted["agentInfo"]["name"] == "toy"


async def test_a_client_looks_up_what_was_said_in_the_agents_session(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**TOY, "log": str(tmp_path / "log")}, OWN) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "The cask is called Berta")
        usage = await rig.ask("_ullage/context/get", sessionId=session_id)
        found = await rig.ask("_ullage/context/search", query="Berta")
        # What the toy reports: 500 of its own, and four characters to a token.
    assert usage["used"] == pytest.approx(517, abs=2)
    assert any("Berta" in hit["snippet"] for hit in found["hits"])
    assert "_ullage" not in (tmp_path / "log").read_text("utf-8")


async def test_unknown_methods_wrong_params_and_unknown_sessions_are_errors_of_ullages(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, TOY, OWN) as rig:
        await rig.greet()
        for method, params, code in (
            ("_ullage/cask", {}, -32601),
            ("_ullage/context/get", {"sessionId": 3}, -32602),
            ("_ullage/context/get", {"sessionId": "nobody"}, -32002),
        ):
            with pytest.raises(RpcFailure) as failure:
                await rig.ask(method, **params)
            assert failure.value.code == code, method


async def test_a_request_of_ullages_own_method_can_be_cancelled(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, TOY, OWN) as rig:
        session_id = await rig.open()
        asked = rig.start("_ullage/context/get", sessionId=session_id)
        rig.send({"method": "$/cancel_request", "params": {"requestId": asked}})
        with pytest.raises(RpcFailure) as failure:
            await rig.answer(asked)
    assert failure.value.code == -32800
