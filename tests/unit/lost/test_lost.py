"""What was left out, what of it a hook has given back, and what is still missing: figures that add up."""

import pytest

from support.build import append, assistant, log, user
from support.conversations import Talk
from ullage.ledger.folding import fold
from ullage.ledger.ledger_entry import Kind
from ullage.ledger.ledger_page import standing
from ullage.lost.left_out import (
    LastCompaction,
    LeftOut,
    detail_of,
    last_compaction,
    left_out,
    left_out_words,
    lost_from,
    read_before,
    summary_message,
    write_brief,
    write_guide,
)
from ullage.model.events import CompactionEdit, ContextEdited, EditReverted, EditTrigger, Event, RewindEdit
from ullage.model.message import NO_SUMMARY, CompactionBlock, Message, Role

TALK = (
    Talk()
    .user("Never change legacy.py without a migration.")
    .agent("Understood.")
    .user("The retry limit must be 7.")
    .write("/w/src/a.py", "LIMIT = 7\n")
    .agent("Written.")
    # The prompt that waits while the agent compacts.
    .user("Now rename the table in every part.")
)
SUMMARY = summary_message("The cask is called Berta.")
BLOCK = CompactionBlock(compaction_number=1, timestamp=1, messages_archived=8, summary="Berta.", context_size_before=9)


def found(kept: list[Message], *given: str) -> LeftOut:
    """Returns what a compaction left out whose agent kept its summary and these messages."""
    carried = (SUMMARY, *kept)
    compaction = LastCompaction(before=tuple(TALK.messages), carried=carried, edit_id="e1", block=BLOCK, timestamp=1)
    entries = lost_from(read_before(TALK.messages, "/w"), carried)
    return LeftOut(compaction=compaction, entries=entries, cwd="/w", given=given)


def brief(room: int = 10_000) -> str:
    """Returns what the hook gives, which has the summary alone."""
    return write_brief(lost_from(read_before(TALK.messages, "/w"), [SUMMARY]), room, cwd="/w").text


@pytest.mark.parametrize("keeps", [True, False], ids=["it is kept", "it is not kept"])
def test_the_prompt_that_waits_is_given_back_and_only_counts_if_it_was_left_out(keeps: bool) -> None:
    assert "Now rename the table in every part." in brief()
    left = found(TALK.messages[-1:] if keeps else [], brief())
    assert left.counts[Kind.SAID] == (2 if keeps else 3)
    assert left.missing == {}
    assert left_out_words(left) == f"{2 if keeps else 3} messages of yours, 1 file; all of it given back"


def test_what_had_no_room_is_still_missing() -> None:
    left = found(TALK.messages[-1:], brief(400))
    given = {kind: count - left.missing.get(kind, 0) for kind, count in left.counts.items()}
    assert given == {"said": 2, "file": 0}
    assert left_out_words(left).endswith("; still missing: 1 file")


def test_without_a_receipt_nothing_is_said_of_it() -> None:
    left = found([])
    assert left.missing == left.counts
    assert left_out_words(left) == "3 messages of yours, 1 file"
    assert left_out_words(left, 1) == "3 messages of yours and more"


def test_another_message_with_the_same_number_is_not_the_one_that_was_left_out() -> None:
    assert found([], "What the user said, word for word:\n> #1 Never change it.").missing["said"] == 3


# What a compaction left out, and what its summary says otherwise, whether the summary is handed over or in the log


SUMMARIZED = Talk().call("TodoWrite", {"todos": [{"content": "Add the CSV export", "status": "pending"}]})
SUMMARIZED.agent("The line that follows is mine and no summary.\n\n- Add the CSV export: done")


def test_a_summary_that_is_handed_over_is_contradicted_as_well() -> None:
    (task,) = lost_from(
        read_before(SUMMARIZED.messages),
        [summary_message("- Add the CSV export: done"), *SUMMARIZED.messages[2:]],
    )
    assert detail_of(task) == "the summary says: - Add the CSV export: done"


def test_a_kept_message_is_no_summary_and_contradicts_nothing() -> None:
    (task,) = lost_from(read_before(SUMMARIZED.messages), [summary_message("Go on."), *SUMMARIZED.messages[2:]])
    assert task.against == ""


# What a summary that an agent is about to write must keep


ROOM = 6_000


