import json
from typing import Any

from msgspec.structs import replace

from support.databases import database
from support.foreign import messages_of, reports_of, texts_of
from support.growing_files import expect_every_split_to_read_alike, read_pieces
from ullage.agents.crush import FORMAT
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import ImageBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import project

T = 1_790_000_000
DATABASE = "/home/ann/barrels/.crush/crush.db"


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def said(message_id: str, role: str, *parts: dict[str, Any], **columns: Any) -> dict[str, Any]:
    return {
        "id": message_id,
        "session_id": "s-1",
        "role": role,
        "parts": json.dumps(parts),
        "model": "m1" if role == "assistant" else None,
        "created_at": T,
        "finished_at": T + 1 if role == "assistant" else None,
        "is_summary_message": 0,
    } | columns


def session(session_id: str = "s-1", **columns: Any) -> dict[str, Any]:
    return {
        "id": session_id,
        "title": "Barrels",
        "updated_at": T,
        "prompt_tokens": 900,
        "completion_tokens": 40,
    } | columns


TURN = [
    said("u1", "user", part("text", text="list"), part("binary", Path="a.png", MIMEType="image/png", Data="AAAA")),
    said(
        "a1",
        "assistant",
        part("reasoning", thinking="look", signature="sig"),
        part("tool_call", id="c1", name="ls", input='{"path": "."}', finished=True),
        part("finish", reason="tool_use", time=T),
    ),
    said("r1", "tool", part("tool_result", tool_call_id="c1", name="ls", content="two files", is_error=True)),
    said("a2", "assistant", part("text", text="Two."), part("finish", reason="end_turn", time=T)),
]


def read(*messages: dict[str, Any], head: dict[str, Any] | None = None) -> ImportedTranscript:
    return read_document(document(*messages, head=head))


def document(*messages: dict[str, Any], head: dict[str, Any] | None = None) -> Document:
    return database(DATABASE, *(("messages", message) for message in messages), ("sessions", head or session()))


def view_of(transcript: ImportedTranscript) -> list[str]:
    return [message.id for message in project(transcript.events)]


def test_a_turn_has_its_parts_and_the_usage_of_the_newest_request() -> None:
    transcript = read(*TURN)
    prompt, call, results, last = messages_of(transcript)
    assert prompt.content[1] == ImageBlock(media_type="image/png", data="AAAA")
    assert call.content == (
        ThinkingBlock(thinking="look", signature="sig"),
        ToolUseBlock(id="c1", name="ls", input={"path": "."}),
    )
    assert isinstance(results.content[0], ToolResultBlock)
    assert results.content[0].is_error
    assert last.timestamp == T * 1_000
    assert [(r.message_id, r.usage.prompt, r.usage.total) for r in reports_of(transcript)] == [("a2", 900, 940)]
    assert (transcript.agent, transcript.model, transcript.cwd) == ("Crush", "m1", "/home/ann/barrels")
    assert (transcript.session_id, transcript.title) == ("s-1", "Barrels")


def test_the_context_begins_with_the_newest_summary() -> None:
    summary = said(
        "k1", "assistant", part("text", text="Two files."), part("finish", reason="end_turn"), is_summary_message=1
    )
    after = said(
        "u2", "user", part("text", text="on"), part("shell_command", command="make", output="bang\n", exit_code=2)
    )
    transcript = read(*TURN, summary, after, head=session(prompt_tokens=0))
    assert view_of(transcript) == ["k1-marker", "u2"]
    assert messages_of(transcript)[-1].text == "on\n$ make\nbang\n(exit status 2)"
    assert reports_of(transcript) == []


def test_a_summary_that_failed_changes_nothing_and_what_was_said_is_kept() -> None:
    failed = said("k1", "assistant", part("text", text="Two fi"), part("finish", reason="error"), is_summary_message=1)
    transcript = read(*TURN, failed)
    assert view_of(transcript) == ["u1", "a1", "r1", "a2"]
    assert "assistant: Two fi" in texts_of(messages_of(transcript))


def test_an_empty_answer_says_why_and_unknown_roles_are_named() -> None:
    empty = said("a3", "assistant", part("finish", reason="error", message="Overloaded"))
    transcript = read(*TURN, empty, said("x", "oracle", part("text", text="hm")))
    assert [(s.reason, s.expected) for s in transcript.skipped] == [
        ("message without content: Overloaded", True),
        ("message of unknown role 'oracle'", False),
    ]


def test_a_database_gives_its_newest_session_and_names_the_others() -> None:
    child = session("a1$$c1", title="Task", updated_at=T + 50, parent_session_id="s-1", prompt_tokens=5)
    rows = [
        ("messages", message)
        for message in (*TURN, said("b1", "user", part("text", text="count"), session_id="a1$$c1"))
    ]
    held = database(DATABASE, *rows, ("sessions", child), ("sessions", session()))
    transcript = read_document(held)
    assert transcript.session_id == "s-1"
    assert [skipped.reason for skipped in transcript.skipped] == ["another conversation: Task"]
    assert read_document(replace(held, run=1)).parent == "s-1"


def test_a_session_reads_alike_in_every_two_pieces_and_while_an_answer_grows() -> None:
    expect_every_split_to_read_alike(FORMAT, document(*TURN))
    assert FORMAT.records is not None
    growing = TURN[1] | {"parts": "[]", "finished_at": None}
    before = FORMAT.records(document(TURN[0], growing)).lines
    after = FORMAT.records(document(*TURN)).lines
    assert read_pieces(FORMAT, [before, after[2:]]) == read_pieces(FORMAT, [after])
