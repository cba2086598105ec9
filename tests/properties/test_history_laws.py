"""The laws of undo: after any edit is undone the context is as if the edit was never made. A session is the same
however it is opened: live, from a snapshot, or folded from its whole log."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.build import append, log, measure
from support.fill import prompt, reply, start
from support.views import conversations
from support.workspace import LARGE_MODEL, SMALL_MODEL, TestClient, build_test_client
from ullage.edits.compaction import (
    CompactionLimits,
    Summary,
    find_stretch,
    finish_compaction,
    legal_cuts,
    plan_compaction,
    plan_stretch,
)
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.drop import drop
from ullage.edits.shorten import shorten
from ullage.model.errors import Conflict, MessageNotFound
from ullage.model.events import ContextEdited, Edit, EditReverted, Event
from ullage.model.message import ArtifactLedger, Message, ToolResultBlock, ToolUseBlock
from ullage.service.compact.by_hand import ManualRequest, compact_by_hand
from ullage.transcript.fold import fold, project
from ullage.transcript.view import groups

SUMMARY = Summary(text="They talked.", ledger=ArtifactLedger(), summarizer="test")
KINDS = ("head", "from", "up to", "between", "drop", "shorten")


def pairs(messages: Sequence[Message]) -> dict[str, int]:
    """Returns by tool id how many of a use and its result are here."""
    found: dict[str, int] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                found[block.id] = found.get(block.id, 0) + 1
            elif isinstance(block, ToolResultBlock):
                found[block.tool_use_id] = found.get(block.tool_use_id, 0) + 1
    return found


def view_of(events: Sequence[Event]) -> CountedView:
    items = fold(log(events)).items
    return CountedView(items=items, tokens=[measure(item.message) for item in items], fixed=0, measure=measure)


def make_edit(events: Sequence[Event], kind: str, number: int, draw: st.DataObject) -> Edit | None:
    """Plans one more edit of that kind in the current context."""
    view = view_of(events)
    transcript = fold(log(events))
    stamp = Stamp(id=f"e{number}", timestamp=number)
    if len(view.items) < 2:
        return None
    places = sorted(draw.draw(st.tuples(*[st.integers(0, len(view.items) - 1)] * 2)))
    first = transcript.first_user_id
    match kind:
        case "drop":
            going = [
                message.id
                for part in groups(view.messages)[1:-1:2]
                for message in view.messages[part.start : part.stop]
            ]
            return drop(view, going, stamp)
        case "shorten":
            return shorten(view, view.used * 2 // 3, stamp)
        case "head":
            limits = CompactionLimits(target=view.used // 2, keep_tail=view.used // 4)
            plan = plan_compaction(view, limits, (), first)
        case _:
            stretch = find_stretch(view, places[0] if kind != "up to" else None, places[1] if kind != "from" else None)
            plan = plan_stretch(view, stretch, transcript.messages, (), first)
    return finish_compaction(plan, view, stamp, SUMMARY, number) if plan else None


@given(conversations(min_steps=3), st.lists(st.sampled_from(KINDS), min_size=1, max_size=5), st.data())
def test_taking_any_edits_back_is_as_if_they_had_never_been_made_and_parts_no_pair(
    messages: list[Message], kinds: list[str], draw: st.DataObject
) -> None:
    events = append(*messages)
    edits: list[Edit] = []
    for number, kind in enumerate(kinds, 1):
        edit = make_edit(events, kind, number, draw)
        if edit is not None:
            edits.append(edit)
            events.append(ContextEdited(edit=edit))
    back = draw.draw(st.sets(st.sampled_from([edit.id for edit in edits]))) if edits else set[str]()
    reverts = [EditReverted(edit_id=edit_id) for edit_id in sorted(back)]
    without = [event for event in events if not (isinstance(event, ContextEdited) and event.edit.id in back)]
    view = project([*events, *reverts])
    assert view == project(without)
    again = [EditReverted(edit_id=edit_id, reverted=False) for edit_id in sorted(back)]
    assert project([*events, *reverts, *again]) == project(events)
    whole = {tool for tool, count in pairs(messages).items() if count == 2}
    assert not whole & {tool for tool, count in pairs(view).items() if count == 1}


@given(conversations(min_steps=3), st.data())
def test_compacting_a_stretch_leaves_the_rest_as_it_is_and_keeps_what_must_stay(
    messages: list[Message], draw: st.DataObject
) -> None:
    events = append(*messages)
    view = view_of(events)
    pinned = draw.draw(st.sets(st.sampled_from([message.id for message in messages]), max_size=2))
    places = sorted(draw.draw(st.tuples(*[st.integers(0, len(messages) - 1)] * 2)))
    stretch = find_stretch(view, places[0], places[1])
    assert {stretch.start, stretch.stop} <= set(legal_cuts(view))
    first_user_id = fold(log(events)).first_user_id
    plan = plan_stretch(view, stretch, len(messages), pinned, first_user_id)
    if plan is None:
        return
    edit = finish_compaction(plan, view, Stamp(id="e1", timestamp=1), SUMMARY, 1)
    after = view.after(edit)
    assert after.used < view.used
    assert after.used == view.used - edit.tokens_saved
    left = [message.id for message in after.messages if not message.compaction]
    outside = [m.id for i, m in enumerate(messages) if not stretch.start <= i < stretch.stop]
    assert [message_id for message_id in left if message_id in outside] == outside
    assert pinned <= set(left)
    assert set(left) - set(outside) == set(plan.leading) | set(plan.kept)
    order = {message.id: place for place, message in enumerate(messages)}
    assert left == sorted(left, key=order.__getitem__)


@given(conversations(min_steps=2), st.data())
def test_a_stretch_that_may_be_cut_where_it_was_asked_is_not_moved(
    messages: list[Message], draw: st.DataObject
) -> None:
    view = view_of(append(*messages))
    cuts = legal_cuts(view)
    start = draw.draw(st.sampled_from(cuts[:-1]))
    assert find_stretch(view, start, None).start == start
    assert find_stretch(view, start, None).note == ""


ACTIONS = ("exchange", "report", "compact", "undo", "go back", "pin", "tools", "configure", "model", "snapshot")
# The first two have the same tokenizer, the third has another one.
MODELS = (SMALL_MODEL, LARGE_MODEL, "gpt-4")
TOOL = {"name": "run", "description": "Runs a command.", "input_schema": {"type": "object"}}


async def act(client: TestClient, session_id: str, action: str, number: int) -> None:
    """Makes one step of a session's life. A step that its state does not allow is refused and changes nothing."""
    client.clock.advance(seconds=60)
    named = {"sessionId": session_id}
    match action:
        case "exchange":
            await client.say(session_id, prompt(number), reply(number))
        case "report":
            used = (await client.call("context/get", **named))["used"]
            usage = {"input_tokens": used + 40 * number, "output_tokens": 12 * number}
            await client.say(session_id, prompt(number), "Yes.", usage=usage)
        case "go back":
            await client.call("context/restore", **named, timestamp=client.clock.now() - 150_000)
        case "pin":
            await client.call("context/pin", **named, messageId=f"m_{number}")
        case "tools":
            await client.call("session/append", **named, tools=[TOOL] * (number % 3))
        case "configure":
            mode = ("summarize", "smart")[number % 2]
            await client.call("session/configure", **named, context={"mode": mode, "reserve": 500 * (1 + number % 4)})
        case "model":
            await client.call("session/append", **named, messages=[], model=MODELS[number % 3])
        case "snapshot":
            client.workspace.open(session_id).keep_snapshot()
        case _:
            await client.call(f"context/{action}", **named)


