"""The last compaction of a log: which one, what was before it, and what the agent carried over it."""

from support.build import append, assistant, log, user
from ullage.lost.left_out import LastCompaction, last_compaction
from ullage.model.events import CompactionEdit, ContextEdited, EditReverted, Event
from ullage.model.message import NO_SUMMARY, CompactionBlock, Message, Role

FIRST = append(user("u1", "One."), assistant("a1", "Two."), user("u2", "Three."))
LATER = append(assistant("a2", "Four."), user("u3", "Five."))


def compaction(number: int, end: int, summary: str = "Said.") -> Event:
    block = CompactionBlock(
        compaction_number=number, timestamp=0, summary=summary, messages_archived=end, context_size_before=0
    )
    marker = Message(id=f"m{number}", role=Role.USER, content=(block,))
    return ContextEdited(edit=CompactionEdit(id=f"e{number}", timestamp=number, start=0, end=end, marker=marker))


def found(*events: Event) -> LastCompaction:
    compacted = last_compaction(log(events))
    assert compacted
    return compacted


def test_a_log_without_a_compaction_has_none() -> None:
    assert last_compaction(log(FIRST)) is None


def test_all_messages_before_the_last_one_are_known_and_the_summary_and_the_tail_are_carried() -> None:
    last = found(*FIRST, compaction(1, 2), *LATER, compaction(2, 4), *append(user("u4", "Six.")))
    assert [message.id for message in last.before] == ["u1", "a1", "u2", "a2", "u3"]
    assert [message.id for message in last.carried] == ["m2", "u3"]
    assert (last.kept, last.timestamp, last.is_readable) == (1, 2, True)


def test_an_undone_compaction_does_not_count() -> None:
    last = found(*FIRST, compaction(1, 2), *LATER, compaction(2, 4), EditReverted(edit_id="e2"))
    assert [message.id for message in last.carried] == ["m1", "u2"]
    assert last_compaction(log([*FIRST, compaction(1, 2), EditReverted(edit_id="e1")])) is None


def test_a_summary_without_a_text_is_not_readable() -> None:
    assert not found(*FIRST, compaction(1, 2, "")).is_readable


def test_a_new_context_window_without_a_summary_is_readable_and_has_none() -> None:
    last = found(*FIRST, compaction(1, 2, NO_SUMMARY))
    assert (last.is_readable, last.has_summary) == (True, False)
    assert found(*FIRST, compaction(1, 2)).has_summary
