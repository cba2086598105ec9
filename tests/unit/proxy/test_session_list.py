"""The agent's list of sessions, as the client gets it."""

from typing import Any

from ullage.proxy.serve import rewritten
from ullage.service.ports.store import AttachedSession

# A conversation that was handed over twice and went back once.
CASK = AttachedSession(session_id="s", title="The cask", agent_ids=("f1", "f2", "s", "now"))


def entry(session_id: str, title: str = "", hour: int = 1) -> dict[str, Any]:
    return {"sessionId": session_id, "cwd": "/work", "title": title, "updatedAt": f"2026-11-23T0{hour}:00:00Z"}


def test_a_conversation_is_listed_once_with_its_own_title_and_the_time_of_its_last_change() -> None:
    page = [
        entry("now", "What follows is a record", 9),
        entry("other", "Else", 8),
        entry("f2", "A record", 7),
        entry("s", "Where is the cask?", 6),
    ]
    assert rewritten(page, [CASK], set()) == [entry("s", "Where is the cask?", 9), entry("other", "Else", 8)]


def test_a_conversation_of_which_the_agent_lists_only_the_session_in_use_gets_the_recorded_title() -> None:
    assert rewritten([entry("now", "What follows is a record", 9)], [CASK], set()) == [entry("s", "The cask", 9)]


def test_a_session_that_the_conversation_has_left_and_a_copy_are_not_listed() -> None:
    assert rewritten([entry("f1"), entry("f2")], [CASK], set()) == []


def test_a_later_page_does_not_list_a_conversation_again() -> None:
    listed: set[str] = set()
    first = rewritten([entry("now", "A record")], [CASK], listed)
    assert [one["sessionId"] for one in first] == ["s"]
    assert rewritten([entry("s", "Where is the cask?"), entry("other")], [CASK], listed) == [entry("other")]


def test_the_list_of_an_agent_without_compactions_is_not_changed() -> None:
    page = [entry("a"), {"sessionId": "b", "cwd": "/work"}, {"odd": 1}]
    assert rewritten(page, [], set()) == page
