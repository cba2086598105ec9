"""A summary that an agent writes for a handover is judged before it replaces the conversation."""

import pytest

from support.build import assistant, user, words
from ullage import get_counter
from ullage.model.errors import AnswerBroken
from ullage.proxy.compactions import check_summary, own_words

COUNTER = get_counter("gpt-4o").engine
FILES = ["src/app.py", "src/http/client.py", "tests/test_app.py", "docs/setup.md", "pyproject.toml", "MAX_RETRIES"]
TALK = [
    message
    for at, file in enumerate(FILES)
    for message in (user(f"u{at}", f"Look at {file}. {words(300)}"), assistant(f"a{at}", f"{file} is fine."))
]
GOOD = "The user has the project reviewed, file by file. src/app.py and docs/setup.md are fine. " + words(80)


def test_a_summary_of_the_conversation_is_taken() -> None:
    check_summary(GOOD, TALK, COUNTER)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the summary has 0 tokens"),
        ("I looked at src/app.py and fixed line 16183.", "at least"),
        ("Done.", "at least"),
        (f"I cannot do that. {words(200)}", "names no path"),
        (f"src/app.py {words(9_000)}", "8,192 are allowed"),
    ],
)
def test_what_cannot_be_a_summary_is_refused(text: str, reason: str) -> None:
    with pytest.raises(AnswerBroken, match=reason):
        check_summary(text, TALK, COUNTER)


def test_a_short_conversation_may_have_a_short_summary() -> None:
    check_summary("They said hello.", [user("u", "Hello"), assistant("a", "Hello!")], COUNTER)


def test_the_users_messages_stay_verbatim_the_first_and_the_newest_ones() -> None:
    kept = own_words(TALK, GOOD, 1_000, COUNTER)
    assert [next(file for file in FILES if file in text) for text in kept] == [FILES[0], FILES[4], FILES[5]]
    assert kept[0] == TALK[0].text
    assert own_words(TALK, "\n".join(message.text for message in TALK), 1_000, COUNTER) == []
