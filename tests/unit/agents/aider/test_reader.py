from msgspec.structs import replace

from support.foreign import messages_of, reports_of, texts_of
from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from ullage.agents.aider import FORMAT
from ullage.agents.transcripts import read, read_document
from ullage.formats.parsing import parse_document
from ullage.transcript.fold import project

PATH = "/home/ann/barrels/.aider.chat.history.md"
FIRST = """
# aider chat started at 2026-09-21 10:00:00

> Aider v0.86.2
> Main model: m1 with diff edit format
#### /add a.md
> Added a.md to the chat.

#### count the barrels  \n#### all of them

Two:

    def two():

{"count": 2}

> Tokens: 1.2k sent, 300 cache hit, 45 received.

#### /ask and the casks?

Three.

> Tokens: 594 sent, 10 received.
"""
SECOND = """
# aider chat started at 2026-09-22 11:00:00

> Model: m2 with whole edit format
#### hello

Hi.
"""


def test_the_newest_chat_is_read_and_the_others_are_named() -> None:
    data = (FIRST + SECOND).encode()
    transcript = read(data, PATH)
    assert texts_of(messages_of(transcript)) == ["user: hello", "assistant: Hi."]
    assert (transcript.agent, transcript.model, transcript.cwd) == ("aider", "m2", "/home/ann/barrels")
    assert [s.reason for s in transcript.skipped if "another" in s.reason] == [
        "another conversation: aider chat started at 2026-09-21 10:00:00"
    ]
    assert read(data, PATH, run=1).version == "0.86.2"


def test_a_chat_has_prompts_answers_and_the_counts_of_its_notices() -> None:
    transcript = read(FIRST.encode(), PATH)
    assert texts_of(messages_of(transcript)) == [
        "user: count the barrels\nall of them",
        'assistant: Two:\n\n    def two():\n\n{"count": 2}',
        "user: and the casks?",
        "assistant: Three.",
    ]
    assert [(r.usage.prompt, r.usage.cache_read_input_tokens, r.usage.total) for r in reports_of(transcript)] == [
        (1_200, 300, 1_245),
        (594, 0, 604),
    ]
    assert (transcript.title, transcript.session_id) == ("count the barrels", "2026-09-21 10:00:00")
    assert messages_of(transcript)[0].timestamp == 1789984800000
    assert "command /add" in [skipped.reason for skipped in transcript.skipped]
    assert all(skipped.expected for skipped in transcript.skipped)


def test_clearing_the_chat_empties_the_context_and_keeps_what_was_said() -> None:
    transcript = read((FIRST + "#### /clear\n> All chat history cleared.\n#### anew\n").encode(), PATH)
    assert [message.text for message in project(transcript.events)] == ["anew"]
    assert len(messages_of(transcript)) == 5


def test_a_chat_reads_alike_in_every_two_pieces() -> None:
    document = parse_document(FIRST.encode(), PATH)
    expect_every_split_to_read_alike(FORMAT, document)
    expect_a_growing_log_to_only_add_records(FORMAT, replace(document, lines=document.lines))
    assert read_document(document).format == "aider"
