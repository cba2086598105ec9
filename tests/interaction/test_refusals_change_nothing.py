"""Whatever raises leaves the log and the context as they were: every method, with each of its steps made to fail.

A row plays one use of a method. Its steps are the calls of the store and of the token counter, the pieces of a summary
and of an answer, and the places where the request may be cancelled. After a failure the store holds what it held, but
for events that the row names with the reason, an open conversation is what its log says, and the request succeeds when
it comes again.
"""

import asyncio
from typing import Any

import pytest

from support.coding_session import TOOLS, user
from support.method_rows import (
    MORE,
    ROWS,
    TRANSCRIPT,
    USAGE,
    Row,
    World,
    beside_an_empty_one,
    built,
    overfull,
    says,
    session,
)
from support.workspace import PATIENCE, SMALL_MODEL, PacedSummarizer, ScriptedCommands, play
from ullage.api.methods import METHODS
from ullage.model.errors import CompactionVetoed, ProviderUnavailable, StoreUnavailable, UllageError
from ullage.model.events import ContextEdited, MessageAppended, UsageReported
from ullage.model.settings import ContextSettings, HookSettings, Settings
from ullage.service.ports.world import CommandOutcome

# No row has more steps.
_MOST_STEPS = 400
# Turns of the event loop. A busy machine makes a thread last for many.
_MOST_TURNS = 1_000_000
rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_every_method_has_a_row() -> None:
    assert {row.method for row in ROWS} == {method.name for method in METHODS}
    assert all(bool(row.keeps) == bool(row.why) for row in ROWS)


@rows
@pytest.mark.parametrize("stays", [False, True], ids=["once", "from then on"])
async def test_a_store_that_fails_at_any_call_leaves_all_as_it_was(row: Row, *, stays: bool) -> None:
    for step in range(1, _MOST_STEPS):
        world = await built(row)
        world.in_store.arm(step, stays=stays)
        try:
            await world.call()
        except StoreUnavailable:
            await world.check(refused=True)
            await world.call()
        else:
            await world.check(refused=False)
        if not world.in_store.fired:
            return
    pytest.fail("the row has more steps")


@rows
async def test_a_counter_that_fails_at_any_call_leaves_all_as_it_was(row: Row) -> None:
    step = 1
    while True:
        world = await built(row)
        world.in_counter.arm(step)
        try:
            await world.call()
        except ArithmeticError:
            await world.check(refused=True)
            await world.call()
        else:
            await world.check(refused=False)
        if not world.in_counter.fired:
            return
        # Every call at first, and then ever fewer of what is counted again and again.
        step += 1 + step // 12


@rows
async def test_a_request_that_is_cancelled_anywhere_leaves_all_as_it_was(row: Row) -> None:
    step = 0
    while step < _MOST_TURNS:
        world = await built(row)
        calling = asyncio.ensure_future(world.call())
        for _ in range(step):
            await asyncio.sleep(0)
        ended = calling.done()
        calling.cancel()
        refused = False
        async with asyncio.timeout(PATIENCE):
            try:
                await calling
            except asyncio.CancelledError:
                refused = True
        await world.check(refused=refused)
        if ended:
            return
        # Every turn of the loop at first, and then ever fewer of those in which a thread is waited for.
        step += 1 + step // 64
    pytest.fail("the row has more steps")


SUMMARIZED = [row for row in ROWS if row.method == "context/compact" or row.what == "/compact"]


@pytest.mark.parametrize("row", SUMMARIZED, ids=lambda row: row.name)
@pytest.mark.parametrize("written", range(4))
async def test_a_summary_that_fails_or_is_cancelled_after_any_piece_changes_nothing(row: Row, written: int) -> None:
    for fault in (ProviderUnavailable("overloaded"), None):
        writer = PacedSummarizer(["It rounds. "] * (written if fault else written + 1), fault)
        world = World(row, summarizer=writer)
        await world.prepare_offline()
        writer.started.clear()
        calling = asyncio.ensure_future(world.call())
        async with asyncio.timeout(PATIENCE):
            await writer.started.wait()
            writer.release(written)
            if fault is None:
                await asyncio.sleep(0)
                calling.cancel()
            with pytest.raises(asyncio.CancelledError if fault is None else ProviderUnavailable):
                await calling
        await world.check(refused=True)


@pytest.mark.parametrize("row", SUMMARIZED, ids=lambda row: row.name)
async def test_a_hook_that_refuses_changes_nothing(row: Row) -> None:
    commands = ScriptedCommands()
    world = await built(row, commands=commands)
    world.client.workspace.configure(Settings(hooks=HookSettings(pre_compact=("ask",))))
    commands.outcomes["ask"] = CommandOutcome(status=2, err="Not now.")
    with pytest.raises(CompactionVetoed):
        await world.call()
    await world.check(refused=True)


