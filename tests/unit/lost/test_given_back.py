"""What was left out, what of it a hook has given back, and what is still missing: figures that add up."""

import pytest

from support.talk import Talk
from ullage.ledger.ledger_entry import Kind
from ullage.lost.left_out import (
    LastCompaction,
    LeftOut,
    left_out_words,
    lost_from,
    read_before,
    summary_message,
    write_brief,
)
from ullage.model.message import CompactionBlock, Message

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
