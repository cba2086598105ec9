"""The first messages of a conversation, as if it ended after them."""

import gc

from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    Event,
    MessageAppended,
    Record,
    UsageReported,
    first_messages,
)
from ullage.model.message import CompactionBlock, Message, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.usage import Breakdown, MessageCount, Usage
from ullage.store.tables.session_table import decode_event, encode_event


def said(number: int) -> MessageAppended:
    role = Role.USER if number % 2 else Role.ASSISTANT
    return MessageAppended(message=Message(id=f"m{number}", role=role, content=(TextBlock(text="hello"),)))


def compacted(end: int) -> ContextEdited:
    block = CompactionBlock(compaction_number=1, timestamp=0, summary="s", messages_archived=end, context_size_before=9)
    marker = Message(id=f"marker{end}", role=Role.USER, content=(block,))
    return ContextEdited(edit=CompactionEdit(id=f"e{end}", timestamp=0, start=0, end=end, marker=marker))


REPORT = UsageReported(usage=Usage(input_tokens=9), message_id="m2")
EVENTS: list[Event] = [said(1), said(2), REPORT, compacted(2), said(3), said(4)]


def test_the_last_messages_report_still_counts() -> None:
    assert list(first_messages(EVENTS, 2)) == [said(1), said(2), REPORT]


def test_a_compaction_inside_a_stretch_counts_and_one_after_it_does_not() -> None:
    assert compacted(2) in list(first_messages(EVENTS, 3))
    assert compacted(2) not in list(first_messages(EVENTS, 2))


def test_more_than_there_are_is_all() -> None:
    assert list(first_messages(EVENTS, 99)) == EVENTS


# The garbage collector looks through no value of a log: in a long log it would stop every thread for that


_MESSAGES = 500


def _record(number: int) -> Record:
    used = ToolUseBlock(id=f"c{number}", name="Read", input={"file_path": f"part{number}.py"})
    given = ToolResultBlock(tool_use_id=f"c{number}", content=(TextBlock(text="def part(): ..."),))
    message = Message(id=f"m{number}", role=Role.ASSISTANT, content=(TextBlock(text="I read it."), used, given))
    count = MessageCount(counter="o200k", parts=Breakdown(messages=number))
    appended = MessageAppended(message=message, count=count)
    return Record(position=number, timestamp=0, event=decode_event(encode_event(appended)))


def test_the_garbage_collector_looks_at_no_message_of_a_log() -> None:
    log = [_record(0)]
    reported = UsageReported(message_id="m0", usage=Usage(input_tokens=7))
    gc.collect()
    before = len(gc.get_objects())
    log += [_record(number) for number in range(1, _MESSAGES)]
    # Tuples without anything to look through are left out at the first time.
    gc.collect()
    assert len(gc.get_objects()) - before < _MESSAGES / 10
    assert not any(map(gc.is_tracked, (log[-1], log[-1].event, reported)))
