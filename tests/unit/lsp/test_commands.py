"""Commands for clients without an extension of Ullage."""

from typing import Any

import pytest

from support.lsp_client import RpcFailure
from support.lsp_rig import Rig
from ullage.model.updates import Meta, Notice, NoticeMeta, Severity

CREATES_TOKENS = {"window": {"workDoneProgress": True}}
RICH = {"experimental": {"ullage": {"updates": True}}}


async def start(capabilities: dict[str, Any] | None = None) -> Rig:
    rig = Rig()
    rig.answers["window/workDoneProgress/create"] = lambda _: None
    await rig.initialize(capabilities)
    rig.sent.clear()
    return rig


def bars(rig: Rig) -> list[tuple[Any, str, str | None]]:
    """Returns every `$/progress`: token, kind, text."""
    return [
        (params["token"], params["value"]["kind"], params["value"].get("title") or params["value"].get("message"))
        for params in rig.notified("$/progress")
    ]


async def test_the_commands_are_in_the_capabilities() -> None:
    result = await Rig().initialize()
    provider = result["capabilities"]["executeCommandProvider"]
    assert provider == {"commands": ["ullage.shrink", "ullage.wait", "ullage.nothing"], "workDoneProgress": True}


@pytest.fixture
async def rig() -> Rig:
    """A rig that has greeted a plain client."""
    return await start()


async def test_a_command_gets_its_arguments_and_gives_its_value(rig: Rig) -> None:
    arguments = [{"gpt-4o": {"jsonrpc": "2.0"}}, 1]
    result = await rig.ask("workspace/executeCommand", {"command": "ullage.shrink", "arguments": arguments})
    assert result == {"arguments": arguments}


@pytest.mark.parametrize("extra", [{}, {"arguments": None}, {"arguments": []}])
async def test_a_command_needs_no_arguments(rig: Rig, extra: dict[str, Any]) -> None:
    assert await rig.ask("workspace/executeCommand", {"command": "ullage.shrink", **extra}) == {"arguments": []}


async def test_progress_runs_on_the_client_s_token(rig: Rig) -> None:
    await rig.ask("workspace/executeCommand", {"command": "ullage.shrink", "workDoneToken": "t"})
    assert bars(rig) == [("t", "begin", "Shrinking"), ("t", "report", "half way"), ("t", "end", None)]


async def test_progress_runs_on_a_created_token_where_the_client_allows_it() -> None:
    rig = await start(CREATES_TOKENS)
    await rig.ask("workspace/executeCommand", {"command": "ullage.shrink"})
    (created,) = [message["params"]["token"] for message in rig.sent if "id" in message]
    assert [(token, kind) for token, kind, _ in bars(rig)] == [(created, kind) for kind in ("begin", "report", "end")]


async def test_no_token_is_created_in_a_client_that_did_not_offer_it(rig: Rig) -> None:
    await rig.ask("workspace/executeCommand", {"command": "ullage.shrink"})
    assert [message["method"] for message in rig.sent] == ["window/showMessage"]


async def test_a_client_that_refuses_the_token_gets_the_result_without_progress() -> None:
    rig = await start(CREATES_TOKENS)
    del rig.answers["window/workDoneProgress/create"]
    rig.request(1, "workspace/executeCommand", {"command": "ullage.shrink"})
    request = await rig.until(lambda message: message.get("method") == "window/workDoneProgress/create")
    rig.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
    assert await rig.answer(1) == {"arguments": []}
    assert bars(rig) == []


async def test_the_outcome_is_said_to_a_plain_client(rig: Rig) -> None:
    await rig.ask("workspace/executeCommand", {"command": "ullage.shrink"})
    assert rig.notified("window/showMessage") == [{"type": 3, "message": "Shrunk."}]


async def test_the_outcome_is_not_said_to_a_client_that_speaks_for_itself() -> None:
    rig = await start(RICH)
    await rig.ask("workspace/executeCommand", {"command": "ullage.shrink"})
    assert rig.notified("window/showMessage") == []


@pytest.mark.parametrize(
    ("method", "params"), [("$/cancelRequest", {"id": 1}), ("window/workDoneProgress/cancel", {"token": "t"})]
)
async def test_cancelling_the_request_or_its_progress_cancels_the_command_itself(
    method: str, params: dict[str, Any]
) -> None:
    rig = await start()
    rig.request(1, "workspace/executeCommand", {"command": "ullage.wait", "workDoneToken": "t"})
    await rig.settle()
    rig.notify(method, params)
    with pytest.raises(RpcFailure) as failure:
        await rig.answer(1)
    assert failure.value.code == -32800
    assert rig.toy.log == ["start command", "cancelled command"]
    assert [kind for _, kind, _ in bars(rig)] == ["begin", "end"]
    assert rig.connection.unfinished() == 0


async def test_cancelling_progress_that_is_gone_is_ignored(rig: Rig) -> None:
    rig.notify("window/workDoneProgress/cancel", {"token": "gone"})
    await rig.settle()
    assert rig.sent == []


async def test_an_error_of_a_command_keeps_its_words_and_ends_the_progress(rig: Rig) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("workspace/executeCommand", {"command": "ullage.nothing", "workDoneToken": "t"})
    assert (failure.value.code, failure.value.data) == (1103, {"kind": "NothingToCompact"})
    assert failure.value.message == "Nothing to compact: 6 messages, 4K tokens."
    assert [kind for _, kind, _ in bars(rig)] == ["begin", "end"]


async def test_a_plain_client_is_shown_why_a_command_failed() -> None:
    for capabilities, shown in ((None, ["Nothing to compact: 6 messages, 4K tokens."]), (RICH, [])):
        rig = await start(capabilities)
        with pytest.raises(RpcFailure):
            await rig.ask("workspace/executeCommand", {"command": "ullage.nothing"})
        assert [message["message"] for message in rig.notified("window/showMessage")] == shown


async def test_a_notice_during_a_command_is_shown_after_the_end_of_its_progress(rig: Rig) -> None:
    rig.request(1, "workspace/executeCommand", {"command": "ullage.wait", "workDoneToken": "t"})
    await rig.settle()
    notice = Notice(
        severity=Severity.INFO, title="Compacted.", meta=Meta(ullage=NoticeMeta(kind="compaction_complete"))
    )
    rig.toy.listeners[0].session_updated("s", notice)
    assert rig.notified("window/showMessage") == []
    rig.notify("window/workDoneProgress/cancel", {"token": "t"})
    await rig.until(lambda message: message.get("id") == 1)
    methods = [message.get("method") for message in rig.sent]
    assert methods.index("window/showMessage") > methods.index("$/progress")
    assert [message["message"] for message in rig.notified("window/showMessage")] == ["Compacted."]


async def test_an_unknown_command_is_refused_and_the_known_ones_named(rig: Rig) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("workspace/executeCommand", {"command": "ullage.polish"})
    assert failure.value.code == -32602
    assert "ullage.polish" in failure.value.message
    assert "ullage.shrink" in failure.value.message
