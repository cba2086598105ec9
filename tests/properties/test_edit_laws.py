"""The laws of edits: within the budget, tool pairs stay together, always smaller, pins stay, undo is exact. After every
append the next request fits the window and the providers' rules, or the user is told that it can't."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.laws import LAWFUL, Case, Situation, Verdict, judge, random_situation, run
from support.build import STAMP, append, assistant, counted, log, results, system, thinking, user, uses, words
from support.provider_rules import anthropic_violations, openai_violations
from support.random_histories import random_history
from support.views import conversations, judging
from support.workspace import SMALL_MODEL, PacedSummarizer, TestClient, build_test_client
from ullage.agents.file_reads import file_reads
from ullage.edits.clear import MEMORY_TOOLS, ClearOptions, clear_tool_uses, dedupe_reads
from ullage.edits.compaction import CompactionLimits, Summary, finish_compaction, plan_compaction
from ullage.edits.counted import CountedView
from ullage.edits.shorten import cap_blocks, shorten
from ullage.formats.provider import write_anthropic, write_openai
from ullage.model.errors import ProviderError
from ullage.model.events import (
    ContextEdited,
    DropEdit,
    Edit,
    EditReverted,
    MessageAppended,
    MessagePinned,
    SessionCreated,
    ToolsDeclared,
)
from ullage.model.message import (
    ArtifactLedger,
    ImageBlock,
    Message,
    Role,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
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


def test_no_way_of_shrinking_breaks_a_law_on_random_histories() -> None:
    found = run(7, range(40))
    assert [one for one in found if one[1] not in LAWFUL] == []
    # Each lawful end comes: otherwise nothing was tried.
    assert {verdict for _, verdict, _ in found} == LAWFUL


def test_a_seed_and_a_number_give_the_same_situation_again() -> None:
    first, again = random_situation(7, 3), random_situation(7, 3)
    assert (first.events, first.limit) == (again.events, again.limit)
    assert random_situation(7, 4).events != first.events


def test_the_histories_are_rich() -> None:
    blocks = [b for n in range(200) for m in random_history(random.Random(n)) for b in m.content]
    calls = [m for n in range(200) for m in random_history(random.Random(n))]
    assert any(isinstance(block, ImageBlock) for block in blocks)
    assert any(isinstance(block, ThinkingBlock) and block.redacted for block in blocks)
    assert any(sum(isinstance(block, ToolUseBlock) for block in message.content) > 1 for message in calls)
    assert any(not message.content for message in calls)
    assert any(random_situation(7, n).transcript.compactions for n in range(40))


def test_the_judge_sees_an_edit_that_parts_a_pair_miscounts_and_stays_over_its_limit() -> None:
    situation = next(s for n in range(40) if has_pair(s := random_situation(7, n)) and not s.pinned)
    used = next(m for m in situation.view.messages if any(isinstance(b, ToolUseBlock) for b in m.content))
    bad = DropEdit(id="bad", timestamp=1, message_ids=(used.id,), notice=user("bad-notice"), tokens_saved=1)
    case = Case(name="bad", plan=lambda _: [bad], promises=True)
    assert judge(situation, case) >= {Verdict.PARTED, Verdict.MISCOUNTED, Verdict.OVER}


def has_pair(situation: Situation) -> bool:
    answered = {b.tool_use_id for m in situation.view.messages for b in m.content if isinstance(b, ToolResultBlock)}
    return any(isinstance(b, ToolUseBlock) and b.id in answered for m in situation.view.messages for b in m.content)


_HUGE = 30_000


def _image(id_: str) -> Message:
    return Message(id=id_, role=Role.USER, content=(ImageBlock(data="iVBORw0KGgo=", width=1_500, height=1_500),) * 6)


def _redacted(id_: str) -> Message:
    return Message(id=id_, role=Role.ASSISTANT, content=(ThinkingBlock(thinking="", redacted="A" * 60_000),))


def _call(id_: str, size: int) -> list[Message]:
    call = uses(f"{id_}u", f"t{id_}", name="Write", file_path="/a.py", content=words(size))
    return [call, results(f"{id_}r", f"t{id_}", text="written")]


def _read(id_: str, size: int) -> list[Message]:
    text = "\n".join(f"{i:6}\tline {i} of the file" for i in range(size // 5))
    return [uses(f"{id_}u", f"t{id_}", name="Read", path="/a.py"), results(f"{id_}r", f"t{id_}", text=text)]


def _parallel(id_: str, number: int) -> list[Message]:
    tools = [f"t{id_}-{i}" for i in range(number)]
    return [uses(f"{id_}u", *tools), *(results(f"{id_}r{i}", tool, text=words(40)) for i, tool in enumerate(tools))]


_sizes = st.sampled_from([1, 60, 600, 3_000, _HUGE])
_STEPS: dict[str, Callable[[str, int], list[Message]]] = {
    "prompt": lambda id_, size: [user(id_, words(size))],
    "answer": lambda id_, size: [assistant(id_, words(size))],
    "thinking": lambda id_, size: [thinking(id_, words(size)), assistant(f"{id_}a", "Yes.")],
    "only thinking": lambda id_, size: [thinking(f"{id_}-{i}", words(size // 10)) for i in range(10)],
    "redacted": lambda id_, _: [_redacted(id_)],
    "pictures": lambda id_, _: [_image(id_)],
    "input": _call,
    "read": _read,
    "lost call": lambda id_, size: [uses(id_, f"t{id_}", name="run", command=words(size))],
    "parallel": lambda id_, size: _parallel(id_, min(size, 60)),
    "tiny": lambda id_, size: [user(f"{id_}-{i}", "ok") for i in range(min(size, 600))],
    "tiny answers": lambda id_, size: [assistant(f"{id_}-{i}", "ok") for i in range(min(size, 600))],
    "note": lambda id_, size: [system(id_, words(min(size, 60)))],
}
_steps = st.tuples(st.sampled_from(sorted(_STEPS)), _sizes, st.booleans())


async def play(
    client: TestClient, steps: Sequence[tuple[str, int, bool]], tools: Sequence[ToolDefinition] = ()
) -> tuple[str, list[str]]:
    """Appends step by step, and waits after each step until its work is done. Returns the session's id and the kinds
    of the notices."""
    workspace = client.workspace
    session = workspace.adopt("s", [SessionCreated(model=SMALL_MODEL), ToolsDeclared(tools=tuple(tools))])
    for number, (kind, size, pinned) in enumerate(steps):
        messages = _STEPS[kind](f"m{number}", size)
        with session.one_change():
            session.record(*(MessageAppended(message=message) for message in messages))
            if pinned and len(messages) < 3:
                session.record(MessagePinned(message_id=messages[0].id))
        await session.settled()
        budget = session.budget
        assert budget is not None
        assert session.used <= budget.usable or session.guards.warned_unfit
        # A later usage may change the counts, so the view must fit by the counts that planning uses, too.
        assert session.projection.counted_view().used <= budget.usable or session.guards.warned_unfit
    view = session.transcript.view
    assert not anthropic_violations(write_anthropic(view).messages)
    assert not openai_violations(write_openai(view).messages)
    return "s", [kind for update in client.recorder.take() if (kind := _kind(update))]


def _kind(update: Any) -> str:
    return update["_meta"]["ullage"]["kind"] if update["sessionUpdate"] == "notice" else ""


@given(st.lists(_steps, min_size=1, max_size=8))
@settings(deadline=None, max_examples=40)
def test_whatever_comes_in_the_context_fits_the_window(steps: list[tuple[str, int, bool]]) -> None:
    _, kinds = asyncio.run(play(build_test_client(), steps))
    assert "compaction_failed" not in kinds


@given(st.lists(_steps, min_size=1, max_size=6))
@settings(deadline=None, max_examples=20)
def test_it_fits_when_no_summary_can_be_had_either(steps: list[tuple[str, int, bool]]) -> None:
    summarizer = PacedSummarizer((), ProviderError("no connection"))
    asyncio.run(play(build_test_client(summarizer=summarizer), steps))


@given(st.lists(_steps, min_size=1, max_size=4), st.integers(1, 90))
@settings(deadline=None, max_examples=20)
def test_tools_that_leave_little_room_cost_no_more_than_they_must(
    steps: list[tuple[str, int, bool]], number: int
) -> None:
    tools = [ToolDefinition(name=f"tool_{i}", description=words(60)) for i in range(number)]
    client = build_test_client()
    asyncio.run(play(client, steps, tools))


# They take minutes: the longest test of a whole run by far.
@pytest.mark.slow
@pytest.mark.long
@given(st.lists(_steps, min_size=1, max_size=14))
@settings(deadline=None, max_examples=1_500)
def test_many_more_histories_fit_the_window(steps: list[tuple[str, int, bool]]) -> None:
    asyncio.run(play(build_test_client(), steps))
