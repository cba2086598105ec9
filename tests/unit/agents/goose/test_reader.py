import json
from typing import Any

from msgspec.structs import replace

from support.databases import database
from support.foreign import to_lines
from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from ullage.agents.goose import FORMAT
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import Document, parse_document

T = 1_790_000_000


def said(message_id: str, role: str, *items: Any, hidden: bool = False, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": item} if isinstance(item, str) else item for item in items]
    metadata = {"userVisible": True, "agentVisible": not hidden} | more
    return {"id": message_id, "role": role, "created": T, "content": content, "metadata": metadata}


def call(call_id: str) -> dict[str, Any]:
    value = {"name": "developer__shell", "arguments": {"command": "ls"}}
    return {"type": "toolRequest", "id": call_id, "toolCall": {"status": "success", "value": value}}


def response(call_id: str, value: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": call_id, "toolResult": {"status": "success", "value": value}}


COUNTS = {"total_tokens": 940, "input_tokens": 900, "output_tokens": 40, "accumulated_total_tokens": 5_000}
HEAD = {"working_dir": "/home/ann", "description": "Barrels", "message_count": 4} | COUNTS
TURN = [
    said("u1", "user", "list"),
    said("a1", "assistant", {"type": "thinking", "thinking": "look", "signature": "sig"}, call("c1")),
    said("r1", "user", response("c1", [{"type": "text", "text": "two files"}])),
    said("a2", "assistant", "Two."),
]


def rows(*messages: dict[str, Any], session_id: str = "20260921_1", **columns: Any) -> list[tuple[str, dict[str, Any]]]:
    head = {"id": session_id, "name": "Barrels", "working_dir": "/home/ann", "input_tokens": 900, "output_tokens": 40}
    model = {"model_name": "m1", "context_limit": 128_000}
    held = [
        ("sessions", head | {"model_config_json": json.dumps(model), "updated_at": "2026-09-21 10:00:00"} | columns)
    ]
    for number, message in enumerate(messages, start=1):
        row = {"id": number, "message_id": message["id"], "session_id": session_id, "role": message["role"]}
        content = {"content_json": json.dumps(message["content"]), "metadata_json": json.dumps(message["metadata"])}
        held.append(("messages", row | content | {"created_timestamp": T}))
    return held


def stored(*messages: dict[str, Any]) -> Document:
    return database("/home/ann/.local/share/goose/sessions/sessions.db", *rows(*messages))


COMPACTED = [
    *(message | {"metadata": {"userVisible": True, "agentVisible": False}} for message in TURN),
    said("k1", "user", "Two files are there.", userVisible=False),
    said("k2", "assistant", "I go on.", userVisible=False),
    said("u2", "user", "and now"),
]


def test_a_database_gives_its_newest_session_and_names_the_others() -> None:
    child = rows(
        TURN[0], session_id="20260921_2", name="Child", session_type="sub_agent", updated_at="2026-09-22 10:00:00"
    )
    held = database("sessions.db", *rows(*TURN), *child)
    transcript = read_document(held)
    assert transcript.session_id == "20260921_1"
    assert [skipped.reason for skipped in transcript.skipped] == ["another conversation: Child"]
    assert read_document(replace(held, run=2)).title == "Child"


def test_a_session_reads_alike_in_every_two_pieces() -> None:
    expect_every_split_to_read_alike(FORMAT, stored(*COMPACTED))
    log = parse_document(to_lines(HEAD, *COMPACTED), "20250921.jsonl")
    expect_every_split_to_read_alike(FORMAT, log)
    expect_a_growing_log_to_only_add_records(FORMAT, log)
