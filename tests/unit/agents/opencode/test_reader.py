import json
from typing import Any

from msgspec.structs import replace

from support.databases import database as rows_document
from support.foreign import messages_of
from support.growing_files import expect_every_split_to_read_alike, read_pieces
from support.transcripts import ROOT
from ullage.agents.opencode_sessions import FORMAT
from ullage.agents.transcripts import companions_of, read_document
from ullage.formats.parsing import Document

T = 1_790_000_000_000
SESSION = {"id": "s-1", "directory": "/home/ann/barrels", "title": "Barrels", "version": "1.20.0"}


def info(message_id: str, role: str, time: int, **more: Any) -> dict[str, Any]:
    if role == "assistant":
        tokens = {"input": 100, "output": 9, "reasoning": 2, "cache": {"read": 50, "write": 4}}
        more = {"modelID": "m1", "tokens": tokens, "finish": "stop"} | more
    return {"id": message_id, "role": role, "time": {"created": T + time, "completed": T + time + 5}} | more


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words} | more


def tool(call: str, output: str = "two files", **state: Any) -> dict[str, Any]:
    done = {"status": "completed", "input": {"pattern": "*"}, "output": output} | state
    return {"type": "tool", "callID": call, "tool": "glob", "state": done}


TURN = [
    (info("m1", "user", 1_000, model={"modelID": "m0"}), [text("list")]),
    (info("m2", "assistant", 2_000), [{"type": "step-start"}, {"type": "reasoning", "text": "look"}, tool("c1")]),
    (info("m3", "assistant", 3_000), [text("Two.")]),
]
COMPACTED = [
    *TURN,
    (info("m4", "user", 4_000), [{"type": "compaction", "auto": True, "tail_start_id": "m3"}]),
    (info("m5", "assistant", 5_000, summary=True, mode="compaction"), [text("Two files are there.")]),
    (info("m6", "user", 6_000), [text("Continue.", synthetic=True)]),
]


def exported(*messages: tuple[dict[str, Any], list[dict[str, Any]]], **session: Any) -> Document:
    entries = [{"info": head, "parts": parts} for head, parts in messages]
    return Document(name="export.json", value={"info": SESSION | session, "messages": entries})


def database(*sessions: tuple[dict[str, Any], list[tuple[dict[str, Any], list[dict[str, Any]]]]]) -> Document:
    rows: list[tuple[str, dict[str, Any]]] = []
    for session, messages in sessions:
        rows.append(("session", {"project_id": "p", **session}))
        for head, parts in messages:
            key = {"id": head["id"], "session_id": session["id"]}
            rows.append(("message", {**key, "data": json.dumps(head)}))
            for number, part in enumerate(parts):
                data = {"id": f"{head['id']}.{number}", "message_id": head["id"], "data": json.dumps(part)}
                rows.append(("part", data))
    return rows_document("/home/ann/.local/share/opencode/opencode.db", *rows)


def files(*messages: tuple[dict[str, Any], list[dict[str, Any]]]) -> Document:
    held = [Document(name="session/p/s-1.json", value=SESSION | {"projectID": "p", "time": {"updated": 9}})]
    for head, parts in messages:
        held.append(Document(name=f"message/s-1/{head['id']}.json", value=head | {"sessionID": "s-1"}))
        for number, part in enumerate(parts):
            held.append(Document(name=f"part/{head['id']}/{number}.json", value={"id": f"p{number}"} | part))
    return Document(name="/home/ann/.local/share/opencode/storage", companions=tuple(held))


def test_a_database_gives_its_newest_session_and_names_the_others() -> None:
    old = {"id": "s-0", "directory": "/x", "title": "Old", "time_updated": 5}
    child = {"id": "s-2", "directory": "/x", "title": "Child", "time_updated": 99, "parent_id": "s-1"}
    empty = {"id": "s-3", "directory": "/x", "title": "Empty", "time_updated": 100}
    document = database((old, TURN[:1]), (SESSION | {"time_updated": 50}, TURN), (child, TURN[:2]), (empty, []))
    transcript = read_document(document)
    assert transcript.session_id == "s-1"
    assert [skipped.reason for skipped in transcript.skipped] == [
        f"another conversation: {title}" for title in ("Old", "Child", "Empty")
    ]
    assert read_document(replace(document, run=3)).parent == "s-1"
    assert read_document(replace(document, name="/home/ann/.local/share/kilo/kilo.db")).agent == "Kilo Code"


def test_a_sessions_file_brings_its_messages_and_parts() -> None:
    assert companions_of("/d/opencode/storage/session/p/s-1.json") == (
        "../../message/s-1/*.json",
        "../../part/*/*.json",
    )
    document = files(*TURN)
    beside = tuple(replace(file, name=f"../../{file.name}") for file in document.companions[1:])
    alone = Document(name="s-1.json", value=document.companions[0].value, companions=beside)
    assert messages_of(read_document(alone)) == messages_of(read_document(exported(*TURN)))


def test_a_session_reads_alike_in_every_two_pieces() -> None:
    expect_every_split_to_read_alike(FORMAT, exported(*COMPACTED, revert={"messageID": "m6"}))


def test_an_answer_that_still_grows_is_read_once() -> None:
    assert FORMAT.records is not None
    growing = info("m2", "assistant", 2_000) | {"time": {"created": T + 2_000}}
    before = FORMAT.records(exported(TURN[0], (growing, [tool("c1", status="running")]))).lines
    after = FORMAT.records(exported(*TURN)).lines
    assert read_pieces(FORMAT, [before, after[2:]]) == read_pieces(FORMAT, [after])


def test_the_recorded_storage_folders_are_read(tmp_path: Any) -> None:
    from ullage.system.transcript_files import read_transcript_file  # noqa: PLC0415

    found = sorted((ROOT / "agent_fixtures").glob("opencode__*")) if ROOT.is_dir() else []
    for file in found:
        place = tmp_path / file.name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    for folder in tmp_path.glob("opencode/*"):
        transcript = read_document(read_transcript_file(folder))
        assert [skipped for skipped in transcript.skipped if not skipped.expected] == []
        assert len(messages_of(transcript)) in (2, 5)
