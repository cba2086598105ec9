"""What two sections of a summary could say is in one of them."""

from support.conversations import agent, bash, places, user
from support.counting import LengthCounter
from ullage.model.message import Message
from ullage.summary.choosing.composition import compose
from ullage.summary.summary_request import SummaryRequest

BROKEN = bash("make docs", "Error: no such page", is_error=True, call_id="m")
FAILED = "`make docs` failed: Error: no such page"


def summary_of(*messages: Message) -> str:
    request = SummaryRequest(messages=messages, indices=places(messages), max_tokens=1500)
    return compose(request, LengthCounter()).summary


def test_a_failure_that_the_state_of_work_says_is_no_error_besides() -> None:
    summary = summary_of(user("Build the docs."), *BROKEN, agent("It may need the index first."))
    assert f"## State of work\n- #2 Last run of {FAILED}" in summary
    assert summary.count(FAILED) == 1


def test_an_error_whose_cause_is_known_is_one_all_the_same() -> None:
    summary = summary_of(user("Build the docs."), *BROKEN, agent("The build fails because the index is missing."))
    assert f"## Errors and fixes\n- #2 {FAILED}; cause: The build fails because the index is missing" in summary
