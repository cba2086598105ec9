"""Known faults of language servers, each under the name of the right behaviour. In process."""

import asyncio
import logging
import tracemalloc
from typing import Any

import pytest
from lsprotocol import types

from support.lsp_client import RpcFailure
from support.lsp_rig import Rig


@pytest.fixture
async def rig() -> Rig:
    rig = Rig()
    await rig.initialize()
    rig.sent.clear()
    return rig


async def refusal(rig: Rig, method: str, params: Any) -> RpcFailure:
    with pytest.raises(RpcFailure) as failure:
        await rig.ask(method, params)
    return failure.value


async def test_a_request_is_answered_with_camel_case_keys(rig: Rig) -> None:
    assert await rig.ask("ullage/ping", {"sessionId": "a"}) == {"sessionId": "a"}


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({"sessionId": 1}, "expected `str`, got `int` - at `$.sessionId`"),
        ({}, "missing required field `sessionId`"),
        (None, "missing required field `sessionId`"),
        ([], "missing required field `sessionId`"),
        ("text", "expected `object`, got `str`"),
    ],
)
async def test_bad_params_are_answered_at_once_and_name_the_field(rig: Rig, params: Any, fault: str) -> None:
    failure = await refusal(rig, "ullage/missing", params)
    assert failure.code == -32602
    assert failure.message.startswith("ullage/missing: ")
    assert fault in failure.message
    assert "\n" not in failure.message
    assert failure.data == {"kind": "InvalidRequest"}


async def test_params_that_are_left_out_are_no_params(rig: Rig) -> None:
    rig.send({"jsonrpc": "2.0", "id": 1, "method": "ullage/ping"})
    assert await rig.answer(1) == {"sessionId": ""}


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"value": 5}, "params.value"),
        ({}, "params.value"),
        (None, "params"),
        ("verbose", "params"),
    ],
)
async def test_malformed_standard_notifications_are_logged_and_no_toast_is_shown(
    rig: Rig, params: Any, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig.notify("$/setTrace", params)
    await rig.settle()
    assert rig.sent == []
    assert field in caplog.text


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "capabilities"),
        ({"capabilities": 5}, "params.capabilities"),
        ({"capabilities": {}, "processId": "x"}, "params.processId"),
        ({"capabilities": {"textDocument": {"hover": 7}}}, "params.capabilities.textDocument.hover"),
        (7, "params"),
        (None, "params"),
    ],
)
async def test_a_malformed_standard_request_is_answered_and_names_the_field(params: Any, field: str) -> None:
    rig = Rig()
    failure = await refusal(rig, "initialize", params)
    assert failure.code == -32602
    assert field in failure.message
    assert (await rig.initialize())["serverInfo"]["name"] == "ullage"


NESTED: list[Any] = [{"jsonrpc": "2.0"}, {"a": [{"jsonrpc": "2.0", "id": 1, "result": {}}]}]


@pytest.mark.parametrize("value", NESTED)
async def test_an_object_with_a_jsonrpc_key_in_params_is_not_lost(rig: Rig, value: Any) -> None:
    assert await rig.ask("ullage/echo", {"value": value}) == value


async def test_a_jsonrpc_key_in_a_standard_message_is_not_lost() -> None:
    rig = Rig()
    assert await rig.initialize(options={"client": "x", "nested": {"jsonrpc": "2.0", "method": "m"}})


async def test_keys_are_never_renamed(rig: Rig) -> None:
    value = {"gpt-4o": 1, "class": 2, "type_name": 3, "_meta": 4, "snake_case": 5, "camelCase": 6, "0": {"": 7}}
    assert await rig.ask("ullage/echo", {"value": value}) == value


async def test_an_unknown_method_is_refused(rig: Rig) -> None:
    failure = await refusal(rig, "ullage/nonsense", {})
    assert (failure.code, failure.message) == (-32601, "There is no method ullage/nonsense.")
    assert (await refusal(rig, "ullage/ehco", {})).message == "There is no method ullage/ehco. Is ullage/echo meant?"


