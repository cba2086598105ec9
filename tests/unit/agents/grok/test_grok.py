"""Chat histories of the Grok CLI."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.foreign import to_lines
from support.transcripts import conversation
from ullage.agents.grok import facts_of
from ullage.agents.transcripts import read_document
from ullage.system.transcript_files import read_transcript_file

ROWS: tuple[dict[str, Any], ...] = (
    {"type": "system", "content": "Be brief."},
    {"type": "user", "content": [{"type": "text", "text": "go"}], "prompt_index": 0},
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"},
    {
        "type": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "c", "name": "read_file", "arguments": '{"target_file": "a.py"}'}],
        "model_id": "some-model",
    },
    {"type": "tool_result", "tool_call_id": "c", "content": "text"},
    {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "action": {"query": "casks"}}},
    {"type": "assistant", "content": "Done.", "tool_calls": [], "model_id": "some-model"},
    {"type": "user", "content": [{"type": "image", "url": "data:image/png;base64,eA=="}], "prompt_index": 1},
    {"type": "levitation"},
)


def test_the_facts_of_a_session_are_beside_it(tmp_path: Path) -> None:
    (tmp_path / "chat_history.jsonl").write_bytes(to_lines(*ROWS))
    facts = {"info": {"id": "s", "cwd": "/home/dev/shop"}, "generated_title": "Casks", "current_model_id": "some-model"}
    (tmp_path / "summary.json").write_text(json.dumps(facts))
    transcript = read_document(read_transcript_file(tmp_path / "chat_history.jsonl"))
    assert (transcript.session_id, transcript.cwd, transcript.title) == ("s", "/home/dev/shop", "Casks")


def test_a_sub_agents_session_is_known_by_the_facts_beside_it(tmp_path: Path) -> None:
    (tmp_path / "chat_history.jsonl").write_bytes(to_lines(*ROWS))
    for kind, is_side in ((None, False), ("subagent", True)):
        facts = {"info": {"id": "s"}, "session_kind": kind}
        (tmp_path / "summary.json").write_text(json.dumps(facts))
        assert read_document(read_transcript_file(tmp_path / "chat_history.jsonl")).is_sub_agent is is_side


@pytest.mark.parametrize("name", ["summary", "subagent__summary"])
def test_a_recorded_summary_says_whose_session_it_is(name: str) -> None:
    summary = json.loads(conversation(f"agent_fixtures/grok__{name}.json").read_bytes())
    facts = facts_of("/sessions/p/s/chat_history.jsonl", [*ROWS, summary])
    assert (facts.session_id, facts.is_side, facts.parent) == (summary["info"]["id"], name != "summary", "")
    assert facts.cwd == "/tmp/as-agent-lab/grok/project"
