from msgspec.structs import replace

from support.foreign import ids_of, messages_of, read_lines, to_lines
from support.session_log import call, line, result, say
from ullage.agents.claude_code.reader import FORMAT
from ullage.agents.inserted import is_by_program
from ullage.agents.transcripts import read
from ullage.formats.parsing import parse_document
from ullage.service.sessions import title_of


def test_side_chains_in_the_main_file_are_other_conversations_that_can_be_chosen() -> None:
    lines = [
        line("user", "w1", None, "warm up", isSidechain=True),
        line("user", "u1", None, "question"),
        line("assistant", "a1", "u1", [call("t1")], id="a1"),
        line("user", "x1", None, "look around", isSidechain=True),
        line("assistant", "x2", "x1", [say("found")], id="x2", isSidechain=True),
        line("user", "r1", "a1", [result("t1")]),
    ]
    main = read_lines(*lines)
    assert ids_of(messages_of(main)) == ["u1", "a1", "r1"]
    assert [skipped.reason for skipped in main.skipped] == [
        "another conversation: warm up (run 2, 1 message lines)",
        "another conversation: look around (run 3, 2 message lines)",
    ]
    side = read(to_lines(*lines), "test.jsonl", run=3)
    assert ids_of(messages_of(side)) == ["x1", "x2"]
    assert side.parent == "s"


def test_sub_agents_files_next_to_the_log_are_listed_and_can_be_chosen() -> None:
    own = {"isSidechain": True, "agentId": "a1b2"}
    companion = parse_document(
        to_lines(line("user", "x1", None, "look", **own), line("user", "x2", "x1", "more", **own)), "s/agent-a1b2.jsonl"
    )
    document = replace(
        parse_document(to_lines(line("user", "u1", None, "question"), line("user", "u2", "u1", "next")), "test.jsonl"),
        companions=(companion,),
    )
    main = FORMAT.read(document)
    assert ids_of(messages_of(main)) == ["u1", "u2"]
    (skipped,) = main.skipped
    assert "look (run 2, 2 message lines, s/agent-a1b2.jsonl)" in skipped.reason
    assert ids_of(messages_of(FORMAT.read(replace(document, run=2)))) == ["x1", "x2"]


def test_what_the_program_wrote_in_the_users_place_is_not_taken_for_the_users() -> None:
    transcript = read_lines(
        line("user", "u1", None, "Tidy the parts."),
        line(
            "user", "k1", "u1", "Base directory for this skill: /home/me/skills/tidy. Never leave a part.", isMeta=True
        ),
        line("user", "u2", "k1", "Go on.", isMeta=False),
    )
    assert [is_by_program(message) for message in messages_of(transcript)] == [False, True, False]


def test_a_conversation_is_named_by_what_was_typed_not_by_a_command_alone_or_its_skill() -> None:
    command = "<command-message>tidy</command-message>\n<command-name>/tidy</command-name>"
    skill = line("user", "k1", "u1", "Follow the skill to the letter.", isMeta=True)
    begun = (line("user", "u1", None, command), skill)
    assert title_of(read_lines(*begun).events) == "/tidy"
    assert title_of(read_lines(*begun, line("user", "u2", "k1", "The cellar, please")).events) == "The cellar, please"
