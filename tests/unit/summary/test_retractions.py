"""What the agent retracts at once is no finding, and a summary says what it retracted later."""

import pytest
from msgspec.structs import replace

from support.conversations import agent, places, user
from support.counting import LengthCounter
from ullage.model.blocks import ThinkingBlock
from ullage.model.message import Message
from ullage.summary.choosing.composition import compose
from ullage.summary.choosing.findings import findings_of
from ullage.summary.choosing.items import Item
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.summary.tuning import TUNING

CLAIM = "`Worktree.add` keeps a stale cache, so that no commit is made."


def findings(*messages: Message) -> list[Item]:
    return list(findings_of(read_messages(messages, places(messages), Reader())))


@pytest.mark.parametrize(
    "said",
    [
        "I was wrong.",
        "My first analysis was wrong: each run reads the index again.",
        "The issue is likely not a bug of the cache.",
        "The cache wasn't the cause of the missing commits.",
        "The actual problem was the branch that the hook skips.",
        "The cache was a red herring, since the hook skips the branch.",
    ],
)
def test_a_sentence_that_retracts_a_finding_comes_before_all_findings(said: str) -> None:
    (retraction, *_) = [item for item in findings(agent(CLAIM), agent(f"You're right. {said}")) if item.index == 1]
    assert retraction.text == said
    assert retraction.value == TUNING.error_value


@pytest.mark.parametrize(
    "said", ["The call fails if the name is wrong in `a.py`.", "The check is wrong for empty lists."]
)
def test_a_finding_about_the_code_retracts_nothing(said: str) -> None:
    assert all(item.value < TUNING.error_value for item in findings(agent(CLAIM), agent(f"A `guard` is set. {said}")))


def test_of_a_message_only_the_last_sentence_that_retracts_something_is_worth_more() -> None:
    said = agent("The cache was a red herring for us all.\n\nThe actual cause was the branch `main`.")
    last, first = findings(agent(CLAIM), said)[:2]
    assert (first.value, last.value) == (TUNING.said_value, TUNING.error_value)


def test_a_summary_that_has_little_room_says_that_a_finding_was_wrong() -> None:
    talk = [
        agent(f"The function `load_part_{number}` fails because `part_{number}` is missing.") for number in range(40)
    ]
    messages = (user("Find the bug."), agent(CLAIM), agent("I was wrong. No cache outlives a run."), *talk)
    request = SummaryRequest(messages=messages, indices=places(messages), max_tokens=1200)
    assert "I was wrong. No cache outlives a run." in compose(request, LengthCounter()).summary


@pytest.mark.parametrize(
    "stop",
    ["Wait, that's not right.", "Actually wait, that's not quite right either.", "Hmm, no, that doesn't add up."],
)
def test_what_the_next_sentence_retracts_is_no_finding(stop: str) -> None:
    text = f"The hook reads `index.bin` first.\nThe user must have removed `main.py`.\n\n{stop} The hook stages it."
    message = replace(agent("."), content=(ThinkingBlock(thinking=text, signature="s"),))
    told = " ".join(item.text for item in findings(message))
    assert "index.bin" in told
    assert "main.py" not in told


def test_of_several_sentences_only_the_last_is_retracted() -> None:
    said = "The hook reads `index.bin` first. The user must have removed `main.py`.\n\nWait, that's not right."
    message = replace(agent("."), content=(ThinkingBlock(thinking=said, signature="s"),))
    assert [item.text for item in findings(message)] == ["The hook reads `index.bin` first."]


def test_a_sentence_that_a_doubt_about_the_code_follows_stays() -> None:
    said = "The hook reads `index.bin` first. But this does not work, while it logically should."
    assert "index.bin" in findings(agent(said))[0].text


def test_a_guess_is_worth_no_more_than_its_names() -> None:
    guess, fact = findings(
        agent("The `cache_size` must be fixed, because it grows."),
        agent("The `lock_dir` might be missing, because nothing sets it."),
    )
    assert guess.value == TUNING.shown_value
    assert fact.value == TUNING.said_value


@pytest.mark.parametrize(
    "said",
    [
        "The `hoop_width` alias is unused because I haven't added the code that uses it yet.",
        "The module `barrel_parts` doesn't exist yet, as expected.",
        "The compilation of `barrel_parts` is still failing because of stale files.",
        "Commands such as `rule_check` exist but aren't exposed in `opk` yet.",
    ],
)
def test_how_far_the_work_was_at_that_moment_is_no_finding(said: str) -> None:
    assert findings(agent(said)) == []


def test_what_others_have_not_done_yet_is_a_finding() -> None:
    said = "`SESSION_ID` isn't exposed as a variable yet, so that a hook must set it."
    assert [item.text for item in findings(agent(said))] == [said]
