"""The law of repeated reads: a line that is replaced by a notice is in a later message of the view, word for word.
This holds at once, after each further edit, and with any other cheap edits in between."""

from collections.abc import Collection, Sequence
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from support.build import append, counted, log, results, user, uses, words
from support.views import chains, judging
from ullage.agents.file_reads import file_lines
from ullage.edits.clear import ClearOptions, clear_thinking, clear_tool_uses, dedupe_reads
from ullage.edits.compaction import CompactionLimits, Summary, finish_compaction, plan_compaction
from ullage.edits.counted import CountedView, Stamp
from ullage.edits.drop import Keep, make_chain, plan_truncation
from ullage.edits.shorten import ResultLimits, shorten_results
from ullage.model.events import ClearToolUsesEdit, ContextEdited, DuplicateReadsEdit, Edit, ShortenEdit
from ullage.model.message import ArtifactLedger, Block, Message, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.settings import ContextSettings
from ullage.service.plan import Terms, cheap_edits
from ullage.transcript.fold import fold, project
from ullage.transcript.view import is_pure_prompt, kept, leading

SUMMARY = Summary(text="They read.", ledger=ArtifactLedger(), summarizer="test")
FILES = ("a.py", "src/b.py")


@st.composite
def histories_of_a_file(draw: st.DrawFn) -> list[Message]:
    """Draws messages with files that are written, read in whole or in part, changed, mentioned, and read again
    differently."""
    state = {path: [f"{path} line {i} says {i * 7}" for i in range(30)] for path in FILES}
    messages: list[Message] = []
    for number in range(draw(st.integers(2, 8))):
        path = draw(st.sampled_from(FILES))
        if draw(st.booleans()):
            at = draw(st.integers(0, len(state[path])))
            changed = [f"changed {number} {i} " for i in range(draw(st.integers(0, 8)))]
            state[path][at : at + draw(st.integers(0, 5))] = changed
        first = draw(st.integers(0, 15))
        messages += draw(st.sampled_from(SHAPES))(number, path, state[path], first)
    return messages


def numbered(number: int, path: str, lines: Sequence[str], first: int) -> list[Message]:
    text = "\n".join(f"{i:6}\t{line}" for i, line in enumerate(lines[first:], start=first + 1))
    return [uses(f"u{number}", f"t{number}", name="Read", path=path), results(f"r{number}", f"t{number}", text=text)]


def by_shell(number: int, path: str, lines: Sequence[str], first: int) -> list[Message]:
    command = f"sed -n '{first + 1},200p' {path}"
    text = "\n".join(lines[first:])
    call = uses(f"u{number}", f"t{number}", name="bash", command=command)
    return [call, results(f"r{number}", f"t{number}", text=text)]


def written(number: int, path: str, lines: Sequence[str], first: int) -> list[Message]:
    call = uses(f"u{number}", f"t{number}", name="Write", file_path=path, content="\n".join(lines))
    return [call, results(f"r{number}", f"t{number}", text="File written.")]


def mentioned(number: int, path: str, lines: Sequence[str], first: int) -> list[Message]:
    carried = "\n".join(lines[first:])
    return [user(f"p{number}", f'Look:\n<file_content path="{path}">\n{carried}\n</file_content>\nand say.')]


def talk(number: int, path: str, lines: Sequence[str], first: int) -> list[Message]:
    call = uses(f"u{number}", f"t{number}", name="run")
    return [call, results(f"r{number}", f"t{number}", text=words(300))]


SHAPES = (numbered, by_shell, written, mentioned, talk)


def texts(block: Block) -> list[str]:
    match block:
        case TextBlock(text=text) | ResourceBlock(text=str(text)):
            return [text]
        case ToolResultBlock(content=parts):
            return [part.text for part in parts if isinstance(part, TextBlock)]
        case ToolUseBlock(input=given):
            return [str(value) for value in given.values()]
        case _:
            return []


def lines_of(message: Message) -> set[str]:
    return {line.text for block in message.content for text in texts(block) for line in file_lines(text)}


def assert_nothing_is_lost(original: Sequence[Message], now: Sequence[Message], spared: Collection[str]) -> None:
    """Checks that each line of every message, except those that another edit emptied, is there or in a later
    message."""
    assert [message.id for message in original] == [message.id for message in now]
    later: set[str] = set()
    for before, after in zip(reversed(original), reversed(now), strict=True):
        later |= lines_of(after)
        if before.id not in spared:
            assert lines_of(before) <= later


@given(histories_of_a_file())
@settings(deadline=None)
def test_no_line_goes_that_is_not_shown_later(messages: list[Message]) -> None:
    view = counted(*messages)
    edit = dedupe_reads(view, Stamp(id="e", timestamp=1))
    if edit is None:
        return
    after = view.after(edit)
    assert_nothing_is_lost(messages, after.messages, ())
    assert 0 < edit.tokens_saved == view.used - after.used
    assert abs(sum(file.tokens_saved for file in edit.files) - edit.tokens_saved) <= len(edit.files)
    assert set(edit.shown_in) <= {message.id for message in messages}
    assert dedupe_reads(after, Stamp(id="f", timestamp=2)) is None


