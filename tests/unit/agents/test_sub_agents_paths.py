"""What the paths and records of sub-agents' files say: whose they are, and which conversation started them."""

import pytest

from ullage.agents.agent import Sessions
from ullage.agents.table import AGENTS
from ullage.model.json_values import JsonObject

MAIN = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
SIDE = {"isSidechain": True, "agentId": "a1", "sessionId": MAIN}
SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": MAIN}}}


def sessions_of(name: str) -> Sessions:
    sessions = next(agent.sessions for agent in AGENTS if agent.name == name)
    assert sessions is not None
    return sessions


@pytest.mark.parametrize(
    ("agent", "path", "own"),
    [
        ("Claude Code", f"/h/.claude/projects/p/{MAIN}/subagents/agent-a1.jsonl", "a1"),
        ("Claude Code", f"/h/.claude/projects/p/{MAIN}/subagents/workflows/wf_0a/agent-a1.jsonl", "a1"),
        ("Qwen Code", f"/h/.qwen/projects/p/subagents/{MAIN}/agent-general-call_1.jsonl", "general-call_1"),
        ("Gemini CLI", f"/h/.gemini/tmp/p/chats/{MAIN}/sub.jsonl", "sub"),
        ("Kimi Code", f"/h/.kimi-code/sessions/w/{MAIN}/agents/agent-0/wire.jsonl", f"{MAIN}/agent-0"),
        ("Cline", f"/h/.cline/data/sessions/s/{MAIN}__agent-2.messages.json", f"{MAIN}__agent-2"),
        ("Cursor", f"/h/.cursor/projects/p/agent-transcripts/{MAIN}/subagents/b2.jsonl", "b2"),
    ],
)
def test_a_path_says_whose_conversation_it_is_before_the_file_has_a_record(agent: str, path: str, own: str) -> None:
    sessions = sessions_of(agent)
    facts = sessions.facts_of(path, ())
    assert (sessions.is_sub_agent(path), facts.is_side, facts.session_id, facts.parent) == (True, True, own, MAIN)


@pytest.mark.parametrize(
    ("agent", "path", "record"),
    [
        ("Claude Code", "/h/.claude/projects/p/agent-a1.jsonl", SIDE),
        ("Codex", "/h/r.jsonl", {"type": "session_meta", "payload": {"id": "a1", "source": SPAWNED}}),
        ("opencode", "/h/o.db", {"table": "session", "row": {"id": "a1", "parent_id": MAIN}}),
        ("Crush", "/h/c.db", {"table": "sessions", "row": {"id": "a1", "parent_session_id": MAIN}}),
    ],
)
def test_a_record_says_which_conversation_started_a_sub_agent(agent: str, path: str, record: JsonObject) -> None:
    facts = sessions_of(agent).facts_of(path, [record])
    assert (facts.is_side, facts.session_id, facts.parent) == (True, "a1", MAIN)


def test_a_users_conversation_has_no_parent() -> None:
    facts = sessions_of("Claude Code").facts_of(f"/h/.claude/projects/p/{MAIN}.jsonl", [SIDE | {"isSidechain": False}])
    assert (facts.is_side, facts.session_id, facts.parent) == (False, MAIN, "")
