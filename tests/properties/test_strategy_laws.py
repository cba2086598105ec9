"""The laws of strategies: over the limit only if nothing more may be dropped, pairs whole, pins kept, undo exact."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support import histories, views
from support.build import STAMP, append, counted, measure, user
from support.provider_rules import anthropic_violations, openai_violations
from support.views import chains, strategies
from ullage.agents.inserted import typed_blocks
from ullage.edits.counted import CountedView, count_view
from ullage.edits.drop import NOTICE, Keep, make_chain, make_strategy, plan_truncation
from ullage.formats.provider import write_anthropic, write_openai
from ullage.model.events import ContextEdited, DropEdit, Edit, EditReverted
from ullage.model.message import Message
from ullage.model.settings import (
    StrategySettings,
)
from ullage.tokens.counter import get_counter
from ullage.transcript.fold import project
from ullage.transcript.view import groups, is_pure_prompt, kept, leading

messages_of_any_kind = views.conversations() | histories.conversations().map(list) | histories.histories().map(list)
NOTICE_TOKENS = measure(user("n", NOTICE))


def keep_of(messages: Sequence[Message], pinned: Sequence[str] = ()) -> Keep:
    first = next((message.id for message in messages if is_pure_prompt(message)), None)
    return Keep(pinned=frozenset(pinned), first_user_id=first)


def untouchable(messages: Sequence[Message], keep: Keep) -> set[str]:
    """Returns the ids of the messages that no strategy may drop."""
    last = [messages[i].id for i in groups(messages)[-1]] if messages else []
    newest = [message.id for message in messages if typed_blocks(message)][-1:]
    return {*leading(messages, keep.first_user_id), *kept(messages, {*keep.pinned, *newest}), *last}


def planned(view: CountedView, chain: Sequence[StrategySettings], limit: int, keep: Keep) -> DropEdit | None:
    edits = plan_truncation(view, make_chain(chain), limit, keep, STAMP)
    assert len(edits) <= 1
    edit = edits[0] if edits else None
    assert edit is None or isinstance(edit, DropEdit)
    return edit


def undone(messages: Sequence[Message], edits: Sequence[Edit]) -> tuple[Message, ...]:
    events = append(*messages)
    reverts = [EditReverted(edit_id=edit.id) for edit in edits]
    return project([*events, *(ContextEdited(edit=edit) for edit in edits), *reverts])


@given(messages_of_any_kind, chains, st.integers(0, 3_000), st.data())
def test_a_chain_fits_the_limit_or_leaves_only_what_must_stay(
    messages: list[Message], chain: list[StrategySettings], limit: int, data: st.DataObject
) -> None:
    ids = [message.id for message in messages]
    keep = keep_of(messages, data.draw(st.lists(st.sampled_from(ids), max_size=2)) if ids else [])
    view = counted(*messages, fixed=10)
    edit = planned(view, chain, limit, keep)
    if edit is None:
        smallest = 10 + sum(measure(message) for message in messages if message.id in untouchable(messages, keep))
        assert view.used <= limit or view.used <= smallest + NOTICE_TOKENS
        return
    after = view.after(edit)
    left = {message.id for message in after.messages}
    assert after.used == view.used - edit.tokens_saved < view.used
    assert left >= untouchable(messages, keep)
    assert after.used <= limit or left == untouchable(messages, keep) | {edit.notice.id}
    assert undone(messages, [edit]) == tuple(messages)


@given(histories.conversations(8).map(list), chains, st.integers(0, 1_500))
def test_what_a_chain_leaves_is_valid_for_both_providers(
    messages: list[Message], chain: list[StrategySettings], limit: int
) -> None:
    view = counted(*messages)
    edit = planned(view, chain, limit, keep_of(messages))
    after = view.after(edit).messages if edit else view.messages
    assert anthropic_violations(write_anthropic(after).messages) == []
    assert openai_violations(write_openai(after).messages) == []


@given(messages_of_any_kind, strategies, st.integers(0, 3_000))
def test_both_faces_of_a_strategy_leave_the_same(
    messages: list[Message], strategy: StrategySettings, limit: int
) -> None:
    before = list(messages)
    counter = get_counter("", "approximate")
    left = make_strategy(strategy).truncate(messages, limit, counter)
    assert messages == before
    view = count_view(messages, counter)
    edit = planned(view, [strategy], limit, keep_of(messages))
    if edit is not None:
        assert [message.id for message in left if message.text != NOTICE] == [
            message.id for message in view.after(edit).messages if message.id != edit.notice.id
        ]
    assert sum(message.text == NOTICE for message in left) <= 1


@given(views.conversations(), chains, chains, st.integers(200, 3_000))
def test_truncations_one_after_the_other_leave_one_notice_and_are_undone_exactly(
    messages: list[Message], first: list[StrategySettings], then: list[StrategySettings], limit: int
) -> None:
    view, keep = counted(*messages), keep_of(messages)
    one = planned(view, first, limit, keep)
    if one is None:
        return
    between = view.after(one)
    two = planned(between, then, limit // 2, keep)
    if two is None:
        return
    two = replace(two, id="e2", notice=replace(two.notice, id="e2-notice"))
    after = between.after(two)
    assert sum(message.text == NOTICE for message in after.messages) == 1
    assert after.used < between.used
    assert undone(messages, [one, two]) == tuple(messages)
    events = [*append(*messages), *(ContextEdited(edit=edit) for edit in (one, two))]
    assert project([*events, EditReverted(edit_id="e2")]) == between.messages
