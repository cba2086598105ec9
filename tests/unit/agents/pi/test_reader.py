from typing import Any

from support.foreign import read_lines
from ullage.agents.inserted import is_by_agent
from ullage.ledger.said import typed_text
from ullage.lost.left_out import last_compaction, records_of
from ullage.model.message import Role
from ullage.transcript.fold import project

TIME = "2026-05-01T10:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": TIME, "cwd": "/home/ann/barrels"}


def entry(kind: str, entry_id: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": TIME} | fields


def said(entry_id: str, parent: str | None, text: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]} | fields
    return entry("message", entry_id, parent, message=message)


def answered(entry_id: str, parent: str, text: str, prompt: int = 100, **fields: Any) -> dict[str, Any]:
    usage = {"input": prompt, "output": 7, "cacheRead": 50, "cacheWrite": 3, "totalTokens": prompt + 60}
    return said(entry_id, parent, text, "assistant", usage=usage, model="m1", stopReason="stop", **fields)


BRANCHED = (
    HEADER,
    said("u1", None, "first"),
    answered("a1", "u1", "one"),
    said("u2", "a1", "left"),
    answered("a2", "u2", "two"),
    entry("branch_summary", "b1", "a1", fromId="a2", summary="Tried left."),
    said("u3", "b1", "right"),
    entry("label", "l1", "u3", targetId="u1", label="start"),
    answered("a3", "l1", "three"),
)


def test_a_compaction_with_an_empty_summary_kept_nothing() -> None:
    emptied = entry("compaction", "c1", "a3", summary="", firstKeptEntryId="a3", tokensBefore=9)
    found = last_compaction(records_of(read_lines(*BRANCHED, emptied)))
    assert found and (found.is_readable, found.has_summary) == (True, False)


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
