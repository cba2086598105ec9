"""What readers of single agents do that no sample shows."""

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
from msgspec.structs import replace

from support.claude_log import ClaudeLog
from support.foreign import messages_of, read_lines, to_lines
from support.homes import Home
from support.memory_store import MemoryStore
from support.samples import sample_of
from support.session_log import line
from support.workspace import build_test_client
from ullage.agents.claude_code.compaction import reattached
from ullage.agents.cursor import fields_of
from ullage.agents.inserted import is_by_agent, is_by_program, is_typed, typed_texts
from ullage.agents.own_context import Setup
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import detect_format, read, read_document
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.ledger.said import typed_text
from ullage.lost.left_out import last_compaction, records_of
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import MessageAppended, UsageReported, WindowReported
from ullage.model.message import Role, ToolResultBlock, ToolUseBlock
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.ports.agent_files import FoundFile
from ullage.service.sessions import title_of
from ullage.system.growing_files import GrowingFiles, read_transcript_file
from ullage.transcript.fold import project
from ullage.watch.candidates import find_candidates

TIME = "2026-05-01T10:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": TIME, "cwd": "/home/ann/barrels"}


def entry(kind: str, entry_id: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": TIME} | fields


def said(entry_id: str, parent: str | None, text: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]} | fields
    return entry("message", entry_id, parent, message=message)


def pi_answered(entry_id: str, parent: str, text: str, prompt: int = 100, **fields: Any) -> dict[str, Any]:
    usage = {"input": prompt, "output": 7, "cacheRead": 50, "cacheWrite": 3, "totalTokens": prompt + 60}
    return said(entry_id, parent, text, "assistant", usage=usage, model="m1", stopReason="stop", **fields)


BRANCHED = (
    HEADER,
    said("u1", None, "first"),
    pi_answered("a1", "u1", "one"),
    said("u2", "a1", "left"),
    pi_answered("a2", "u2", "two"),
    entry("branch_summary", "b1", "a1", fromId="a2", summary="Tried left."),
    said("u3", "b1", "right"),
    entry("label", "l1", "u3", targetId="u1", label="start"),
    pi_answered("a3", "l1", "three"),
)


def test_a_compaction_with_an_empty_summary_kept_nothing() -> None:
    emptied = entry("compaction", "c1", "a3", summary="", firstKeptEntryId="a3", tokensBefore=9)
    found = last_compaction(records_of(read_lines(*BRANCHED, emptied)))
    assert found and (found.is_readable, found.has_summary) == (True, False)


def test_what_pi_paid_for_summaries_and_a_warm_cache_is_charged_and_fills_nothing() -> None:
    paid = {"input": 10, "output": 5, "cacheRead": 400, "cacheWrite": 7}
    transcript = read_lines(
        *BRANCHED,
        entry("usage", "w1", "a3", model="m", usage=paid),
        entry("compaction", "c1", "w1", summary="So far.", firstKeptEntryId="a3", tokensBefore=9, usage=paid),
    )
    reports = {one.message_id: one for one in transcript.events if isinstance(one, UsageReported)}
    for name in ("w1", "c1"):
        (each,) = reports[name].passes
        assert (reports[name].usage.total, each.usage.total, each.usage.cache_read_input_tokens) == (0, 422, 400)


def test_what_the_user_did_not_type_is_not_the_users_words() -> None:
    command = {"role": "bashExecution", "command": "make", "output": "bang", "exitCode": 0}
    transcript = read_lines(
        *BRANCHED,
        entry("custom_message", "x1", "a3", customType="clock", content="It is noon.", display=False),
        entry("message", "x2", "x1", message={"role": "custom", "customType": "todo", "content": "Two are left."}),
        entry("message", "x3", "x2", message=command),
        entry("message", "x4", "x3", message={"role": "compactionSummary", "summary": "All so far."}),
        said("u9", "x4", "Go on with the hoops."),
    )
    messages = [message for message in project(transcript.events) if message.role is Role.USER]
    assert [message.id for message in messages if is_by_agent(message)] == ["b1", "x1", "x2", "x3", "x4"]
    assert [text for message in messages if (text := typed_text(message))] == [
        "first",
        "right",
        "Go on with the hoops.",
    ]


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


