"""What a compaction left out, and what its summary says otherwise, whether the summary is handed over or in the log."""

from support.talk import Talk
from ullage.lost.left_out import detail_of, lost_from, read_before, summary_message

TALK = Talk().call("TodoWrite", {"todos": [{"content": "Add the CSV export", "status": "pending"}]})
TALK.agent("The line that follows is mine and no summary.\n\n- Add the CSV export: done")


def test_a_summary_that_is_handed_over_is_contradicted_as_well() -> None:
    (task,) = lost_from(read_before(TALK.messages), [summary_message("- Add the CSV export: done"), *TALK.messages[2:]])
    assert detail_of(task) == "the summary says: - Add the CSV export: done"


def test_a_kept_message_is_no_summary_and_contradicts_nothing() -> None:
    (task,) = lost_from(read_before(TALK.messages), [summary_message("Go on."), *TALK.messages[2:]])
    assert task.against == ""
