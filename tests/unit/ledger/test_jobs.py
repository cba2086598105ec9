"""Sub-agents and commands in the background: what was begun, and how it ended."""

from support.conversations import bash, call, user
from ullage.ledger.folding import fold
from ullage.ledger.ledger_entry import Entry, Life
from ullage.model.message import Message

LAUNCHED = "Async agent launched successfully.\nagentId: a1b2c3 (internal ID)"
SERVER = {"command": "npm run dev", "run_in_background": True}


def jobs(*messages: Message) -> tuple[Entry, ...]:
    return fold(messages).jobs


def server() -> tuple[Message, ...]:
    return call("Bash", SERVER, "Command running in background with ID: b9f8. Output is written to x", call_id="s")


def test_a_sub_agent_that_answers_has_ended() -> None:
    (one,) = jobs(*call("Task", {"description": "Review it", "prompt": "..."}, "It is sound.", call_id="a"))
    assert (one.life, one.text, one.beside) == (Life.ENDED, "Review it", "It is sound.")


def test_a_sub_agent_that_was_not_answered_yet_runs_without_an_id() -> None:
    asked, _ = call("Task", {"description": "Review it"}, "", call_id="a")
    (one,) = jobs(asked)
    assert (one.life, one.name, one.beside) == (Life.RUNNING, "", "sub-agent")


def test_a_sub_agent_in_the_background_runs_until_it_was_asked_for_its_answer() -> None:
    launched = call("Task", {"description": "Review it"}, LAUNCHED, call_id="a")
    (one,) = jobs(*launched)
    assert (one.life, one.name, one.beside) == (Life.RUNNING, "a1b2c3", "sub-agent")
    asked = call("TaskOutput", {"task_id": "a1b2c3"}, "<status>completed</status>\n<output>Fine.</output>", call_id="b")
    (one,) = jobs(*launched, *asked)
    assert (one.life, one.index, one.beside) == (Life.ENDED, 3, "Fine.")


def test_a_note_in_a_later_message_ends_it_as_well() -> None:
    note = "<task-notification>\n<task-id>a1b2c3</task-id>\n<status>failed</status>\n</task-notification>"
    (one,) = jobs(*call("Task", {"description": "Review it"}, LAUNCHED, call_id="a"), user(note))
    assert (one.life, one.index) == (Life.ENDED, 2)


def test_asking_for_what_still_runs_ends_nothing() -> None:
    asked = call("BashOutput", {"bash_id": "b9f8"}, "<status>running</status>", call_id="o")
    assert [one.life for one in jobs(*server(), *asked)] == [Life.RUNNING]


def test_a_command_in_the_background_ends_when_it_is_killed() -> None:
    (one,) = jobs(*server(), *call("KillShell", {"shell_id": "b9f8"}, "killed", call_id="k"))
    assert (one.life, one.text, one.beside) == (Life.ENDED, "npm run dev", "")


def test_a_command_that_could_not_be_killed_still_runs() -> None:
    (one,) = jobs(*server(), *call("KillShell", {"shell_id": "b9f8"}, "Permission denied", is_error=True, call_id="k"))
    assert one.life is Life.RUNNING


def test_another_command_ends_another_job() -> None:
    (one,) = jobs(*server(), *call("KillShell", {}, "killed", call_id="k"))
    assert one.life is Life.RUNNING


def test_a_command_that_failed_in_the_background_is_a_problem_and_one_that_was_killed_is_none() -> None:
    tests = call(
        "Bash",
        {"command": "npm test", "run_in_background": True},
        "Command running in background with ID: b1.",
        call_id="t",
    )
    failed = call("BashOutput", {"bash_id": "b1"}, "<status>failed</status>\n<output>1 failing</output>", call_id="o")
    killed = call("KillShell", {"shell_id": "b1"}, "killed", call_id="k")
    assert [one.text for one in fold([*tests, *failed]).problems] == ["`npm test` failed: 1 failing"]
    assert fold([*tests, *killed]).problems == ()


def test_a_common_command_begins_nothing() -> None:
    assert jobs(*bash("npm test", "ok")) == ()