def plan(kind: int, view: CountedView, number: int, relied: Collection[str]) -> Edit | None:
    stamp = Stamp(id=f"e{number}", timestamp=number)
    match kind:
        case 0:
            return dedupe_reads(view, stamp)
        case 1:
            return clear_tool_uses(view, ClearOptions(keep=1, clear_tool_inputs=True), stamp, relied)
        case 2:
            return shorten_results(view, ResultLimits(max_result_tokens=60), stamp, relied)
        case _:
            return clear_thinking(view, 1, stamp, relied)


@given(histories_of_a_file(), histories_of_a_file(), st.lists(st.integers(0, 3), min_size=2, max_size=6))
@settings(deadline=None)
def test_what_notices_point_to_is_there_whatever_cheap_edits_follow(
    before: list[Message], more: list[Message], kinds: list[int]
) -> None:
    """Another edit may empty a message, but must not remove lines that a notice points to."""
    renamed = [
        Message(id=f"x{m.id}", role=m.role, content=tuple(_renamed(b) for b in m.content), timestamp=m.timestamp)
        for m in more
    ]
    events = append(*before)
    relied: set[str] = set()
    emptied: set[str] = set()
    for number, kind in enumerate([0, *kinds]):
        if number == 2:
            events += append(*renamed)
        now = project(events)
        edit = plan(kind, counted(*now), number, relied)
        if edit is None:
            continue
        events.append(ContextEdited(edit=edit))
        if isinstance(edit, DuplicateReadsEdit):
            relied |= set(edit.shown_in)
        else:
            emptied |= {message.id for message, after in zip(now, project(events), strict=True) if message != after}
        originals = [*before, *renamed][: len(project(events))]
        assert_nothing_is_lost(originals, project(events), emptied)


@given(histories_of_a_file(), st.integers(0, 2_000))
@settings(deadline=None)
def test_one_climb_of_the_cheap_rungs_takes_nothing_that_its_own_notices_point_to(
    messages: list[Message], limit: int
) -> None:
    numbers = count()
    terms = Terms(
        limit=limit,
        usable=limit,
        settings=ContextSettings(keep_tool_uses=0, clear_tool_inputs=True),
        transcript=fold(log(append(*messages))),
        new_stamp=lambda: Stamp(id=f"e{next(numbers)}", timestamp=1),
        relied=frozenset(),
        result_tokens=60,
    )
    made = [edit for _, edit in cheap_edits(counted(*messages), terms)]
    emptied = {
        each.message_id
        for edit in made
        if isinstance(edit, ClearToolUsesEdit | ShortenEdit)
        for each in edit.replacements
    }
    now = project([*append(*messages), *(ContextEdited(edit=edit) for edit in made)])
    assert_nothing_is_lost(messages, now, emptied)


@given(histories_of_a_file(), st.integers(50, 3_000), st.booleans(), st.data())
@settings(deadline=None)
def test_no_notice_outlives_what_it_points_to(
    messages: list[Message], limit: int, drops: bool, data: st.DataObject
) -> None:
    """A compaction or a drop removes a notice before the lines it points to, with and without pins."""
    pinned = data.draw(st.lists(st.sampled_from([message.id for message in messages]), max_size=2))
    view = counted(*messages)
    first = next((message.id for message in messages if is_pure_prompt(message)), None)
    edit = dedupe_reads(view, Stamp(id="e", timestamp=1), {*leading(messages, first), *kept(messages, pinned)})
    if edit is None:
        return
    after = view.after(edit)
    if drops:
        keep = Keep(pinned=frozenset(pinned), first_user_id=first, relied=frozenset(edit.shown_in))
        edits = plan_truncation(after, make_chain(data.draw(chains)), limit, keep, Stamp(id="f", timestamp=2))
        shrunk = edits[0] if edits else None
    else:
        limits = CompactionLimits(target=limit, keep_tail=limit // 2, keep_old=data.draw(st.integers(0, limit // 2)))
        plan = plan_compaction(after, limits, pinned, first, judging(lambda _, place: place % 3 > 0))
        shrunk = finish_compaction(plan, after, Stamp(id="f", timestamp=2), SUMMARY, 1) if plan else None
    left = after.after(shrunk).messages if shrunk else after.messages
    originals = {message.id: message for message in messages}
    there = [message for message in left if message.id in originals]
    assert_nothing_is_lost([originals[message.id] for message in there], there, ())


def _renamed(block: Block) -> Block:
    match block:
        case ToolUseBlock():
            return ToolUseBlock(id=f"x{block.id}", name=block.name, input=block.input)
        case ToolResultBlock():
            return ToolResultBlock(tool_use_id=f"x{block.tool_use_id}", content=block.content)
        case _:
            return block
