"""When a piece of work is at its end, whatever the agent says of it."""

import pytest

from support.conversations import Talk
from ullage.ledger.finished_work import finished_work, may_have_committed
from ullage.ledger.folding import fold

CWD = "/home/me/shop"


def started() -> Talk:
    return Talk().user("Round the prices.").edit("prices.py", "x", "y").shell("pytest -q", "9 passed in 0.1s")


def committed() -> Talk:
    return started().shell('git commit -am "fix: round"', "[main 4f1c2aa] fix: round")


def found(talk: Talk) -> str | None:
    work = finished_work(fold(talk.messages, CWD), talk.messages[-1] if talk.messages else None)
    return work.text if work else None


@pytest.mark.parametrize(
    "said", ["Done.", "Committed as 4f1c2aa.", "已提交。", "Ist eingecheckt.", "No response requested."]
)
def test_a_commit_of_all_changes_ends_a_piece_of_work_in_any_language(said: str) -> None:
    assert found(committed().agent(said)) == "fix: round"


@pytest.mark.parametrize(
    ("talk", "may"),
    [
        (committed().agent("Done."), True),
        # What an agent inserts in the middle of a turn does not end it.
        (committed().user("<system-reminder>The date is known.</system-reminder>").agent("Done."), True),
        (started().agent("Done."), False),
        (committed().agent("Done.").user("What does round do?").agent("It rounds half to even."), False),
        (Talk(), False),
    ],
)
def test_only_a_turn_that_names_git_may_have_committed(talk: Talk, may: bool) -> None:
    assert may_have_committed(reversed(talk.messages)) is may


def test_several_commits_in_a_turn_end_it_with_the_last() -> None:
    talk = committed().edit("test_prices.py", "x", "y").shell('git commit -am "test: it"', "[main 5f1c2aa] test: it")
    assert found(talk.agent("Both are committed.")) == "test: it"


@pytest.mark.parametrize(
    "talk",
    [
        Talk(),
        Talk().user("Round the prices."),
        # Nothing is committed, or not all.
        started().agent("Done."),
        committed().edit("readme.py", "x", "y").agent("Done."),
        # The turn runs.
        committed(),
        committed().user("Thanks, and now the taxes."),
        # It was committed in an earlier turn, and this one has changed nothing.
        committed().agent("Done.").user("What does round do?").agent("It rounds half to even."),
        # The agent asks.
        committed().agent("Committed. Shall I push it?"),
        committed().agent("已提交。要推送吗？"),
        committed().agent("**Soll ich es auch veröffentlichen?**"),
        # A long answer is one that is answered.
        committed().agent("Committed.\n\n" + "If you want, I can also do the taxes. " * 12),
        # A check failed after it.
        committed().shell("pytest -q", "1 failed, 8 passed in 0.1s", failed=True).agent("Committed."),
        # A task is open.
        Talk()
        .user("Round the prices, then the taxes.")
        .call("TodoWrite", {"todos": [{"content": "Taxes", "status": "pending"}]}, "ok")
        .edit("prices.py", "x", "y")
        .shell('git commit -am "fix: round"', "[main 4f1c2aa] fix: round")
        .agent("The first is committed."),
        # The commit was taken back.
        committed().shell("git reset --soft HEAD~1", "").agent("Done."),
    ],
)
def test_while_something_is_open_nothing_is_at_its_end(talk: Talk) -> None:
    assert found(talk) is None
