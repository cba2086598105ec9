from support.foreign import messages_of, read_lines
from support.session_log import attachment, line, say
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
