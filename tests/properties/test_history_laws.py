"""The laws of undo: after any edit is undone the context is as if the edit was never made. And a compaction of a
stretch changes only the stretch."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from support.build import append, log, measure
from support.views import conversations
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
from ullage.model.events import ContextEdited, Edit, EditReverted, Event
from ullage.model.message import ArtifactLedger, Message, ToolResultBlock, ToolUseBlock
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
