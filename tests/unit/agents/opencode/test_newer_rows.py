"""Rows of the shape that opencode 1.18.33 wrote when its server was asked by the second interface."""

import json
from typing import Any

from support.databases import database
from support.growing_files import expect_every_split_to_read_alike, read_pieces
from ullage.agents.opencode_sessions import FORMAT
from ullage.formats.parsing import Document

T = 1_790_000_000_000
SESSION = {
    "id": "ses_1",
    "project_id": "global",
    "parent_id": None,
    "directory": "/home/ann/barrels",
    "title": "New session - 2026-11-22T17:14:44.349Z",
    "version": "1.18.33",
    "model": '{"id":"m","providerID":"wire"}',
    "revert": None,
    "time_created": T,
    "time_updated": T,
}
TOKENS = {"input": 2154, "output": 32, "reasoning": 5, "cache": {"read": 1077, "write": 0}}
MODEL = {"id": "m", "providerID": "wire", "variant": "default"}


def row(kind: str, seq: int, at: int = 0, **data: Any) -> tuple[str, dict[str, Any]]:
    known = {"time": {"created": T + (at or seq) * 1_000}} | data
    columns = {"id": f"msg_{seq}", "session_id": "ses_1", "type": kind, "seq": seq, "data": json.dumps(known)}
    return "session_message", columns | {"time_created": T, "time_updated": T}


def answer(seq: int, *content: dict[str, Any], **data: Any) -> tuple[str, dict[str, Any]]:
    time = {"created": T + seq * 1_000, "completed": T + seq * 1_000 + 500}
    known: dict[str, Any] = {
        "agent": "build",
        "model": MODEL,
        "finish": "stop",
        "cost": 0,
        "tokens": TOKENS,
        "time": time,
    }
    return row("assistant", seq, 0, **(known | {"content": list(content)} | data))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "id": "text-0", "text": words}


def call(**state: Any) -> dict[str, Any]:
    done = {
        "status": "completed",
        "input": {"command": "ls"},
        "content": [{"type": "text", "text": "cask.py"}, {"type": "text", "text": "Command exited with code 0."}],
        "outputPaths": [],
        "structured": {"exit": 0},
    }
    time = {"created": T, "ran": T, "completed": T}
    return {"type": "tool", "id": "call_1", "name": "bash", "state": done | state, "time": time}


TALK = [
    row("user", 2, text="Which port?"),
    row("system", 4, text="Skills provide specialized instructions."),
    answer(5, {"type": "reasoning", "id": "r", "text": "look"}, call(), finish="tool-calls"),
    answer(6, text("8042.")),
]


def stored(*rows: tuple[str, dict[str, Any]], **session: Any) -> Document:
    return database("opencode.db", ("session", SESSION | session), *rows)


def test_an_answer_that_is_being_written_is_read_when_it_is_complete() -> None:
    assert FORMAT.records is not None
    growing = answer(5, call(status="running", content=[]), time={"created": T + 5_000})
    before = FORMAT.records(stored(*TALK[:2], growing)).lines
    after = FORMAT.records(stored(*TALK)).lines
    assert read_pieces(FORMAT, [before, after[3:]]) == read_pieces(FORMAT, [after])


def test_rows_read_in_pieces_are_the_same_as_at_once() -> None:
    compaction = row("compaction", 8, reason="manual", summary="The port is 8042.", recent="")
    expect_every_split_to_read_alike(FORMAT, stored(*TALK, compaction, row("user", 9, text="Go on.")))