async def state(client: TestClient, session_id: str) -> Any:
    names = ("context/get", "context/messages", "context/history")
    return [await client.call(name, sessionId=session_id) for name in names]


async def live(actions: Sequence[str]) -> None:
    client = build_test_client()
    session_id = await start(client)
    for number, action in enumerate(actions):
        with suppress(Conflict, MessageNotFound):
            await act(client, session_id, action, number)
        await client.entries(session_id)
    expected = await state(client, session_id)
    store = client.workspace.ports.store
    assert await state(build_test_client(store=store), session_id) == expected
    store.drop_snapshot(session_id)
    assert await state(build_test_client(store=store), session_id) == expected


@settings(max_examples=100, deadline=None)
@example(["exchange", "exchange", "report", "compact", "exchange", "exchange", "report", "undo", "report", "exchange"])
@given(st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=24))
def test_a_session_is_the_same_live_from_a_snapshot_and_from_its_log(actions: list[str]) -> None:
    asyncio.run(live(actions))


async def test_a_session_with_half_a_surrogate_pair_is_compacted_and_opened_again() -> None:
    client = build_test_client()
    session_id = await start(client)
    await client.say(session_id, "broken \ud800 pair " * 50, *(reply(n) for n in range(8)))
    await compact_by_hand(client.workspace.open(session_id), ManualRequest())
    session = client.workspace.open(session_id)
    again = build_test_client(store=client.workspace.ports.store)
    assert again.workspace.open(session_id).transcript.view == session.transcript.view
