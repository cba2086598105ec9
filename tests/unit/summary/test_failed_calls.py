"""Calls of tools other than the shell that failed are errors while they have not worked."""

import pytest
from msgspec.structs import replace

from support.conversations import agent, bash, call, places, user
from support.counting import LengthCounter
from ullage.model.blocks import CompactionBlock
from ullage.model.message import Message
from ullage.summary.choosing.composition import compose
from ullage.summary.choosing.failed_calls import failed_calls
from ullage.summary.choosing.items import Item
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.summary.tuning import TUNING

URL = "https://docs.example.org/locks"
NOT_FETCHED = call("WebFetch", {"url": URL, "prompt": "locks"}, "HTTP 404\nNot found", is_error=True, call_id="f")


def digest(*messages: Message) -> Digest:
    return read_messages(messages, places(messages), Reader())


def failed(*messages: Message) -> list[Item]:
    return list(failed_calls(digest(*messages)))


def test_a_tool_that_failed_is_an_error_with_what_it_was_for_and_what_it_returned() -> None:
    (error,) = failed(user("Read the docs."), *NOT_FETCHED)
    assert error.text == f"`WebFetch` of {URL} failed: HTTP 404"
    assert (error.index, error.value) == (1, TUNING.error_value)


def test_a_file_that_is_not_there_is_no_error() -> None:
    said = "<tool_use_error>File does not exist.</tool_use_error>"
    assert failed(*call("Read", {"file_path": "/w/lock.py"}, said, is_error=True)) == []


def test_a_page_that_was_fetched_later_is_no_error() -> None:
    later = call("WebFetch", {"url": URL, "prompt": "how"}, "A lock is taken once.", call_id="again")
    assert failed(*NOT_FETCHED, *later) == []
    stays = read_messages(later, range(2, 4), Reader())
    assert list(failed_calls(replace(digest(*NOT_FETCHED), after=stays))) == []


def test_the_calls_of_servers_are_told_apart_by_their_first_text() -> None:
    first = call("mcp__db__query", {"limit": 3, "sql": "select 1"}, "Connection refused", is_error=True, call_id="1")
    second = call("mcp__db__query", {"limit": 3, "sql": "select 2"}, "Connection refused", is_error=True, call_id="2")
    third = call("mcp__db__query", {"limit": 3, "sql": "select 2"}, "Timeout", is_error=True, call_id="3")
    assert [error.text for error in failed(*first, *second, *third)] == [
        "`mcp__db__query` of select 2 failed 2 times since #3: Timeout",
        "`mcp__db__query` of select 1 failed: Connection refused",
    ]


def test_a_change_that_failed_is_an_error_until_the_file_is_changed() -> None:
    edit = call("Edit", {"file_path": "a.py", "old_string": "x"}, "String not found", is_error=True, call_id="e")
    look = call("Read", {"file_path": "a.py"}, "y = 1", call_id="l")
    assert [error.text for error in failed(*edit, *look)] == ["`Edit` of a.py failed: String not found"]
    assert failed(*edit, *look, *call("Edit", {"file_path": "a.py"}, "ok", call_id="e2")) == []


@pytest.mark.parametrize(
    "said",
    [
        "User chose to stay in plan mode and continue planning",
        "The user doesn't want to proceed with this tool use.",
        "[Request interrupted by user for tool use]",
        "Tool execution was cancelled by the user",
    ],
)
def test_what_the_user_did_not_let_run_is_no_error(said: str) -> None:
    assert failed(*call("ExitPlanMode", {"plan": "Build it."}, said, is_error=True)) == []


def test_commands_and_changes_that_failed_again_and_again_are_listed_elsewhere() -> None:
    edits = [call("Edit", {"file_path": "a.py"}, "not found", is_error=True, call_id=str(n)) for n in range(2)]
    assert failed(*bash("make", "error", is_error=True), *(part for edit in edits for part in edit)) == []


def test_an_error_of_an_earlier_summary_goes_when_the_call_has_worked() -> None:
    earlier = f"## Errors and fixes\n- #2 `WebFetch` of {URL} failed: HTTP 404\n- #4 `Skill` of commit failed: unknown"
    block = CompactionBlock(
        compaction_number=1, timestamp=0, summary=earlier, messages_archived=4, context_size_before=0
    )
    fetched = call("WebFetch", {"url": URL, "prompt": "locks"}, "A lock is taken once.", call_id="f")
    messages = (agent("The documents may be back."), *fetched)
    request = SummaryRequest(messages=messages, indices=places(messages, 4), previous=block, max_tokens=2000, kept=())
    summary = compose(request, LengthCounter()).summary
    assert "`Skill` of commit failed: unknown" in summary
    assert "HTTP 404" not in summary