def test_the_guide_has_the_words_of_the_user_and_what_is_open_and_nothing_that_is_done() -> None:
    todos = [{"content": "Add it", "status": "completed"}, {"content": "Test it", "status": "in_progress"}]
    talk = Talk().user("Never push to main.").call("TodoWrite", {"todos": todos})
    talk.shell("pytest a.py", "E  KeyError: 'x'\n1 failed in 0.1s", failed=True).agent(
        "It fails as I expected it to fail."
    )
    text = write_guide(fold(talk.messages), ROOM).text
    assert "> #1 Never push to main." in text.splitlines()
    assert "[in progress] Test it" in text
    assert "1 failed in 0.1s" in text
    assert "Add it" not in text
    assert "as I expected" not in text


def test_of_nothing_there_is_no_guide_and_of_much_a_short_one() -> None:
    assert write_guide(fold([]), ROOM).text == ""
    talk = Talk()
    for number in range(200):
        talk.user(f"Rule {number}: {'keep it ' * 20}")
    assert 3_000 < len(write_guide(fold(talk.messages), ROOM).text) <= ROOM


@pytest.mark.parametrize(("room", "most"), [(10_000, 20), (20_000, 20), (60_000, 20), (4_000, 14)])
def test_of_many_long_messages_none_is_missing_because_others_are_long(room: int, most: int) -> None:
    talk = Talk()
    for number in range(20):
        talk.user(f"Begin{number} {' '.join(f'w{number}x{at} is what I want.' for at in range(70))} End{number}?")
        talk.user(f"Short rule {number}.")
    text = write_brief(standing(fold(talk.messages)), room).text
    for words, first in (("Begin{} ", 20 - most), ("End{}?", 20 - most), ("Short rule {}.", 0)):
        assert [number for number in range(20) if words.format(number) in text] == list(range(first, 20))
    assert len(text) <= room
    assert (text.count("[…]") == 0) is (room == 60_000)
    left = ", ".join(f"#{2 * number + 1}" for number in range(20 - most))
    assert (f"> Without room here: {left}" in text.splitlines()) is bool(left)


# The last compaction of a log: which one, what was before it, and what the agent carried over it


FIRST = append(user("u1", "One."), assistant("a1", "Two."), user("u2", "Three."))
LATER = append(assistant("a2", "Four."), user("u3", "Five."))


def compaction(number: int, end: int, summary: str = "Said.") -> Event:
    block = CompactionBlock(
        compaction_number=number, timestamp=0, summary=summary, messages_archived=end, context_size_before=0
    )
    marker = Message(id=f"m{number}", role=Role.USER, content=(block,))
    return ContextEdited(edit=CompactionEdit(id=f"e{number}", timestamp=number, start=0, end=end, marker=marker))


def compaction_found(*events: Event) -> LastCompaction:
    compacted = last_compaction(log(events))
    assert compacted
    return compacted


def test_a_log_without_a_compaction_has_none() -> None:
    assert last_compaction(log(FIRST)) is None


def test_all_messages_before_the_last_one_are_known_and_the_summary_and_the_tail_are_carried() -> None:
    last = compaction_found(*FIRST, compaction(1, 2), *LATER, compaction(2, 4), *append(user("u4", "Six.")))
    assert [message.id for message in last.before] == ["u1", "a1", "u2", "a2", "u3"]
    assert [message.id for message in last.carried] == ["m2", "u3"]
    assert (last.kept, last.timestamp, last.is_readable) == (1, 2, True)


def test_what_the_user_took_back_by_going_back_does_not_come_back() -> None:
    gone = ContextEdited(edit=RewindEdit(id="r1", timestamp=1, trigger=EditTrigger.MANUAL, message_ids=("u2",)))
    events = (*FIRST, gone, *LATER, compaction(1, 5))
    told = left_out(log(events))
    again = left_out(log((*events, EditReverted(edit_id="r1"))))
    assert told and [(entry.index, entry.text) for entry in told.entries if entry.kind is Kind.SAID] == [
        (0, "One."),
        (4, "Five."),
    ]
    assert again and "Three." in [entry.text for entry in again.entries]


def test_an_undone_compaction_does_not_count() -> None:
    last = compaction_found(*FIRST, compaction(1, 2), *LATER, compaction(2, 4), EditReverted(edit_id="e2"))
    assert [message.id for message in last.carried] == ["m1", "u2"]
    assert last_compaction(log([*FIRST, compaction(1, 2), EditReverted(edit_id="e1")])) is None


def test_a_summary_without_a_text_is_not_readable() -> None:
    assert not compaction_found(*FIRST, compaction(1, 2, "")).is_readable


def test_a_new_context_window_without_a_summary_is_readable_and_has_none() -> None:
    last = compaction_found(*FIRST, compaction(1, 2, NO_SUMMARY))
    assert (last.is_readable, last.has_summary) == (True, False)
    assert compaction_found(*FIRST, compaction(1, 2)).has_summary
