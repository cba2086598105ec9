"""Databases of Cursor's CLI, built as several programs describe them: none of a real Cursor was at hand."""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.homes import Home
from support.memory_store import MemoryStore
from support.workspace import build_test_client
from ullage.agents.cursor import fields_of
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import read_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import MessageAppended, UsageReported, WindowReported
from ullage.model.message import ToolResultBlock, ToolUseBlock
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.ports.agent_files import FoundFile
from ullage.system.growing_files import GrowingFiles, read_transcript_file
from ullage.watch.candidates import find_candidates

ID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": [{"type": "text", "text": "Which port?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "I look."},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "Read", "args": {"path": "a.py"}},
        ],
    },
    {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "Read", "result": "port = 8042"}],
    },
    {"role": "assistant", "content": "8042."},
]


def number(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + number(rest) if rest else bytes([low])


def field(at: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return number(at << 3) + number(value)
    return number(at << 3 | 2) + number(len(value)) + value


def part(name: str, size: int) -> bytes:
    return field(3, field(1, name.encode()) + field(2, name.encode()) + field(3, size))


SIZES = field(5, field(1, 12_000) + field(2, 200_000) + part("tools", 9_000) + part("conversation", 3_000))


def put_store(path: Path, messages: Sequence[dict[str, Any]], sizes: bytes = SIZES, **facts: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, data BLOB)")
        database.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)")
        root = b""
        for message in messages:
            data = json.dumps(message).encode()
            digest = hashlib.sha256(data)
            database.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (digest.hexdigest(), data))
            root += field(1, digest.digest())
        root += field(8, b"\xff" * 32) + field(9, b"file:///home/ada/weather") + sizes
        name = hashlib.sha256(root).hexdigest()
        database.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, root))
        head = {"agentId": ID, "latestRootBlobId": name, "name": "Ports", "lastUsedModel": "gpt-5", **facts}
        database.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (json.dumps(head).encode().hex(),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ada/.cursor/chats/0123/" / ID / "store.db"


def read(path: Path) -> ImportedTranscript:
    return read_document(read_transcript_file(path))


def test_messages_calls_model_title_and_sizes_are_read(path: Path) -> None:
    put_store(path, TALK)
    (path.parent / "meta.json").write_text(json.dumps({"cwd": "/home/ada/weather", "updatedAtMs": 1_790_000_000_000}))
    transcript = read(path)
    messages = [event.message for event in transcript.events if isinstance(event, MessageAppended)]
    assert [message.role for message in messages] == ["system", "user", "assistant", "user", "assistant"]
    assert any(isinstance(block, ToolUseBlock) and block.input == {"path": "a.py"} for block in messages[2].content)
    assert isinstance(messages[3].content[0], ToolResultBlock)
    assert (transcript.format, transcript.model, transcript.title) == ("cursor-store", "gpt-5", "Ports")
    assert (transcript.session_id, transcript.cwd) == (ID, "/home/ada/weather")
    assert [event.size for event in transcript.events if isinstance(event, WindowReported)] == [200_000]
    (report,) = [event for event in transcript.events if isinstance(event, UsageReported)]
    assert (report.usage.total, report.message_id, report.timestamp) == (12_000, messages[4].id, 1_790_000_000_000)
    assert transcript.skipped == ()


@pytest.mark.parametrize(
    "sizes",
    [b"", field(5, field(1, 12_000)), field(5, field(1, 12_001) + field(2, 200_000) + part("tools", 9_000))],
    ids=["none", "no window", "another sum"],
)
def test_sizes_that_do_not_fit_are_not_known(path: Path, sizes: bytes) -> None:
    put_store(path, TALK, sizes)
    assert not [event for event in read(path).events if isinstance(event, UsageReported | WindowReported)]


def test_what_is_not_understood_is_counted_as_unread(path: Path) -> None:
    put_store(path, [*TALK, {"role": "user", "content": [{"type": "hologram"}]}, {"kind": "?"}])
    reasons = [part.reason for part in read(path).skipped if not part.expected]
    assert [reason.split()[0] for reason in reasons] == ["unknown", "message"]


async def test_a_database_that_grows_is_followed_in_one_session(path: Path) -> None:
    workspace = build_test_client(store=MemoryStore()).workspace
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=path, agent="Cursor", origin_id=ID))
    path.parent.mkdir(parents=True)
    (path.parent / "meta.json").write_text(json.dumps({"cwd": "/home/ada/weather", "updatedAtMs": 1_790_000_000_000}))
    for count in (2, 3, 4, 5):
        put_store(path, TALK[:count])
        await followed.look()
        await followed.settle()
        assert followed.conversation is not None
        assert followed.conversation.transcript.messages == count
    assert [info.cwd for info in workspace.ports.store.list()] == ["/home/ada/weather"]
    assert followed.conversation is not None
    assert (followed.conversation.used, followed.conversation.budget and followed.conversation.budget.window) == (
        12_000,
        200_000,
    )


def test_a_conversation_in_a_database_is_found_once_although_it_has_a_transcript_too(
    tmp_path: Path, path: Path
) -> None:
    home = Home(tmp_path / "ada")
    put_store(path, TALK)
    record = json.dumps({"role": "user", "message": {"content": [{"type": "text", "text": "Which port?"}]}})
    for name in (f"{ID}/{ID}", f"{ID}/subagents/b1", "other/other"):
        home.put(f".cursor/projects/p/agent-transcripts/{name}.jsonl", record + "\n")
    cursor = [agent for agent in AGENTS if agent.name == "Cursor"]
    found = {(one.origin_id, Path(one.path).suffix) for one in find_candidates(home.machine, cursor, [])}
    assert found == {(ID, ".db"), ("b1", ".jsonl"), ("other", ".jsonl")}


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_told_from_one(data: bytes) -> None:
    found = fields_of(data)
    assert found is None or all(at >= 0 for at, _ in found)


def test_fields_have_their_numbers_and_values() -> None:
    assert fields_of(field(1, b"ab") + field(5, 300)) == [(1, b"ab"), (5, 300)]
    assert fields_of(field(1, b"ab")[:-1]) is None
