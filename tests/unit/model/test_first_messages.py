"""The first messages of a conversation, as if it ended after them."""

from ullage.model.events import CompactionEdit, ContextEdited, Event, MessageAppended, UsageReported, first_messages
from ullage.model.message import CompactionBlock, Message, Role, TextBlock
from ullage.model.usage import Usage


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
