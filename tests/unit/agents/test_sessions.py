"""Where agents keep their conversations, what these are called in a list, and whose they are."""

from hashlib import sha256
from typing import Any

import pytest

from support.codex_files import event, said, session
from ullage.agents.agent import Agent, Running, Sessions, running_in_name, running_in_record
from ullage.agents.claude_code import running_patterns
from ullage.agents.claude_code.session_writer import project_pattern
from ullage.agents.discovery import is_kept_for
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.model.json_values import JsonObject

LINUX = Machine(system="linux", home="/home/ann")
MAC = Machine(system="darwin", home="/Users/ann")
WINDOWS = Machine(system="win32", home="C:\\Users\\ann", variables={"APPDATA": "C:\\Users\\ann\\AppData\\Roaming"})


def agent(name: str) -> Agent:
    return next(known for known in AGENTS if known.name == name)


def sessions_of(name: str) -> Sessions:
    sessions = next(known.sessions for known in AGENTS if known.name == name)
    assert sessions is not None
    return sessions


def patterns(name: str, machine: Machine) -> tuple[str, ...]:
    return sessions_of(name).patterns(machine)


def title(name: str, *records: dict[str, Any]) -> str:
    return sessions_of(name).title_of(records)


@pytest.mark.parametrize("machine", [LINUX, MAC, WINDOWS], ids=lambda machine: machine.system)
def test_every_place_is_an_absolute_pattern_with_forward_slashes(machine: Machine) -> None:
    places = [place for known in AGENTS if known.sessions for place in known.sessions.patterns(machine)]
    assert places
    for place in places:
        assert place.startswith(machine.home.replace("\\", "/") + "/")
        assert "\\" not in place
        assert "//" not in place


def test_a_variable_moves_the_place() -> None:
    machine = Machine(system="linux", home="/home/ann", variables={"PI_CODING_AGENT_DIR": "/data/pi/"})
    assert patterns("pi", machine) == ("/data/pi/sessions/*/*.jsonl",)
    machine = Machine(system="linux", home="/home/ann", variables={"PI_CODING_AGENT_SESSION_DIR": "/data/said/"})
    assert patterns("pi", machine) == ("/data/said/*.jsonl", "/home/ann/.pi/agent/sessions/*/*.jsonl")
    machine = Machine(system="linux", home="/home/ann", variables={"GEMINI_CLI_HOME": "/data"})
    assert patterns("Gemini CLI", machine)[0] == "/data/.gemini/tmp/*/chats/session-*.json*"
    assert patterns("Gemini CLI", LINUX)[0] == "/home/ann/.gemini/tmp/*/chats/session-*.json*"


def test_an_extensions_tasks_lie_in_the_editors_folder() -> None:
    task = "User/globalStorage/rooveterinaryinc.roo-cline/tasks/*/api_conversation_history.json"
    assert patterns("Roo Code", LINUX)[0] == f"/home/ann/.config/Code/{task}"
    assert patterns("Roo Code", MAC)[0] == f"/Users/ann/Library/Application Support/Code/{task}"
    assert f"/home/ann/.vscode-server/data/{task}" in patterns("Roo Code", LINUX)
    assert patterns("Roo Code", WINDOWS)[0] == f"C:/Users/ann/AppData/Roaming/Code/{task}"
    assert "/home/ann/.cline/data/sessions/*/*.messages.json" in patterns("Cline", LINUX)


def test_a_database_lies_in_the_folder_for_data() -> None:
    moved = Machine(system="linux", home="/home/ann", variables={"XDG_DATA_HOME": "/data"})
    assert patterns("opencode", moved)[0] == "/data/opencode/opencode.db"
    assert patterns("goose", moved)[0] == "/data/goose/sessions/sessions.db"
    assert patterns("goose", WINDOWS)[0] == "C:/Users/ann/AppData/Roaming/Block/goose/data/sessions/sessions.db"
    assert patterns("Crush", moved) == ("/data/crush/projects.json",)
    places = ("state.db", "profiles/*/state.db")
    assert patterns("Hermes", LINUX) == tuple(f"/home/ann/.hermes/{place}" for place in places)
    assert patterns("Hermes", WINDOWS) == tuple(f"C:/Users/ann/AppData/Local/hermes/{place}" for place in places)
    moved = Machine(system="linux", home="/home/ann", variables={"HERMES_HOME": "/data/hermes/"})
    assert patterns("Hermes", moved)[0] == "/data/hermes/state.db"


def test_a_row_or_a_companion_holds_the_title() -> None:
    assert title("opencode", {"table": "session", "row": {"title": "Barrels"}}) == "Barrels"
    assert title("goose", {"working_dir": "/home/ann", "description": "Barrels"}) == "Barrels"
    assert title("Kimi Code", {"type": "turn.prompt", "input": [{"type": "text", "text": "count"}]}) == "count"
    assert title("Cline", {"say": "task", "text": "count\nall"}, {"say": "text", "text": "no"}) == "count"
    prompt = {"source": "user", "llm_message": {"content": [{"type": "text", "text": "count"}]}}
    assert title("OpenHands", {"source": "agent"}, prompt) == "count"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("count the user's", "count the user's"),
        ('say "no"', 'say "no"'),
        ("'say \"no\": it''s late'", 'say "no": it\'s late'),
        (r'"say \"no\", \u092a"', 'say "no", \u092a'),
        (r'"a bell: \a"', r"a bell: \a"),
        ("", ""),
    ],
)
def test_a_title_in_a_yaml_file_is_read_as_it_is_written_there(written: str, name: str) -> None:
    assert title("Copilot CLI", {"file": "workspace.yaml", "text": f"id: 7\nname: {written}\n"}) == name


