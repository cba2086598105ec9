from typing import Any

from support.foreign import ids_of, messages_of, read_lines
from support.session_log import attachment, call, line, result, say
from ullage.agents.inserted import is_typed


def test_hidden_text_that_the_model_was_given_is_a_reminder_after_the_prompt() -> None:
    transcript = read_lines(
        attachment("h0", None, "hook_additional_context", hookName="SessionStart", content=["Be brief."]),
        line("user", "u1", "h0", "question"),
        attachment("h1", "u1", "skill_listing", content="- a skill"),
        attachment("h2", "h1", "file", filename="a.txt", content={"type": "text", "file": {"content": "one"}}),
        attachment("h3", "h2", "plan_mode"),
        line("assistant", "a1", "h3", [say("answer")]),
    )
    user, hook, skills, file, answer = messages_of(transcript)
    assert (user.text, answer.text) == ("question", "answer")
    assert hook.text == "<system-reminder>\nSessionStart hook additional context: Be brief.\n</system-reminder>"
    assert "- a skill" in skills.text
    assert "Result of calling the Read tool:\none" in file.text
    assert not any(is_typed(message.text) for message in (hook, skills, file))
    assert [(skipped.reason, skipped.expected) for skipped in transcript.skipped] == [
        ("attachment line (plan_mode)", True)
    ]


def test_an_attachment_of_an_unknown_kind_is_told_unless_it_has_a_text() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        attachment("h1", "u1", "weather", text="It rains."),
        attachment("h2", "h1", "tide", height=3),
        line("user", "u2", "h2", "next"),
    )
    assert "It rains." in messages_of(transcript)[1].text
    assert [(skipped.reason, skipped.expected) for skipped in transcript.skipped] == [("attachment line (tide)", False)]


def test_facts_about_the_session_are_known_and_no_message() -> None:
    kinds: dict[str, dict[str, Any]] = {
        "environment": {"snapshot": {"platform": "linux"}},
        "date": {"date": "2026-11-23"},
        "remote_session_change": {"commit": "Signed"},
        "session_context": {"context": {}},
        "prompt_snapshot": {"systemPrompt": ["You are an agent."]},
        "deferred_tools_record": {"entries": [{"name": "search"}]},
    }
    lines, last = [line("user", "u1", None, "question")], "u1"
    for kind, facts in kinds.items():
        lines.append(attachment(f"h-{kind}", last, kind, **facts))
        last = f"h-{kind}"
    transcript = read_lines(*lines, line("assistant", "a1", last, [say("answer")]))
    assert [message.text for message in messages_of(transcript)] == ["question", "answer"]
    assert [(skipped.reason, skipped.expected) for skipped in transcript.skipped] == [
        (f"attachment line ({kind})", True) for kind in kinds
    ]


def test_what_the_editor_attaches_is_read() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        attachment("h1", "u1", "selected_lines_in_ide", filename="a.py", lineStart=3, lineEnd=4, content="x = 1"),
        attachment("h2", "h1", "opened_file_in_ide", filename="b.py"),
        attachment("h3", "h2", "already_read_file", filename="c.py", content={"file": {"content": "again"}}),
        attachment("h4", "h3", "todo", content=[{"content": "count"}]),
    )
    selected, opened, file, tasks = (message.text for message in messages_of(transcript)[1:])
    assert "a.py, lines 3 to 4:\nx = 1" in selected
    assert "b.py" in opened
    assert "again" in file
    assert "count" in tasks


def queued(operation: str, text: str = "", at: str = "2026-01-02T03:04:06Z") -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "timestamp": at} | ({"content": text} if text else {})


def test_a_prompt_that_was_queued_and_given_to_the_running_turn_is_read() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [call("t1")], id="a1"),
        queued("enqueue", "<task-notification>done</task-notification>"),
        queued("enqueue", "and be quick"),
        queued("remove"),
        line("user", "r1", "a1", [result("t1")]),
        line("assistant", "a2", "r1", [say("answer")], id="a2"),
    )
    assert ids_of(messages_of(transcript)) == ["u1", "a1", "r1", "queued-2026-01-02T03:04:06Z", "a2"]
    assert messages_of(transcript)[3].text == "and be quick"


def test_a_queued_prompt_that_has_a_line_of_its_own_is_read_once() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        queued("enqueue", "second"),
        queued("dequeue"),
        line("user", "u2", "u1", "second"),
        queued("enqueue", "third"),
        attachment("q3", "u2", "queued_command", prompt="third"),
        queued("remove"),
        queued("enqueue", "fourth"),
        queued("remove"),
        attachment("q4", "q3", "queued_command", prompt="fourth"),
        queued("enqueue", "never sent"),
        queued("popAll", "never sent"),
        queued("remove"),
    )
    assert [message.text for message in messages_of(transcript)] == ["question", "second", "third", "fourth"]


def test_lines_and_attachments_that_the_program_writes_for_itself_are_no_gap() -> None:
    transcript = read_lines(
        line("user", "u1", None, "question"),
        attachment("h1", "u1", "thinking_drop", blocks=2),
        {"type": "content-replacement", "sessionId": "s", "replacements": [{"id": "t1"}]},
        {"type": "fork-context-ref", "sessionId": "s"},
        line("assistant", "a1", "h1", [say("answer")]),
    )
    assert len(transcript.skipped) == 3
    assert all(skipped.expected for skipped in transcript.skipped)
