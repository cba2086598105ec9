"""Sub-agents and commands in the background: what was begun, and how it ended."""

from support.conversations import bash, call, places, user
from ullage.agents.calls import Begun, BegunKind, begun_in, end_asked, ends_noted, tool_calls
from ullage.model.message import Message

LAUNCHED = "Async agent launched successfully.\nagentId: a1b2c3 (internal ID)"
SERVER = {"command": "npm run dev", "run_in_background": True}


def begun(*messages: Message) -> list[Begun]:
    calls = tool_calls(messages, places(messages))
    noted = (end for index, message in enumerate(messages) for end in ends_noted(message.text, index))
    return begun_in(calls, dict([*filter(None, map(end_asked, calls)), *noted]))


def server() -> tuple[Message, ...]:
    return call("Bash", SERVER, "Command running in background with ID: b9f8. Output is written to x", call_id="s")


def test_a_sub_agent_that_answers_has_ended() -> None:
    (one,) = begun(*call("Task", {"description": "Review it", "prompt": "..."}, "It is sound.", call_id="a"))
    assert (one.kind, one.what, one.status, one.result) == (
        BegunKind.SUB_AGENT,
        "Review it",
        "completed",
        "It is sound.",
    )


def test_a_sub_agent_in_the_background_runs_until_it_was_asked_for_its_answer() -> None:
    launched = call("Task", {"description": "Review it"}, LAUNCHED, call_id="a")
    assert begun(*launched)[0].ended == -1
    asked = call("TaskOutput", {"task_id": "a1b2c3"}, "<status>completed</status>\n<output>Fine.</output>", call_id="b")
    (one,) = begun(*launched, *asked)
    assert (one.ended, one.status, one.result) == (3, "completed", "Fine.")


def test_a_note_in_a_later_message_ends_it_as_well() -> None:
    note = "<task-notification>\n<task-id>a1b2c3</task-id>\n<status>failed</status>\n</task-notification>"
    (one,) = begun(*call("Task", {"description": "Review it"}, LAUNCHED, call_id="a"), user(note))
    assert (one.ended, one.status) == (2, "failed")


def test_asking_for_what_still_runs_ends_nothing() -> None:
    asked = call("BashOutput", {"bash_id": "b9f8"}, "<status>running</status>", call_id="o")
    assert [one.ended for one in begun(*server(), *asked)] == [-1]


def test_a_command_in_the_background_ends_when_it_is_killed() -> None:
    (one,) = begun(*server(), *call("KillShell", {"shell_id": "b9f8"}, "killed", call_id="k"))
    assert (one.kind, one.status) == (BegunKind.COMMAND, "killed")


def test_a_common_command_begins_nothing() -> None:
    assert begun(*bash("npm test", "ok")) == []
