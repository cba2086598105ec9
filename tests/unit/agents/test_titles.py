"""Where agents keep their conversations, and what these are called in a list."""

from typing import Any

import pytest

from support.codex_files import event, said, session
from ullage.agents.agent import Sessions
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS

LINUX = Machine(system="linux", home="/home/ann")
MAC = Machine(system="darwin", home="/Users/ann")


def sessions_of(name: str) -> Sessions:
    (agent,) = [agent for agent in AGENTS if agent.name == name]
    assert agent.sessions is not None
    return agent.sessions


@pytest.mark.parametrize(
    ("name", "machine", "place"),
    [
        ("Codex", LINUX, "/home/ann/.codex/sessions/*/*/*/rollout-*.jsonl"),
        ("Codex", LINUX, "/home/ann/.codex/archived_sessions/rollout-*.jsonl"),
        ("Codex", LINUX, "/home/ann/.codex/archived_sessions/rollout-*.jsonl.zst"),
        (
            "Codex",
            Machine(system="linux", home="/h", variables={"CODEX_HOME": "/c"}),
            "/c/sessions/*/*/*/rollout-*.jsonl",
        ),
        ("Copilot CLI", LINUX, "/home/ann/.copilot/session-state/*/events.jsonl"),
        ("Copilot Chat", LINUX, "/home/ann/.config/Code/User/workspaceStorage/*/chatSessions/*.json*"),
        (
            "Copilot Chat",
            MAC,
            "/Users/ann/Library/Application Support/Code/User/globalStorage/emptyWindowChatSessions/*.json*",
        ),
        ("opencode", LINUX, "/home/ann/.local/share/opencode/opencode.db"),
        ("opencode", LINUX, "/home/ann/.local/share/opencode/opencode-*.db"),
        ("opencode", Machine(system="linux", home="/h", variables={"OPENCODE_DB": "/d/own.db"}), "/d/own.db"),
        (
            "opencode",
            Machine(system="linux", home="/h", variables={"OPENCODE_DB": "own.db"}),
            "/h/.local/share/opencode/own.db",
        ),
        ("Droid", LINUX, "/home/ann/.factory/sessions/*/*.jsonl"),
        ("Cursor", LINUX, "/home/ann/.cursor/projects/*/agent-transcripts/*/*.jsonl"),
        (
            "Antigravity",
            LINUX,
            "/home/ann/.gemini/antigravity-cli/brain/*/.system_generated/logs/transcript_full.jsonl",
        ),
        ("Grok CLI", LINUX, "/home/ann/.grok/sessions/*/*/chat_history.jsonl"),
    ],
)
def test_conversations_are_found_at_their_place(name: str, machine: Machine, place: str) -> None:
    assert place in sessions_of(name).patterns(machine)


CONTEXT = said("user", "<environment_context>\n</environment_context>")
CHAT: dict[str, Any] = {"sessionId": "s", "requests": [{"message": {"text": "Fill the cask\nnow"}}]}


@pytest.mark.parametrize(
    ("name", "records", "title"),
    [
        ("Codex", [session(), CONTEXT, said("user", "Fill the cask\nnow")], "Fill the cask"),
        ("Codex", [session(), said("user", "x"), event("thread_name_updated", thread_name="Casks")], "Casks"),
        ("Codex", [session(), said("user", "/plugin:plan"), said("user", "Fill it")], "Fill it"),
        ("Codex", [session(), said("user", "/plugin:plan fill it"), said("user", "Yes")], "/plugin:plan fill it"),
        ("Codex", [session(), said("user", "/init")], "/init"),
        ("Codex", [session(), said("user", "/usr/bin/cask leaks"), said("user", "Yes")], "/usr/bin/cask leaks"),
        ("Copilot CLI", [{"type": "user.message", "data": {"content": "Fill the cask"}}], "Fill the cask"),
        ("Copilot Chat", [CHAT], "Fill the cask"),
        ("Copilot Chat", [{"kind": 0, "v": CHAT}, {"kind": 1, "k": ["customTitle"], "v": "Casks"}], "Casks"),
        ("Droid", [{"type": "session_start", "title": "fill", "sessionTitle": "Casks"}], "Casks"),
        ("Droid", [{"type": "message", "message": {"role": "user", "content": "Fill the cask"}}], "Fill the cask"),
        ("Cursor", [{"role": "user", "message": {"content": [{"type": "text", "text": "Fill"}]}}], "Fill"),
        ("Antigravity", [{"type": "USER_INPUT", "content": "<USER_REQUEST>\nFill\n</USER_REQUEST>"}], "Fill"),
        (
            "Grok CLI",
            [{"type": "user", "content": "x", "synthetic_reason": "y"}, {"type": "user", "content": "Fill"}],
            "Fill",
        ),
    ],
)
def test_a_conversation_is_called_by_its_name_or_its_first_prompt(
    name: str, records: list[dict[str, Any]], title: str
) -> None:
    assert sessions_of(name).title_of(records) == title
    assert sessions_of(name).title_of([]) == ""