# For a session that was compacted. A method that is not named here takes nothing that could be found wrong late.
_UNKNOWN = {"sessionId": "s_none"}
INVALID: dict[str, list[dict[str, Any]]] = {
    "session/new": [{"context": {"warnAt": 3}}, {"context": {"mode": "none"}, "system": "Be brief."}],
    "session/configure": [_UNKNOWN, {"context": {"warnAt": 3}}, {"context": {"strategies": [{"type": "none"}]}}],
    "session/fork": [_UNKNOWN, {"messageId": "m_none"}],
    "session/rename": [{**_UNKNOWN, "title": "T"}, {"title": " \n "}],
    "session/delete": [_UNKNOWN],
    "session/prompt": [
        {**_UNKNOWN, "prompt": says("Why?")},
        {"prompt": says("Why?")},
        {"prompt": []},
        {"prompt": [{"type": "none"}]},
        {"prompt": says("/undo e_none")},
    ],
    "session/append": [
        {**_UNKNOWN, "messages": MORE},
        {"model": SMALL_MODEL, "messages": [*MORE, {"role": "none", "content": "x"}]},
        {"model": SMALL_MODEL, "messages": [*MORE, user("Other.", id="m1")]},
        # No answer is there that the usage could belong to.
        {"sessionId": "s_2", "model": SMALL_MODEL, "tools": TOOLS[:1], "messages": MORE[1:], "usage": USAGE},
        {"tools": [{"name": 3}], "messages": MORE},
    ],
    "session/import": [
        {},
        {"text": ""},
        {"text": "no transcript"},
        {"text": TRANSCRIPT[:60]},
        {"text": TRANSCRIPT, "format": "none"},
        {"path": "/none/none.jsonl"},
    ],
    "context/compact": [
        _UNKNOWN,
        {"from": "m_none"},
        {"upTo": "m_none", "dryRun": True},
        {"from": "m_15", "upTo": "m_14"},
    ],
    "context/commit": [{**_UNKNOWN, "previewId": "e"}, {"previewId": "e_none"}],
    "context/undo": [_UNKNOWN, {"editId": "e_none"}, {"editId": "e_none", "dryRun": True}],
    "context/restore": [
        {**_UNKNOWN, "position": 1},
        {},
        {"editId": "e_none"},
        {"messageId": "m_none"},
        {"timestamp": "yesterday"},
        {"position": 1, "editId": "e_none"},
    ],
    "context/pin": [{**_UNKNOWN, "messageId": "m_1"}, {"messageId": "m_none"}],
}


@pytest.mark.parametrize(("method", "wrong"), [(method, wrong) for method in INVALID for wrong in INVALID[method]])
async def test_what_is_found_wrong_changes_nothing(method: str, wrong: dict[str, Any]) -> None:
    world = await built(Row(method=method, prepare=session(beside_an_empty_one)))
    params = wrong if method in ("session/new", "session/import") else {**world.params, **wrong}
    with pytest.raises(UllageError):
        await world.client.call(method, **params)
    await world.check(refused=True)


@pytest.mark.parametrize("fails", ["too_long", "authentication", "unavailable", "rate_limited 0"])
async def test_a_prompt_that_is_never_answered_adds_the_prompt_and_cuts_nothing(fails: str) -> None:
    row = Row(method="session/prompt", prepare=overfull, live=lambda: play("\n---\n".join([f"fail: {fails}"] * 40)))
    world = await built(row, settings=Settings(context=ContextSettings(enabled=False)))
    for _ in range(3):
        with pytest.raises(UllageError):
            await world.call()
    (conversation,) = world.client.workspace.conversations
    new = world.store.inner.read(conversation.id)[len(world.before.logs[conversation.id]) :]
    assert [type(record.event) for record in new] == [MessageAppended]
    assert conversation.transcript.view[-1].text == "Why?"


async def test_what_was_cut_for_a_prompt_is_recorded_with_its_answer() -> None:
    row = Row(
        method="session/prompt", prepare=overfull, live=lambda: play("fail: too_long\n---\nsay: So.\nusage: 900 4")
    )
    world = await built(row, settings=Settings(context=ContextSettings(enabled=False)))
    await world.call()
    (conversation,) = world.client.workspace.conversations
    new = world.store.inner.read(conversation.id)[len(world.before.logs[conversation.id]) :]
    prompted, *cut, said, usage = [type(record.event) for record in new]
    assert (prompted, said, usage) == (MessageAppended, MessageAppended, UsageReported)
    assert set(cut) == {ContextEdited}
    assert conversation.used == 904
    await world.check(refused=False)
