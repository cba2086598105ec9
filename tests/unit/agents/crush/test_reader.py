import json
from typing import Any

from msgspec.structs import replace

from support.databases import database
from support.growing_files import expect_every_split_to_read_alike, read_pieces
from ullage.agents.crush import FORMAT
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import Document

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


def document(*messages: dict[str, Any], head: dict[str, Any] | None = None) -> Document:
    return database(DATABASE, *(("messages", message) for message in messages), ("sessions", head or session()))


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
