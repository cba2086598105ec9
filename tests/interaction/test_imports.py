"""Imports are one transaction, and importing a transcript again finds the session that was made the first time."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.fill import exchange
from support.log_trees import to_bytes
from support.memory_store import MemoryStore
from support.session_log import line, say
from support.transcripts import conversation_files
from support.workspace import TestClient, build_test_client
from ullage.agents import transcripts
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ConversationImported,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    UsageReported,
)
from ullage.model.message import CompactionBlock, Message, Role, TextBlock
from ullage.service.archive.undo import history
from ullage.service.sessions import ImportOutcome, import_or_continue, import_transcript, missing_events
from ullage.system.growing_files import read_transcript_file

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which port?"},
    {"role": "assistant", "content": "Port 8042."},
    {"role": "user", "content": "And the database?"},
    {"role": "assistant", "content": "SQLite."},
]


def file_of(talk: Sequence[Any]) -> str:
    return msgspec.json.encode({"model": "gpt-4o", "messages": talk}).decode()


async def test_a_model_that_only_a_later_import_names_is_the_sessions_model(client: TestClient) -> None:
    prompt, answer = line("user", "u1", None, "Which port?"), line("assistant", "u2", "u1", [say("Port 8042.")])
    first = await client.call("session/import", text=to_bytes([prompt]).decode())
    later = await client.call("session/import", text=to_bytes([prompt, answer]).decode())
    assert later["session"]["sessionId"] == first["session"]["sessionId"]
    meta = (await client.call("context/get", sessionId=later["session"]["sessionId"]))["_meta"]["ullage"]
    assert (meta["model"], meta["source"]) == ("claude-opus-4-5", "reported")


async def test_the_same_transcript_again_is_the_session_already_made(client: TestClient) -> None:
    first = await client.call("session/import", text=file_of(TALK))
    again = await client.call("session/import", text=file_of(TALK))
    assert (first["outcome"], first["added"], first["divergedFrom"]) == ("new", 5, None)
    assert (again["outcome"], again["added"]) == ("unchanged", 0)
    assert again["session"]["sessionId"] == first["session"]["sessionId"]
    assert len(client.workspace.ports.store.list()) == 1


async def test_two_processes_that_import_the_same_at_once_make_one_session() -> None:
    first = build_test_client()
    second = build_test_client(store=first.workspace.ports.store, ids=first.ids)
    # A message that takes so long to count that others work meanwhile.
    text = file_of([*TALK, {"role": "user", "content": "Which port? " * 20_000}])
    made = await asyncio.gather(*(client.call("session/import", text=text) for client in (first, second)))
    assert sorted(one["outcome"] for one in made) == ["new", "unchanged"]
    assert len(first.workspace.ports.store.list()) == 1


async def test_a_transcript_that_has_grown_continues_its_session(client: TestClient) -> None:
    first = await client.call("session/import", text=file_of(TALK[:3]))
    session_id = first["session"]["sessionId"]
    await client.call("session/configure", sessionId=session_id, context={"warnAt": 0.7})
    grown = await client.call("session/import", text=file_of(TALK))
    assert (grown["outcome"], grown["added"], grown["messages"]) == ("grown", 2, 5)
    assert grown["session"]["sessionId"] == session_id
    entries = await client.entries(session_id)
    assert [entry["message"]["content"][0]["text"] for entry in entries] == [said["content"] for said in TALK]
    older = await client.call("session/import", text=file_of(TALK[:3]))
    assert (older["outcome"], older["messages"]) == ("unchanged", 5)


async def test_a_title_that_says_nothing_gives_its_place_to_what_is_typed_later(client: TestClient) -> None:
    talk = [{"role": "user", "content": "/review"}, {"role": "assistant", "content": "Of what?"}]
    for title, typed in (("/review", "/clear"), ("/review", "Of the port.\nAll of it."), ("Of the port.", "And this.")):
        imported = await client.call("session/import", text=file_of(talk))
        assert imported["session"]["title"] == title
        talk += [{"role": "user", "content": typed}, {"role": "assistant", "content": f"{typed}: done."}]
    imported = await client.call("session/import", text=file_of(talk))
    assert imported["session"]["title"] == "Of the port."


async def test_a_transcript_that_is_another_from_some_message_on_becomes_a_new_session(client: TestClient) -> None:
    first = await client.call("session/import", text=file_of(TALK))
    other = [*TALK[:4], {"role": "assistant", "content": "PostgreSQL."}]
    diverged = await client.call("session/import", text=file_of(other))
    assert diverged["outcome"] == "diverged"
    assert diverged["divergedFrom"] == first["session"]["sessionId"] != diverged["session"]["sessionId"]


async def test_a_session_that_went_on_here_is_not_mixed_with_the_transcripts_new_messages(client: TestClient) -> None:
    first = await client.call("session/import", text=file_of(TALK))
    await exchange(client, first["session"]["sessionId"], 7)
    grown = [*TALK, {"role": "user", "content": "Thanks."}]
    assert (await client.call("session/import", text=file_of(grown)))["outcome"] == "diverged"


def test_a_fork_that_repeats_its_parent_is_a_conversation_of_its_own() -> None:
    def log(origin_id: str, messages: int) -> list[Event]:
        said = (Message(id=f"m{number}", role=Role.USER, content=()) for number in range(messages))
        return [ConversationImported(format="f", origin_id=origin_id), *(MessageAppended(message=one) for one in said)]

    assert missing_events(log("parent", 2), log("fork", 3)) is None
    assert missing_events(log("parent", 2), log("parent", 3)) == tuple(log("", 3)[3:])
    assert missing_events([*log("parent", 2), *log("resumed", 0)], log("resumed", 3)) == tuple(log("", 3)[3:])


def test_a_model_that_comes_back_is_not_taken_for_its_earlier_change() -> None:
    one, other = ModelChanged(model="one"), ModelChanged(model="other")
    said = [MessageAppended(message=Message(id=f"m{number}", role=Role.USER, content=())) for number in range(2)]
    whole: list[Event] = [one, said[0], other, one, said[1]]
    assert missing_events(whole[:3], whole) == (one, said[1])
    assert missing_events(whole[:4], whole) == (said[1],)
    assert missing_events(whole, whole) == ()


class CountedStore(MemoryStore):
    """A store that counts the records of the logs that are read from it."""

    decoded = 0

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> tuple[Record, ...]:
        records = super().read(session_id, start, stop)
        self.decoded += len(records)
        return records


async def test_a_conversation_that_was_forked_often_is_imported_without_reading_its_other_forks() -> None:
    def fork(number: int) -> ImportedTranscript:
        said = (Message(id=f"m{place}", role=Role.USER, content=()) for place in range(50))
        events = (MessageAppended(message=message) for message in said)
        return ImportedTranscript(
            format="f", events=(ConversationImported(format="f", origin_id=f"fork {number}"), *events)
        )

    store = CountedStore()
    workspace = build_test_client(store=store).workspace
    outcomes = {(await import_or_continue(workspace, fork(number), "/w")).outcome for number in range(20)}
    assert outcomes == {ImportOutcome.NEW, ImportOutcome.DIVERGED}
    read = store.decoded
    again = await import_or_continue(workspace, fork(3), "/w")
    assert (again.outcome, len(store.list())) == (ImportOutcome.UNCHANGED, 20)
    assert read == 0 < store.decoded < 60


@pytest.mark.parametrize("order", [("base.jsonl", "segment.jsonl"), ("segment.jsonl", "base.jsonl")])
async def test_a_part_of_a_conversation_without_its_beginning_is_never_mixed_with_it(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    def line(ordinal: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-11-22T02:00:00Z", "ordinal": ordinal, "type": kind, "payload": payload}

    def said(ordinal: int, text: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text}]
        return line(ordinal, "response_item", type="message", role="user", content=content)

    meta: dict[str, Any] = {"id": "thread", "cwd": "/home/dev", "base_instructions": {"text": "Be brief."}}
    base = {"thread_id": "thread", "end_ordinal_exclusive": 2}
    files = {
        "base.jsonl": [line(0, "session_meta", **meta), said(1, "Which port?"), said(2, "No: which database?")],
        # The user went back and has not written yet, so the part holds only the instructions of the conversation.
        "segment.jsonl": [line(2, "session_meta", **meta, history_base=base)],
    }
    for name, lines in files.items():
        (tmp_path / name).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))
    client = build_test_client()
    results = [await client.call("session/import", path=str(tmp_path / name)) for name in order]
    sizes = [len(await client.entries(result["session"]["sessionId"])) for result in results]
    assert len({result["session"]["sessionId"] for result in results}) == 2
    assert sizes == [{"base.jsonl": 3, "segment.jsonl": 1}[name] for name in order]


async def test_a_deleted_session_is_imported_again_as_a_new_one(client: TestClient) -> None:
    first = await client.call("session/import", text=file_of(TALK))
    await client.call("session/delete", sessionId=first["session"]["sessionId"])
    assert (await client.call("session/import", text=file_of(TALK)))["outcome"] == "new"


@pytest.mark.no_cover
@pytest.mark.parametrize("path", conversation_files(), ids=lambda path: path.name)
async def test_every_recorded_conversation_is_recognized_and_continued_from_any_message(path: Path) -> None:
    client = build_test_client()
    whole = transcripts.read_document(read_transcript_file(path))
    conversation = await import_transcript(client.workspace, whole, "")
    stored = [record.event for record in client.workspace.ports.store.read(conversation.id)]
    assert missing_events(stored, whole.events) == ()
    places = [place for place, event in enumerate(whole.events) if isinstance(event, MessageAppended)]
    place = places[len(places) // 2] + 1
    assert missing_events(whole.events[:place], whole.events) == whole.events[place:]
    # The usage of a message may be stored with it or come later.
    if place < len(whole.events) and isinstance(whole.events[place], UsageReported):
        assert missing_events(whole.events[: place + 1], whole.events) == whole.events[place + 1 :]


async def test_another_programs_compaction_is_listed_with_the_size_it_had_before(client: TestClient) -> None:
    block = CompactionBlock(
        compaction_number=1, timestamp=0, summary="s", messages_archived=1, context_size_before=167_094
    )
    marker = Message(id="marker", role=Role.USER, content=(block,))
    said = Message(id="m1", role=Role.USER, content=(TextBlock(text="Hello"),))
    edit = CompactionEdit(id="e1", timestamp=0, start=0, end=1, marker=marker)
    whole = ImportedTranscript(format="f", events=(MessageAppended(message=said), ContextEdited(edit=edit)))
    conversation = await import_transcript(client.workspace, whole, "")
    (entry,) = history(conversation)
    assert (entry.context_size_before, entry.context_size_after) == (167_094, 0)
