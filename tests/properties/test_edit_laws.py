"""The laws of edits: within the budget, tool pairs stay together, always smaller, pins stay, undo is exact."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from support.build import STAMP, append, counted, log
from support.judges import judging
from support.views import conversations
from ullage.agents.file_reads import file_reads
from ullage.edits.clear import MEMORY_TOOLS, ClearOptions, clear_tool_uses, dedupe_reads
from ullage.edits.compaction import CompactionLimits, Summary, finish_compaction, plan_compaction
from ullage.edits.counted import CountedView
from ullage.edits.shorten import cap_blocks, shorten
from ullage.model.events import ContextEdited, Edit, EditReverted
from ullage.model.message import ArtifactLedger, Message, Role, ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import fold, project
from ullage.transcript.view import cut_points, groups, is_pure_prompt

SUMMARY = Summary(text="They talked.", ledger=ArtifactLedger(), summarizer="test")


def pairs(messages: Sequence[Message]) -> set[str]:
    """Returns the tool ids that have both their use and their result here."""
    used = {block.id for message in messages for block in message.content if isinstance(block, ToolUseBlock)}
    answered = {
        block.tool_use_id for message in messages for block in message.content if isinstance(block, ToolResultBlock)
    }
    return used & answered


def half_pairs(messages: Sequence[Message]) -> set[str]:
    """Returns the tool ids of which only the use or only the result is here."""
    ids = {
        block.id if isinstance(block, ToolUseBlock) else block.tool_use_id
        for message in messages
        for block in message.content
        if isinstance(block, ToolUseBlock | ToolResultBlock)
    }
    return ids - pairs(messages)


def assert_no_pair_parted(before: CountedView, after: CountedView) -> None:
    assert not pairs(before.messages) & half_pairs(after.messages)


def assert_reverting_is_exact(messages: Sequence[Message], edit: Edit) -> None:
    events = append(*messages)
    reverted = [*events, ContextEdited(edit=edit), EditReverted(edit_id=edit.id)]
    assert project(reverted) == project(events)


def compact(view: CountedView, target: int, tail: int, pinned: Sequence[str] = (), old: int = 0) -> Edit | None:
    first = next((message.id for message in view.messages if is_pure_prompt(message)), None)
    limits = CompactionLimits(target=target, keep_tail=tail, keep_old=old)
    plan = plan_compaction(view, limits, pinned, first, judging(lambda _, place: place % 3 > 0))
    return finish_compaction(plan, view, STAMP, SUMMARY, 1) if plan else None


@given(conversations())
def test_groups_never_part_a_pair_and_cover_everything(messages: list[Message]) -> None:
    covered = [i for group in groups(messages) for i in group]
    assert covered == list(range(len(messages)))
    for cut in cut_points(messages):
        assert not pairs(messages) & half_pairs(messages[:cut]) & half_pairs(messages[cut:])


@given(conversations(), st.integers(100, 3_000), st.integers(0, 1_500), st.integers(0, 600), st.data())
def test_a_compaction_shrinks_into_its_target_and_keeps_what_must_stay(
    messages: list[Message], target: int, tail: int, old: int, data: st.DataObject
) -> None:
    view = counted(*messages, fixed=50)
    ids = [message.id for message in messages]
    pinned = data.draw(st.lists(st.sampled_from(ids), max_size=2)) if ids else []
    edit = compact(view, target, tail, pinned, old)
    if edit is None:
        return
    after = view.after(edit)
    assert after.used <= target
    assert after.used < view.used
    assert view.used - after.used == edit.tokens_saved
    assert_no_pair_parted(view, after)
    left = {message.id for message in after.messages}
    assert left >= set(pinned)
    assert left >= {message.id for message in messages if message.role is Role.SYSTEM}
    assert messages[-1].id in left
    assert_reverting_is_exact(messages, edit)


@given(conversations(), st.integers(100, 3_000))
def test_what_a_compaction_leaves_is_not_compacted_again_for_nothing(messages: list[Message], target: int) -> None:
    view = counted(*messages)
    edit = compact(view, target, target // 4)
    if edit is not None:
        after = view.after(edit)
        again = compact(after, after.used, after.used)
        assert again is None or after.after(again).used < after.used


@given(conversations(min_steps=1), st.integers(0, 2_000))
def test_shortening_fits_any_limit_that_empty_messages_allow(messages: list[Message], extra: int) -> None:
    view = counted(*messages)
    floor = 30 * len(messages) + view.held(())
    edit = shorten(view, floor + extra, STAMP)
    after = view.after(edit) if edit else view
    assert after.used <= floor + extra
    assert [message.id for message in after.messages] == [message.id for message in messages]
    if edit is not None:
        assert_no_pair_parted(view, after)
        assert_reverting_is_exact(messages, edit)


@given(conversations(), st.integers(20, 500))
def test_capping_touches_only_the_messages_named(messages: list[Message], cap: int) -> None:
    view = counted(*messages)
    only = {message.id for message in messages[::2]}
    edit = cap_blocks(view, cap, STAMP, only)
    if edit is None:
        return
    after = view.after(edit)
    assert after.used < view.used
    for before, now in zip(view.items, after.items, strict=True):
        assert before.message == now.message or now.message.id in only


@given(conversations(), st.integers(0, 4))
def test_clearing_keeps_the_newest_results_the_memory_and_every_pair(messages: list[Message], keep: int) -> None:
    view = counted(*messages)
    edit = clear_tool_uses(view, ClearOptions(keep=keep), STAMP)
    if edit is None:
        return
    after = view.after(edit)
    assert view.used - after.used == edit.tokens_saved > 0
    assert pairs(after.messages) == pairs(view.messages)
    results = [b for m in view.messages for b in m.content if isinstance(b, ToolResultBlock)]
    left = [b for m in after.messages for b in m.content if isinstance(b, ToolResultBlock)]
    kept = len(results) - keep
    assert left[kept:] == results[kept:]
    memory = {b.id for m in messages for b in m.content if isinstance(b, ToolUseBlock) and b.name in MEMORY_TOOLS}
    assert [b for b in left if b.tool_use_id in memory] == [b for b in results if b.tool_use_id in memory]
    again = clear_tool_uses(after, ClearOptions(keep=keep), STAMP)
    assert again is None
    assert_reverting_is_exact(messages, edit)


@given(conversations())
def test_replacing_repeated_reads_never_drops_a_line_that_is_shown_nowhere_else(messages: list[Message]) -> None:
    view = counted(*messages)
    edit = dedupe_reads(view, STAMP)
    if edit is None:
        return
    after = view.after(edit)

    def lines(some: CountedView) -> set[tuple[str, str]]:
        return {(read.path, line) for read in file_reads(some.messages) for line in read.text.splitlines()}

    assert lines(after) >= lines(view)
    assert after.used < view.used
    assert dedupe_reads(after, STAMP) is None
    assert_reverting_is_exact(messages, edit)


@given(conversations(min_steps=1), st.data())
def test_the_fold_of_a_prefix_and_its_state_goes_on_to_the_fold_of_the_whole(
    messages: list[Message], data: st.DataObject
) -> None:
    events = append(*messages)
    view = counted(*messages)
    edit = compact(view, max(view.used // 2, 100), view.used // 4)
    records = log([*events, ContextEdited(edit=edit)] if edit else events)
    at = data.draw(st.integers(0, len(records)))
    half = fold(records[:at])
    assert fold(records[at:], half.state).state == fold(records).state
