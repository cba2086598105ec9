import pytest

from support.foreign import messages_of, read_lines, to_lines
from support.samples import sample_of
from support.session_log import line
from ullage.agents.inserted import is_by_program, is_typed
from ullage.agents.transcripts import detect
from ullage.model.errors import UnreadableTranscript
from ullage.service.sessions import title_of


def test_a_log_without_messages_is_unreadable() -> None:
    with pytest.raises(UnreadableTranscript, match=r"test\.jsonl: looks like claude-code"):
        read_lines({"type": "summary", "summary": "t"}, "{", format_name="claude-code")


def test_a_log_of_another_agent_with_the_same_tree_is_not_taken() -> None:
    value = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "hi"}]}}
    assert detect(to_lines(value, value)) != "claude-code"


def test_what_the_program_wrote_in_the_users_place_is_not_taken_for_the_users() -> None:
    skill = "Base directory for this skill: /home/me/skills/tidy. Never leave a part."
    transcript = read_lines(
        line("user", "u1", None, "Tidy the parts."),
        line("user", "k1", "u1", skill, isMeta=True),
        line("user", "u2", "k1", "Go on.", isMeta=False),
    )
    assert [is_by_program(message) for message in messages_of(transcript)] == [False, True, False]


def test_hidden_text_that_the_model_was_given_is_not_typed() -> None:
    sample = sample_of("claude_code", "hidden text that the model was given is a reminder after the prompt")
    user, *hidden, _ = messages_of(read_lines(*sample.written))
    assert is_typed(user.text)
    assert [is_typed(message.text) for message in hidden] == [False, False, False]


def test_a_conversation_is_named_by_what_was_typed_not_by_a_command_alone_or_its_skill() -> None:
    command = "<command-message>tidy</command-message>\n<command-name>/tidy</command-name>"
    skill = line("user", "k1", "u1", "Follow the skill to the letter.", isMeta=True)
    begun = (line("user", "u1", None, command), skill)
    assert title_of(read_lines(*begun).events) == "/tidy"
    assert title_of(read_lines(*begun, line("user", "u2", "k1", "The cellar, please")).events) == "The cellar, please"
