"""Reading a session log that is a tree of lines: nothing that was said is lost, the context is the branch of the last
line, and a log read while it grows gives the same events as the whole log."""

from collections import Counter

from hypothesis import assume, example, given
from hypothesis import strategies as st

from support.foreign import messages_of, reports_of, view_of
from support.growing_files import expect_pieces_to_equal_the_whole, records_of
from support.log_trees import SESSIONS, make_log, to_bytes
from ullage.agents.claude_code.reader import FORMAT, Reader
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder
from ullage.model.message import Message, Role, ToolResultBlock

Session = list[tuple[str, int, int]]


def name_of(message: Message) -> str:
    """Returns the name that a made-up log gives to a message: its id, or for results the id of their answer and r."""
    results = [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]
    return f"{results[0].rpartition('-')[0]}r" if results else message.id


def read(data: bytes) -> ImportedTranscript:
    return FORMAT.read(parse_document(data, "log"))


@given(SESSIONS)
def test_nothing_that_was_said_is_lost_or_read_twice(session: Session) -> None:
    log = make_log(session)
    assume(log.said)
    transcript = read(to_bytes(log.lines))
    assert Counter(map(name_of, messages_of(transcript))) == Counter(log.said)
    assert {skipped.reason for skipped in transcript.skipped if not skipped.expected} == set()
    assert {report.message_id: report.usage.total for report in reports_of(transcript)} == log.usages


# The user goes back over a compaction, or to another branch, and then compacts: it keeps what the present branch lacks.
@given(SESSIONS)
@example([("prompt", 0, 0), ("compaction", 0, 0), ("rewind", 0, 0), ("keep", 0, 0)])
@example([("prompt", 0, 0), ("prompt", 0, 0), ("rewind", 0, 0), ("prompt", 0, 0), ("rewind", 1, 0), ("keep", 0, 0)])
def test_the_context_is_the_branch_of_the_last_line(session: Session) -> None:
    log = make_log([*session, ("prompt", 0, 0)])
    view = [name_of(message) for message in view_of(read(to_bytes(log.lines)))]
    assert view == log.now.context


@given(SESSIONS, st.lists(st.integers(0, 200), max_size=4))
def test_a_log_read_while_it_grows_gives_the_events_of_the_whole_log(session: Session, cuts: list[int]) -> None:
    log = make_log(session)
    assume(log.said)
    document = parse_document(to_bytes(log.lines), "log")
    expect_pieces_to_equal_the_whole(FORMAT, records_of(FORMAT, document), cuts)


@given(SESSIONS)
def test_a_reading_of_a_beginning_is_a_beginning_of_the_reading(session: Session) -> None:
    log = make_log([("prompt", 0, 0), *session])
    document = parse_document(to_bytes(log.lines), "log")
    whole = FORMAT.read(document).events
    builder = TranscriptBuilder("claude-code", "log")
    reader = Reader(builder)
    for record in document.lines:
        reader.take(record)
        assert builder.events == whole[: len(builder.events)]


@given(SESSIONS)
def test_results_follow_their_calls(session: Session) -> None:
    log = make_log([("prompt", 0, 0), *session])
    before: list[Message] = []
    for message in messages_of(read(to_bytes(log.lines))):
        if any(isinstance(block, ToolResultBlock) for block in message.content):
            assert before[-1].role is Role.ASSISTANT
        before.append(message)