async def test_a_failure_sends_a_reference_and_no_word_of_the_exception(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    failure = await refusal(rig, "ullage/crash", {})
    assert failure.code == -32603
    assert failure.data is None
    assert "secret" not in failure.message
    reference = failure.message.split("reference ")[1].split(";")[0]
    assert reference in caplog.text
    assert "secret of a library" in caplog.text
    assert rig.sent == []


async def test_a_result_that_cannot_be_sent_is_a_failure_not_silence(rig: Rig) -> None:
    assert (await refusal(rig, "ullage/unsendable", {})).code == -32603


async def test_an_error_of_ullage_keeps_its_text_and_has_its_kind(rig: Rig) -> None:
    failure = await refusal(rig, "ullage/missing", {"sessionId": "x"})
    assert (failure.code, failure.data) == (1501, {"kind": "SessionNotFound"})
    assert failure.message == "There is no session x; list them with session/list."


async def test_lone_surrogates_in_a_result_are_sent_as_escapes() -> None:
    sent: list[bytes] = []

    class Sink:
        has_room = True

        def write(self, data: bytes) -> None:
            sent.append(data)

        async def drain(self) -> None:
            pass

    rig = Rig()
    rig.connection.connect(Sink())
    rig.connection.notify("x", types.LogTraceParams(message="\ud83d"))
    assert rb'"\ud83d"' in sent[0]


async def test_cancelling_a_request_cancels_its_handler_and_is_answered(rig: Rig) -> None:
    rig.request(5, "ullage/wait", {"sessionId": "a"})
    await rig.settle()
    rig.notify("$/cancelRequest", {"id": 5})
    with pytest.raises(RpcFailure) as failure:
        await rig.answer(5)
    assert failure.value.code == -32800
    assert rig.toy.log == ["start a", "cancelled a"]


async def test_a_request_cancelled_in_the_same_breath_is_answered(rig: Rig) -> None:
    rig.request(5, "ullage/wait", {"sessionId": "a"})
    rig.notify("$/cancelRequest", {"id": 5})
    with pytest.raises(RpcFailure) as failure:
        await rig.answer(5)
    assert failure.value.code == -32800
    assert rig.toy.log == []


async def test_cancelling_what_is_done_or_unknown_is_ignored(rig: Rig) -> None:
    await rig.ask("ullage/ping", {}, 1)
    rig.notify("$/cancelRequest", {"id": 1})
    rig.notify("$/cancelRequest", {"id": "never"})
    rig.notify("$/cancelRequest", {})
    await rig.settle()
    assert rig.sent == []


async def test_requests_run_side_by_side_and_start_in_the_order_they_came(rig: Rig) -> None:
    for number in range(5):
        rig.request(number, "ullage/wait", {"sessionId": str(number)})
        rig.notify("ullage/wait", {"sessionId": f"n{number}"})
    assert await rig.ask("ullage/ping", {}) == {"sessionId": ""}
    assert rig.toy.log == [f"start {name}{number}" for number in range(5) for name in ("", "n")]
    rig.toy.gate.set()
    assert [await rig.answer(number) for number in range(5)] == ["0", "1", "2", "3", "4"]


async def test_after_shutdown_requests_are_refused_and_running_ones_cancelled(rig: Rig) -> None:
    rig.request(1, "ullage/wait", {"sessionId": "a"})
    await rig.settle()
    rig.request(2, "shutdown")
    rig.request(3, "ullage/ping", {})
    assert await rig.answer(2) is None
    with pytest.raises(RpcFailure) as cancelled:
        await rig.answer(1)
    with pytest.raises(RpcFailure) as refused:
        await rig.answer(3)
    assert (cancelled.value.code, refused.value.code) == (-32800, -32600)
    rig.notify("exit")
    assert rig.connection.stopped.result(0) == 0


async def test_the_workspace_is_not_opened_before_initialize_is_answered() -> None:
    rig = Rig()
    await rig.initialize()
    assert rig.toy.listeners == []
    await rig.ask("ullage/ping", {})
    await rig.ask("ullage/ping", {})
    assert len(rig.toy.listeners) == 1


async def test_own_methods_and_updates_are_in_the_capabilities() -> None:
    result = await Rig().initialize()
    announced = result["capabilities"]["experimental"]["ullage"]
    assert announced["version"] == "0.0.test"
    assert announced["updates"] == "ullage/session/update"
    assert "ullage/ping" in announced["methods"]


@pytest.mark.no_cover
async def test_twenty_thousand_notifications_leave_no_state(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    change = {
        "textDocument": {"uri": "file:///a", "version": 1},
        "contentChanges": [{"text": "x"}],
    }
    rig.notify(
        "textDocument/didOpen", {"textDocument": {"uri": "file:///a", "languageId": "t", "version": 0, "text": ""}}
    )

    async def burst(count: int) -> None:
        for _ in range(count // 4):
            rig.notify("textDocument/didChange", change)
            rig.notify("ullage/ping", {"sessionId": "a"})
            rig.notify("$/setTrace", {"value": "off"})
            rig.notify("ullage/unknown", {"sessionId": "a"})
            await asyncio.sleep(0)
        await rig.settle()

    caplog.set_level(logging.ERROR, "ullage")
    await burst(400)
    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    await burst(20_000)
    grown = sum(stat.size_diff for stat in tracemalloc.take_snapshot().compare_to(before, "filename"))
    tracemalloc.stop()
    assert rig.connection.unfinished() == 0
    assert grown < 500_000


async def test_what_still_runs_when_the_input_ends_may_finish_in_time(rig: Rig) -> None:
    rig.request(1, "ullage/wait", {"sessionId": "a"})
    await rig.settle()
    asyncio.get_running_loop().call_soon(rig.toy.gate.set)
    await rig.connection.drain(5)
    assert await rig.answer(1) == "a"


async def test_what_runs_too_long_after_the_input_ended_is_cancelled_and_answered(rig: Rig) -> None:
    rig.request(1, "ullage/wait", {"sessionId": "a"})
    rig.notify("ullage/wait", {"sessionId": "b"})
    await rig.settle()
    await rig.connection.drain(0.01)
    with pytest.raises(RpcFailure) as failure:
        await rig.answer(1)
    assert failure.value.code == -32800
    assert sorted(rig.toy.log) == ["cancelled a", "cancelled b", "start a", "start b"]
    assert rig.connection.unfinished() == 0
