"""The garbage collector looks through no value of a log: in a long log it would stop every thread for that."""

import gc

from ullage.model.events import MessageAppended, Record, UsageReported
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.usage import Breakdown, MessageCount, Usage
from ullage.store.tables.connection import decode_event, encode_event

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
