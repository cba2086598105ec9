from typing import Any

from support.growing_files import expect_every_split_to_read_alike
from ullage.agents.cline import FORMAT
from ullage.agents.transcripts import companions_of
from ullage.formats.parsing import Document

T = 1_790_000_000_000


def said(message_id: str, role: str, *content: Any, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return {"id": message_id, "role": role, "content": blocks, "ts": T} | more


def answered(message_id: str, *content: Any, prompt: int = 900) -> dict[str, Any]:
    metrics = {"inputTokens": prompt, "outputTokens": 20, "cacheReadTokens": 300, "cacheWriteTokens": 100}
    return said(message_id, "assistant", *content, modelInfo={"id": "m1", "provider": "p"}, metrics=metrics)


TURN = [
    said("u1", "user", "list", {"type": "file", "path": "/home/ann/a.md", "content": "# A"}),
    answered("a1", {"type": "tool_use", "id": "t1", "name": "run_commands", "input": {"commands": ["ls"]}}),
    said("r1", "user", {"type": "tool_result", "tool_use_id": "t1", "content": [{"query": "ls", "result": "a.md"}]}),
    answered("a2", "One file.", prompt=1_000),
    said("u2", "user", "thanks"),
]
COMPACTION = {
    "updated_at": "2026-09-21T14:13:20.000Z",
    "conversation_id": "s-1",
    "source_message_count": 4,
    "messages": [
        said("", "user", "Summary: one file.", metadata={"kind": "compaction_summary"}) | {"id": None},
        TURN[3],
    ],
}


def session(messages: list[dict[str, Any]], *companions: Document, session_id: str = "s-1") -> Document:
    value = {
        "version": 1,
        "updated_at": "2026-09-21T14:13:20.000Z",
        "sessionId": session_id,
        "origin": {"version": "3.1.0"},
        "system_prompt": "Be brief.",
        "messages": messages,
    }
    return Document(
        name=f"/home/ann/.cline/data/sessions/s-1/{session_id}.messages.json", value=value, companions=companions
    )


def test_the_files_beside_a_session_are_known_by_its_name() -> None:
    assert companions_of("/x/s-1/s-1.messages.json") == ("s-1.json", "s-1.compaction.json")
    assert companions_of("/x/s-1/s-1.json") == ()


def test_a_session_reads_alike_in_every_two_pieces() -> None:
    expect_every_split_to_read_alike(FORMAT, session(TURN, Document(name="s-1.compaction.json", value=COMPACTION)))