def test_a_folder_that_is_named_by_a_digest_is_that_of_its_project() -> None:
    file = f"/home/ann/.gemini/tmp/{sha256(b'/srv/cellar').hexdigest()}/chats/session-1.json"
    assert is_kept_for(file, "/srv/cellar")
    assert not is_kept_for(file, "/srv/other")


def test_a_title_is_the_given_name_or_else_the_first_prompt() -> None:
    inserted = {"type": "user", "content": [{"text": "<session_context>…"}]}
    prompt = {"type": "user", "content": [{"text": "\n count the barrels\nall"}]}
    assert title("Gemini CLI", inserted, prompt) == "count the barrels"
    assert title("Gemini CLI", prompt, {"$set": {"summary": "Barrels"}}, {"$set": {}}) == "Barrels"
    said = {"type": "message", "message": {"role": "user", "content": "count"}}
    assert title("pi", said) == "count"
    assert title("pi", said, {"type": "session_info", "name": "Barrels"}) == "Barrels"
    assert title("pi", {}) == ""


def test_a_project_and_its_sessions_are_found_by_the_projects_folder() -> None:
    assert project_pattern(LINUX, "/home/ann/my_cellar.d/ü x") == "/home/ann/.claude/projects/-home-ann-my-cellar-d---x"
    long = project_pattern(LINUX, "/" + "a" * 300)
    assert long == f"/home/ann/.claude/projects/-{'a' * 199}-*"
    machine = Machine(system="linux", home="/home/ann", variables={"CLAUDE_CONFIG_DIR": "/data/claude"})
    assert patterns("Claude Code", machine)[0] == "/data/claude/projects/*/*.jsonl"
    assert running_patterns(machine) == ("/data/claude/sessions/*.json",)


def test_a_title_of_a_session_is_the_users_or_a_made_one_or_else_the_first_prompt() -> None:
    told = {"type": "user", "message": {"content": "<command-name>/clear</command-name>"}}
    said = {"type": "user", "message": {"content": [{"type": "text", "text": "count the barrels"}]}}
    made, own = {"type": "ai-title", "aiTitle": "Barrels"}, {"type": "custom-title", "customTitle": "Mine"}
    assert title("Claude Code", told, said) == "count the barrels"
    assert title("Claude Code", said, made) == "Barrels"
    assert title("Claude Code", said, own, made) == "Mine"
    spoken, of_it = said | {"uuid": "u1"}, {"type": "summary", "summary": "Casks", "leafUuid": "u1"}
    assert title("Claude Code", spoken, of_it) == "Casks"
    assert title("Claude Code", spoken, of_it | {"leafUuid": "of another file"}) == "count the barrels"
    assert (
        title("Claude Code", said | {"isMeta": True}) == title("Claude Code", said | {"origin": {"kind": "peer"}}) == ""
    )
    asked = {"type": "user", "message": {"parts": [{"text": "count the casks"}]}}
    named = {"type": "system", "subtype": "custom_title", "systemPayload": {"customTitle": "Casks"}}
    assert title("Qwen Code", asked) == "count the casks"
    assert title("Qwen Code", asked | {"provenance": "system"}) == ""
    assert title("Qwen Code", asked, named, {}) == "Casks"
    command = {"phase": "invocation", "rawCommand": "/fix the cask", "sentToModel": True}
    fixed = {"type": "system", "subtype": "slash_command", "systemPayload": command}
    assert title("Qwen Code", fixed, asked) == "/fix the cask"
    shown = {"type": "user", "content": [{"text": "Fix this: x."}], "displayContent": [{"text": "/fix x"}]}
    assert title("Gemini CLI", shown) == "/fix x"


def test_sub_agents_files_are_companions_of_their_session() -> None:
    session = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
    assert agent("Claude Code").companions(f"/p/{session}.jsonl") == (f"{session}/subagents/**/agent-*.jsonl",)
    assert agent("Claude Code").companions("/p/agent-a1b2.jsonl") == ()
    assert agent("Qwen Code").companions("/p/chats/0a-1.jsonl") == ("../subagents/0a-1/agent-*.jsonl",)
    assert agent("Qwen Code").companions("/p/0a-1.jsonl") == ()


def test_what_an_agent_says_of_its_processes_is_read() -> None:
    record = {"pid": 4711, "sessionId": "s1", "cwd": "/home/ann"}
    known = Running(process_id=4711, session_id="s1")
    assert running_in_record("/home/ann/.claude/sessions/4711.json", [record]) == known
    assert running_in_name("/home/ann/.copilot/session-state/s1/inuse.4711.lock", []) == known


@pytest.mark.parametrize("record", [{}, {"pid": "4711"}, {"pid": 4711}, {"pid": True, "sessionId": "s"}, {"pid": 0}])
def test_a_file_that_names_no_process_or_conversation_says_nothing(record: dict[str, Any]) -> None:
    assert running_in_record("/home/ann/.claude/sessions/4711.json", [record]) is None
    assert running_in_record("/home/ann/.claude/sessions/4711.json", []) is None
    assert running_in_name("/home/ann/.copilot/session-state/s1/inuse.lock", []) is None


# Where conversations are found, and their titles


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


# What the paths and records of sub-agents' files say: whose they are, and which conversation started them


MAIN = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
SIDE = {"isSidechain": True, "agentId": "a1", "sessionId": MAIN}
SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": MAIN}}}


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