def read_store(path: Path) -> ImportedTranscript:
    return read_document(read_transcript_file(path))


def test_messages_calls_model_title_and_sizes_are_read(path: Path) -> None:
    put_store(path, TALK)
    (path.parent / "meta.json").write_text(json.dumps({"cwd": "/home/ada/weather", "updatedAtMs": 1_790_000_000_000}))
    transcript = read_store(path)
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
    assert not [event for event in read_store(path).events if isinstance(event, UsageReported | WindowReported)]


def test_what_is_not_understood_is_counted_as_unread(path: Path) -> None:
    put_store(path, [*TALK, {"role": "user", "content": [{"type": "hologram"}]}, {"kind": "?"}])
    reasons = [part.reason for part in read_store(path).skipped if not part.expected]
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


def test_a_log_without_messages_is_unreadable() -> None:
    with pytest.raises(UnreadableTranscript, match=r"test\.jsonl: looks like claude-code"):
        read_lines({"type": "summary", "summary": "t"}, "{", format_name="claude-code")


def test_a_log_of_another_agent_with_the_same_tree_is_not_taken() -> None:
    value = {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "hi"}]}}
    assert detect_format(parse_document(to_lines(value, value), "x")).name != "claude-code"


def test_what_the_program_wrote_in_the_users_place_is_not_taken_for_the_users() -> None:
    skill = "Base directory for this skill: /home/me/skills/tidy. Never leave a part."
    transcript = read_lines(
        line("user", "u1", None, "Tidy the parts."),
        line("user", "k1", "u1", skill, isMeta=True),
        line("user", "u2", "k1", "Go on.", isMeta=False),
    )
    assert [is_by_program(message) for message in messages_of(transcript)] == [False, True, False]


@pytest.mark.parametrize(
    ("origin", "is_users"),
    [
        ({"kind": "human"}, True),
        ({"kind": "auto-continuation"}, True),
        ({"kind": "channel", "server": "telegram"}, True),
        ({"kind": "plugin", "name": "notes", "asUser": True}, True),
        ({"kind": "plugin", "name": "notes"}, False),
        ({"kind": "peer", "from": "reviewer"}, False),
        ({"kind": "coordinator"}, False),
        ({"kind": "task-notification"}, False),
    ],
)
def test_a_message_is_the_users_by_its_origin(origin: dict[str, Any], *, is_users: bool) -> None:
    queued = {"type": "queued_command", "prompt": "Never push.", "origin": origin}
    transcript = read_lines(
        line("user", "u1", None, "Tidy the parts.", origin={"kind": "human"}),
        line("user", "u2", "u1", "Never leave a part.", origin=origin),
        {key: value for key, value in line("attachment", "a1", "u2", "").items() if key != "message"}
        | {"attachment": queued},
    )
    assert [is_by_program(message) for message in messages_of(transcript)] == [False, not is_users, not is_users]


def test_what_opencode_adds_to_a_prompt_is_not_the_users_but_a_comment_on_a_line_is() -> None:
    comment = {"opencodeComment": {"path": "a.py", "comment": "Never round here."}}
    parts = [
        {"type": "text", "text": "Tidy @a.py"},
        {"type": "text", "text": "1: x = 1", "synthetic": True},
        {"type": "text", "text": "On line 1 of a.py: Never round here.", "synthetic": True, "metadata": comment},
    ]
    info = {"id": "m1", "role": "user", "time": {"created": 1_790_000_000_000}}
    export = {"info": {"id": "ses_1", "directory": "/p", "version": "1"}, "messages": [{"info": info, "parts": parts}]}
    (message,) = messages_of(read(json.dumps(export).encode(), "/p/export.json"))
    assert typed_texts(message) == ["Tidy @a.py", "On line 1 of a.py: Never round here."]
    assert not is_by_agent(message)
    assert is_by_agent(replace(message, content=message.content[1:2]))


