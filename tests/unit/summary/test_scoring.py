"""What an old message is worth verbatim."""

from support.conversations import agent, bash, call, user
from ullage.summary.scoring import worth

MESSAGES = (
    user("Port the spool to Rust."),
    *call("Read", {"file_path": "src/spool.py"}, "def drain_spool(queue_path): ...", call_id="a"),
    *call("Read", {"file_path": "src/other.py"}, "def unrelated_helper(value): ...", call_id="b"),
    user("Keep `drain_spool` as it is."),
    agent("I will call `drain_spool` with `queue_path` from src/spool.py."),
)
TAIL = range(6, 7)


def test_a_persons_words_are_worth_more_than_any_result() -> None:
    assert worth(MESSAGES, range(5, 6), TAIL) > worth(MESSAGES, range(1, 3), TAIL)


def test_a_result_that_the_tail_refers_to_is_worth_more_than_one_it_does_not() -> None:
    assert worth(MESSAGES, range(1, 3), TAIL) > worth(MESSAGES, range(3, 5), TAIL) == 0


def test_what_a_program_put_into_the_users_mouth_is_worth_nothing() -> None:
    inserted = (user("<local-command-stdout>ok</local-command-stdout>"), *bash("ls", "x"))
    assert worth(inserted, range(1), range(1, 3)) == 0


def test_what_holds_a_secret_is_worth_nothing() -> None:
    messages = (user("Deploy with password = 'Qz8kmqIEak47x'."), agent("Done."))
    assert worth(messages, range(1), range(1, 2)) == 0


def test_output_that_comes_as_a_users_message_is_no_prompt() -> None:
    fenced = (agent("```bash\nls\n```"), user("<returncode>0</returncode>\n<output>\na\n</output>"), agent("Done."))
    assert worth(fenced, range(1, 2), range(2, 3)) == 0
