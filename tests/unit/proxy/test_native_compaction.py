"""What an agent's updates say about its own compaction."""

from typing import Any

from ullage.model.events import EditTrigger
from ullage.proxy.compactions import NativeCompaction, watched

BEGUN: dict[str, Any] = {"sessionUpdate": "compaction_update", "status": "in_progress"}


def test_an_update_of_another_kind_begins_none() -> None:
    assert watched(None, {"sessionUpdate": "agent_message_chunk", "content": {"text": "x"}}, 900) is None


def test_an_unrequested_compaction_begins_with_its_first_update() -> None:
    assert watched(None, BEGUN, 900) == NativeCompaction(used_before=900)


def test_the_summary_comes_whole_or_in_chunks() -> None:
    whole = watched(None, {**BEGUN, "summary": [{"type": "text", "text": "A cask."}]}, 900)
    chunk = {"sessionUpdate": "compaction_summary_chunk", "content": {"type": "text", "text": "A "}}
    parts = watched(watched(None, chunk, 900), {**chunk, "content": {"type": "text", "text": "cask."}}, 0)
    assert whole == parts == NativeCompaction(used_before=900, summary="A cask.")


def test_it_stays_completed_and_keeps_who_asked_for_it() -> None:
    asked = NativeCompaction(used_before=900, trigger=EditTrigger.MANUAL, asked=True, copy="c")
    done = watched(asked, {**BEGUN, "status": "completed"}, 100)
    again = watched(done, BEGUN, 100)
    assert again == NativeCompaction(used_before=900, trigger=EditTrigger.MANUAL, asked=True, copy="c", completed=True)
