"""Writes databases in the shapes in which agents keep conversations, with made-up content."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

T = 1_790_000_000_000
# A row to put, instead of the row with the same id: its table and its columns.
Put = tuple[str, dict[str, Any]]


def opencode(message: str, data: dict[str, Any], *parts: dict[str, Any]) -> Sequence[Put]:
    rows = [("message", {"id": message, "session_id": "one", "data": json.dumps(data)})]
    for number, part in enumerate(parts):
        columns = {"id": f"{message}-{number}", "message_id": message, "session_id": "one", "data": json.dumps(part)}
        rows.append(("part", columns))
    return rows


def newer(seq: int, kind: str, **data: Any) -> Put:
    known = {"time": {"created": T + seq}} | data
    return "session_message", {
        "id": f"msg_{seq}", "session_id": "one", "type": kind, "seq": seq, "time_created": T, "data": json.dumps(known)
    }  # fmt: skip


def said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def usage(tokens: int) -> dict[str, Any]:
    return {"input": tokens, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def crush(message: str, role: str, *parts: dict[str, Any], done: int | None = T) -> Put:
    return "messages", {
        "id": message, "session_id": "one", "role": role, "parts": json.dumps(parts), "model": "m", "created_at": T,
        "finished_at": done,
    }  # fmt: skip


def goose(number: int, role: str, words: str) -> Put:
    return "messages", {
        "id": number, "session_id": "one", "message_id": f"m{number}", "role": role, "created_timestamp": T + number,
        "content_json": json.dumps([said(words)]), "metadata_json": "{}",
    }  # fmt: skip


def hermes(number: int, role: str, words: str, *, active: int = 1, compacted: int = 0, **more: Any) -> Put:
    return "messages", {
        "id": number, "session_id": "one", "role": role, "content": words, "tool_call_id": None, "tool_calls": None,
        "timestamp": T / 1_000 + number, "finish_reason": "stop" if role == "assistant" else None, "active": active,
        "compacted": compacted,
    } | more  # fmt: skip


def hermes_session(name: str, tokens: int = 0, calls: int = 1) -> Put:
    return "sessions", {
        "id": name, "source": "cli", "title": "Ports", "model": "m", "model_config": "{}", "parent_session_id": None,
        "system_prompt": "Be brief.", "cwd": "/home/ann", "started_at": T / 1_000, "ended_at": None,
        "input_tokens": tokens, "cache_read_tokens": 0, "cache_write_tokens": 0, "output_tokens": 5 * calls,
        "api_call_count": calls,
    }  # fmt: skip


def opencode_session(name: str, title: str = "") -> Put:
    return "session", {
        "id": name, "project_id": "p", "parent_id": None, "directory": "/home/ann", "title": title, "version": "1.18",
        "revert": None, "time_created": T, "time_updated": T,
    }  # fmt: skip


def crush_session(name: str, tokens: int = 0) -> Put:
    return "sessions", {
        "id": name, "parent_session_id": None, "title": "Ports", "prompt_tokens": tokens, "completion_tokens": 5,
        "updated_at": T,
    }  # fmt: skip


def goose_session(name: str, tokens: int = 0) -> Put:
    return "sessions", {
        "id": name, "name": "Ports", "description": "", "working_dir": "/home/ann", "session_type": "user",
        "input_tokens": tokens, "output_tokens": 5, "updated_at": "2026-11-22", "model_config_json": "{}",
    }  # fmt: skip


USER = {"role": "user", "time": {"created": T}}
LATER = {"role": "user", "time": {"created": T + 5}}
ANSWER = {"role": "assistant", "modelID": "m", "time": {"created": T + 1}}
DONE = ANSWER | {"time": {"created": T + 1, "completed": T + 2}, "tokens": usage(900)}
WRITTEN = {"model": {"id": "m", "providerID": "p"}, "content": [said("8042.")], "tokens": usage(900)}
FINISHED = {"type": "finish", "data": {"reason": "end_turn"}}
ASKED = {"type": "text", "data": {"text": "Which port?"}}
TEXT = {"type": "text", "data": {"text": "8042."}}
HERMES_SAID = [
    *((1, "user", "Which port?"), (2, "assistant", "8042."), (3, "user", "And then?"), (4, "assistant", "80.")),
    (5, "user", "Why?"),
]
HERMES_SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted:\n"
# For each agent what its program writes, step by step, of the conversation `one` next to another one.
GROWING: dict[str, list[Sequence[Put]]] = {
    "opencode": [
        [opencode_session("zero"), opencode_session("one"), *opencode("m1", USER, said("Which port?"))],
        opencode("m2", ANSWER, said("80")),
        opencode("m2", DONE, said("8042.")),
        [opencode_session("one", "Ports of casks"), *opencode("m3", LATER, said("And then?"))],
    ],
    "opencode, newer table": [
        [opencode_session("zero"), opencode_session("one"), newer(2, "user", text="Which port?")],
        [newer(3, "assistant", content=[said("80")])],
        [newer(3, "assistant", **WRITTEN, time={"created": T, "completed": T})],
        [newer(4, "compaction", reason="auto", summary="The port.", recent=""), newer(5, "user", text="Go on.")],
    ],
    "crush": [
        [crush_session("zero"), crush_session("one"), crush("m1", "user", ASKED)],
        [crush("m2", "assistant", {"type": "text", "data": {"text": "80"}}, done=None)],
        [crush("m2", "assistant", TEXT, FINISHED), crush_session("one", 900)],
        [crush("m3", "user", ASKED)],
    ],
    "goose": [
        [goose_session("zero"), goose_session("one"), goose(1, "user", "Which port?")],
        [goose(2, "assistant", "8042."), goose_session("one", 900)],
        [goose(3, "user", "And then?")],
    ],
    "hermes": [
        [hermes_session("zero"), hermes_session("one"), hermes(1, "user", "Which port?")],
        [hermes(2, "assistant", "8042."), hermes_session("one", 900)],
        [hermes(3, "user", "And then?"), hermes(4, "assistant", "80."), hermes_session("one", 1_900, 2)],
        [hermes(5, "user", "Why?")],
        [
            *(hermes(*said, active=0, compacted=1) for said in HERMES_SAID),
            hermes(6, "user", "Which port?", timestamp=T / 1_000 + 6),
            hermes(7, "assistant", f"{HERMES_SUMMARY}The port is 8042.", timestamp=T / 1_000 + 6),
            hermes(8, "user", "Why?", timestamp=T / 1_000 + 6),
        ],
        [hermes(9, "assistant", "So that no other has it."), hermes_session("one", 2_500, 3)],
        # The last question is taken back.
        [
            hermes(8, "user", "Why?", active=0, timestamp=T / 1_000 + 6),
            hermes(9, "assistant", "So that no other has it.", active=0),
        ],
        [hermes(10, "user", "Which cask?")],
    ],
}  # fmt: skip


def put(path: Path, rows: Sequence[Put]) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for table, columns in rows:
            names = ", ".join(columns)
            database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({names}, PRIMARY KEY (id))")
            marks = ", ".join("?" for _ in columns)
            database.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", tuple(columns.values()))
