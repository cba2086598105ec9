"""Sub-agents' conversations are distinguished from those of users."""

from pathlib import Path
from typing import Any

import pytest

from support.homes import Home, put_claude, put_codex
from ullage.agents.discovery import UnreadFile
from ullage.agents.table import AGENTS
from ullage.watch.candidates import find_candidates, is_of_sub_agent

CHILD = {"id": "ses_2", "parent_id": "ses_1", "project_id": "p", "directory": "/home/ada", "time_updated": 5}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "ada")


def own(home: Home) -> list[str]:
    unread: list[UnreadFile] = []
    found = [one.origin_id for one in find_candidates(home.machine, AGENTS, unread) if not is_of_sub_agent(one)]
    assert unread == []
    return sorted(found)


def test_rows_and_files_of_sub_agents_are_known_by_what_they_hold(home: Home) -> None:
    parent: dict[str, Any] = CHILD | {"id": "ses_1", "parent_id": None}
    home.put_rows(".local/share/opencode/opencode.db", "session", [parent, CHILD])
    put_claude(home, name="0198c1d2-0000-7000-8000-000000000001")
    put_codex(home, name="0198c1d2-0000-7000-8000-000000000002")
    put_codex(home, name="0198c1d2-0000-7000-8000-000000000003", source={"subagent": {"thread_spawn": {}}})
    names = [f"0198c1d2-0000-7000-8000-00000000000{number}" for number in (1, 2)]
    assert own(home) == [*names, "ses_1"]
    assert own(home) == [*names, "ses_1"]


def test_a_file_without_a_record_yet_is_asked_again(home: Home) -> None:
    path = put_codex(home, source={"subagent": {"thread_spawn": {}}})
    whole = path.read_bytes()
    path.write_bytes(whole[:10])
    assert len(own(home)) == 1
    path.write_bytes(whole)
    assert own(home) == []


def test_what_a_file_next_to_it_says_counts_once_that_is_there(home: Home) -> None:
    session = ".grok/sessions/project/0198c1d2"
    home.put(f"{session}/chat_history.jsonl", '{"type": "user", "content": "go", "prompt_index": 0}\n')
    assert len(own(home)) == 1
    home.put(f"{session}/summary.json", '{"info": {"id": "0198c1d2"}, "session_kind": "subagent"}')
    assert own(home) == []


def test_a_sub_agent_of_a_workflow_is_found_next_to_one_of_the_session(home: Home) -> None:
    line = '{"type":"user","isSidechain":true,"agentId":"%s","sessionId":"s","message":{"role":"user","content":"go"}}'
    folder = ".claude/projects/-home-ada/s/subagents"
    for place, agent_id in (("", "a1"), ("workflows/wf_1/", "a2")):
        home.put(f"{folder}/{place}agent-{agent_id}.jsonl", line % agent_id)
    found = [one.name for one in find_candidates(home.machine, AGENTS, []) if is_of_sub_agent(one)]
    assert sorted(name.rpartition("/")[2] for name in found) == ["agent-a1.jsonl", "agent-a2.jsonl"]
