"""The worth of keeping an old message verbatim."""

import pytest

from support.conversations import agent, bash, call, user
from ullage.model.message import Message
from ullage.summary.reader import Judge, Reader, go_on

MESSAGES = (
    user("Port the spool to Rust."),
    *call("Read", {"file_path": "src/spool.py"}, "def drain_spool(queue_path): ...", call_id="a"),
    *call("Read", {"file_path": "src/other.py"}, "def unrelated_helper(value): ...", call_id="b"),
    user("Keep `drain_spool` as it is."),
    agent("I will call `drain_spool` with `queue_path` from src/spool.py."),
)
TAIL = range(6, 7)


def judge(messages: tuple[Message, ...], tail: range) -> Judge:
    return Judge(Reader(), go_on, messages, tail)


def test_only_the_users_words_are_worth_keeping() -> None:
    assert judge(MESSAGES, TAIL).worth(range(5, 6)) == 1
    assert judge(MESSAGES, TAIL).worth(range(1, 3)) == judge(MESSAGES, TAIL).worth(range(6, 7)) == 0


def test_what_a_program_put_into_the_users_mouth_is_worth_nothing() -> None:
    inserted = (user("<local-command-stdout>ok</local-command-stdout>"), *bash("ls", "x"))
    assert judge(inserted, range(1, 3)).worth(range(1)) == 0


def test_what_holds_a_secret_may_not_stay() -> None:
    messages = (user("Deploy with password = 'Qz8kmqIEak47x'."), user("Deploy."), agent("Done."))
    assert not judge(messages, range(2, 3)).may_stay(range(2))
    assert judge(messages, range(2, 3)).may_stay(range(1, 2))


def test_output_that_comes_as_a_users_message_is_no_prompt() -> None:
    fenced = (agent("```bash\nls\n```"), user("<returncode>0</returncode>\n<output>\na\n</output>"), agent("Done."))
    assert judge(fenced, range(2, 3)).worth(range(1, 2)) == 0


def test_a_check_ends_the_judging_of_whatever_is_judged_next() -> None:
    def give_up() -> None:
        raise InterruptedError

    judge = Judge(Reader(), give_up, MESSAGES, TAIL)
    for ask in (judge.worth, judge.may_stay):
        with pytest.raises(InterruptedError):
            ask(range(1))


def test_half_a_surrogate_pair_in_a_tool_call_is_read_like_any_text() -> None:
    messages = (user("Go."), *call("Read", {"file_path": "src/\ud800.py"}, "drain_spool", call_id="a"), agent("Done."))
    assert judge(messages, range(3, 4)).may_stay(range(1, 3))