def test_what_copilot_cli_writes_around_a_prompt_or_in_its_place_is_not_the_users() -> None:
    sample = sample_of("copilot_cli", "what the program writes around the user's words, and in their place, is marked")
    said = [typed_texts(message) for message in messages_of(read_document(sample.document))]
    assert [texts for texts in said if texts] == [["paint 1"], ["/deploy to staging"], ["not live"], ["again"]]


def test_what_qwen_code_says_of_tasks_and_goals_is_not_the_users() -> None:
    records = [
        {"uuid": uuid, "parentUuid": None, "sessionId": "s", "timestamp": "2026-11-22T10:00:00Z", "type": "user"}
        | {"cwd": "/p", "message": {"role": "user", "parts": [{"text": text}]}, **more}
        for uuid, text, more in (
            ("u1", "Tidy the parts.", {}),
            ("u2", "The task has ended.", {"subtype": "background_task_completed", "provenance": "system"}),
            ("u3", "Go on until it is tidy.", {"subtype": "goal_runtime", "provenance": "goal_runtime"}),
            ("u4", "Never push.", {"provenance": "real_user"}),
        )
    ]
    chained = [record | {"parentUuid": f"u{at}" if at else None} for at, record in enumerate(records)]
    transcript = read(to_lines(*chained), "/p/.qwen/projects/-p/chats/s.jsonl")
    assert [is_by_program(message) for message in messages_of(transcript)] == [False, True, True, False]


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


def numbered(first: int, count: int) -> str:
    return "\n".join(f"{number:6}\tvalue = {number}" for number in range(first, first + count))


def known(log: ClaudeLog, version: str = "2.1.39") -> list[tuple[str, float, float]]:
    found = reattached(Setup(version=version), messages_of(read_lines(*log.lines)))
    assert found is not None
    return [(file.plain[-8:], file.times, file.more) for file in found.files]


def edit(log: ClaudeLog, path: str, shown: str = "") -> None:
    log.call("Edit", f"The file {path} has been updated.\n{shown}", file_path=path, old_string="1", new_string="2")


def test_the_five_files_that_were_changed_last_come_back_and_those_only_read_if_there_are_fewer() -> None:
    log = ClaudeLog().ask()
    for name in "abcdef":
        log.read(f"/{name}.py", f"     1\t{name * 8}")
    edit(log, "/b.py")
    assert [name for name, _, _ in known(log)] == [name * 8 for name in "cdefb"]
    for name in "efdc":
        edit(log, f"/{name}.py")
    assert [name for name, _, _ in known(log)] == [name * 8 for name in "befdc"]


def test_files_of_instructions_are_in_each_prompt_already() -> None:
    log = ClaudeLog().ask()
    for path in ("/home/me/shop/CLAUDE.md", "/home/me/shop/.claude/rules/style.md", "/home/me/shop/CLAUDE.py"):
        log.read(path, "     1\tBe brief")
    assert known(log) == [("Be brief", 1.0, 1.0)]


def test_a_file_of_which_parts_were_shown_is_at_least_as_large_as_the_last_line_says_and_likely_larger() -> None:
    log = ClaudeLog().ask().read("/a.py", numbered(1, 10)).read("/b.py", numbered(901, 100))
    edit(log, "/c.py", numbered(41, 10))
    assert [(times, more) for _, times, more in known(log)] == [(1.0, 1.0), (10.0, 2.0), (5.0, 2.0)]
    edit(log, "/c.py", numbered(91, 10))
    edit(log, "/b.py", numbered(11, 5))
    assert [(times, more) for _, times, more in known(log)] == [(1.0, 1.0), (10.0, 1.5), (10.0, 1.5)]


def test_a_file_that_was_written_is_as_it_was_written() -> None:
    log = ClaudeLog().ask().read("/a.py", numbered(901, 100))
    log.call("Write", "The file /a.py has been updated.", file_path="/a.py", content="now short")
    edit(log, "/b.py")
    assert known(log) == [("ow short", 1.0, 1.0), ("", 1.0, 2.0)]


def test_of_versions_that_were_not_measured_nothing_is_said() -> None:
    assert reattached(Setup(version="2.1.316"), ()) is None
    assert reattached(Setup(version=""), ()) is None
