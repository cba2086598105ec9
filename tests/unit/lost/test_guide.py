"""What a summary that an agent is about to write must keep."""

from support.talk import Talk
from ullage.ledger.folding import fold
from ullage.lost.left_out import write_guide

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
