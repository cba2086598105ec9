"""What other files say of a conversation, and which files those are."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.foreign import messages_of, reports_of, to_lines, unexplained
from support.transcripts import ROOT, conversation
from ullage.agents.grok import AGENT as GROK_CLI
from ullage.agents.transcripts import companions_of, read_document
from ullage.system.growing_files import read_transcript_file

DROID = (
    {"type": "session_start", "id": "s", "title": "first words", "sessionTitle": "Casks", "cwd": "/home/dev/shop"},
    {"type": "message", "id": "m1", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}},
)
CHAT: dict[str, Any] = {
    "version": 3,
    "sessionId": "s",
    "responderUsername": "GitHub Copilot",
    "requests": [{"requestId": "q", "message": {"text": "one", "parts": []}, "response": [{"value": "First."}]}],
}
COPILOT_CLI = (
    {
        "type": "session.start",
        "data": {"sessionId": "s", "selectedModel": "m", "context": {"cwd": "/home/dev/shop"}},
        "id": "e1",
    },
    {"type": "user.message", "data": {"content": "go", "messageId": "u-go"}, "id": "e2"},
)
GROK: tuple[dict[str, Any], ...] = (
    {"type": "system", "content": "Be brief."},
    {"type": "user", "content": [{"type": "text", "text": "go"}], "prompt_index": 0},
    {"type": "assistant", "content": "Done.", "tool_calls": [], "model_id": "some-model"},
)
GROK_FACTS = {"info": {"id": "s", "cwd": "/home/dev/shop"}, "generated_title": "Casks"}
KIMI_STATE = {"id": "session_9", "cwd": "/home/ann", "title": "Files"}


def kimi(agent: str) -> bytes:
    text = [{"type": "text", "text": "list"}]
    message = {"role": "user", "content": text, "id": "u1", "toolCalls": [], "origin": {"kind": "user"}}
    records = (
        {"type": "metadata", "protocol_version": "1.5"},
        {"type": "context.append_message", "message": message},
    )
    return to_lines(*({"agentId": agent} | record for record in records))


@pytest.mark.parametrize(
    ("name", "data", "beside", "facts"),
    [
        (
            ".factory/sessions/-home-dev-shop/s.jsonl",
            to_lines(*DROID),
            ("s.settings.json", json.dumps({"model": "some-model", "tokenUsage": {"inputTokens": 9}})),
            {"model": "some-model", "cwd": "/home/dev/shop", "title": "Casks"},
        ),
        (
            "workspaceStorage/0a1b/chatSessions/s.json",
            json.dumps(CHAT).encode(),
            ("../workspace.json", '{"folder": "file:///home/dev/my%20project"}'),
            {"cwd": "/home/dev/my project"},
        ),
        (
            "session-state/s/events.jsonl",
            to_lines(*COPILOT_CLI),
            ("workspace.yaml", "id: s\ncwd: /home/dev/shop\nname: 'Casks: a plan'\nuser_named: true\n"),
            {"title": "Casks: a plan", "cwd": "/home/dev/shop", "model": "m"},
        ),
        (
            "chat_history.jsonl",
            to_lines(*GROK),
            ("summary.json", json.dumps(GROK_FACTS | {"session_kind": None})),
            {"session_id": "s", "cwd": "/home/dev/shop", "title": "Casks", "is_sub_agent": False},
        ),
        (
            "chat_history.jsonl",
            to_lines(*GROK),
            ("summary.json", json.dumps(GROK_FACTS | {"session_kind": "subagent"})),
            {"is_sub_agent": True},
        ),
        (
            "sessions/wd/session_9/agents/main/wire.jsonl",
            kimi("main"),
            ("../../state.json", json.dumps(KIMI_STATE)),
            {"session_id": "session_9", "title": "Files", "parent": ""},
        ),
        (
            "sessions/wd/session_9/agents/agent-0/wire.jsonl",
            kimi("agent-0"),
            ("../../state.json", json.dumps(KIMI_STATE)),
            {"session_id": "session_9/agent-0", "parent": "session_9"},
        ),
    ],
    ids=["Droid", "Copilot Chat", "Copilot CLI", "Grok", "Grok's sub-agent", "Kimi Code", "Kimi Code's sub-agent"],
)
def test_a_file_beside_a_conversation_says_what_it_does_not_say_itself(
    tmp_path: Path, name: str, data: bytes, beside: tuple[str, str], facts: dict[str, Any]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    (path.parent / beside[0]).write_text(beside[1])
    transcript = read_document(read_transcript_file(path))
    assert {fact: getattr(transcript, fact) for fact in facts} == facts
    assert (reports_of(transcript), unexplained(transcript)) == ([], [])


@pytest.mark.parametrize(
    ("path", "companions"),
    [
        ("/x/s-1/s-1.messages.json", ("s-1.json", "s-1.compaction.json")),
        ("/x/s-1/s-1.json", ()),
        (
            "/x/tasks/1/api_conversation_history.json",
            ("ui_messages.json", "task_metadata.json", "history_item.json"),
        ),
        ("/k/sessions/wd/session_9/agents/main/wire.jsonl", ("../../state.json",)),
        ("/d/opencode/storage/session/p/s-1.json", ("../../message/s-1/*.json", "../../part/*/*.json")),
        ("/home/ann/.openhands/conversations/c1/base_state.json", ("events/event-*.json",)),
    ],
)
def test_the_files_beside_a_conversation_are_known_by_its_path(path: str, companions: tuple[str, ...]) -> None:
    assert companions_of(path) == companions


@pytest.mark.parametrize("name", ["summary", "subagent__summary"])
def test_a_recorded_summary_of_grok_says_whose_session_it_is(name: str) -> None:
    summary = json.loads(conversation(f"agent_fixtures/grok__{name}.json").read_bytes())
    assert GROK_CLI.sessions
    facts = GROK_CLI.sessions.facts_of("/sessions/p/s/chat_history.jsonl", [*GROK, summary])
    assert (facts.session_id, facts.is_side, facts.parent) == (summary["info"]["id"], name != "summary", "")
    assert (facts.cwd, facts.model) == ("/tmp/as-agent-lab/grok/project", "some-model")


def test_the_recorded_storage_folders_of_opencode_are_read(tmp_path: Path) -> None:
    for file in sorted(ROOT.glob("agent_fixtures/opencode__*")):
        place = tmp_path / file.name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    for folder in tmp_path.glob("opencode/*"):
        transcript = read_document(read_transcript_file(folder))
        assert unexplained(transcript) == []
        assert len(messages_of(transcript)) in (2, 5)


def test_a_file_that_is_named_from_within_its_agents_folder_has_the_same_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".factory" / "sessions"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_bytes(to_lines(*DROID))
    (folder / "s.settings.json").write_text('{"model": "some-model"}')
    for here, name in ((folder, "s.jsonl"), (tmp_path, ".factory/sessions/s.jsonl")):
        monkeypatch.chdir(here)
        assert read_document(read_transcript_file(Path(name))).model == "some-model"
