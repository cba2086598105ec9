"""A made-up home folder with one conversation of each agent, and a sub-agent's where the agent writes such files."""

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from support.claude_log import ClaudeLog
from support.codex_files import counted, said, session
from support.foreign import to_lines
from ullage.agents.machine import Machine

PROJECT = "/home/ada/weather"
# Seconds. The time of the oldest file; each later one is a minute newer.
OLDEST = 1_795_000_000
_ID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"


class Kept(Struct, frozen=True, kw_only=True):
    """What a list should say of an agent's conversation. An empty text is one that the agent does not write."""

    agent: str
    format: str
    title: str
    cwd: str = PROJECT
    run: int | None = None


class Home:
    """A home folder. Each file that is put into it is newer than those before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._time = OLDEST

    @property
    def machine(self) -> Machine:
        """A Linux machine of this user, who works in the project."""
        return Machine(system="linux", home=str(self.path), cwd=PROJECT)

    def put(self, name: str, content: bytes | str) -> Path:
        """Writes a file and returns its path."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        self._time += 60
        os.utime(file, (self._time, self._time))
        return file

    def put_rows(self, name: str, table: str, rows: Sequence[dict[str, Any]]) -> Path:
        """Makes a database with a table, and returns its path."""
        file = self.put(name, "")
        columns = list(rows[0])
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            marks = ", ".join("?" for _ in columns)
            database.executemany(f"INSERT INTO {table} VALUES ({marks})", [tuple(row.values()) for row in rows])
        return file


def put_claude(
    home: Home, name: str = _ID, title: str = "Why is it wet?", cwd: str = PROJECT, tokens: int = 900
) -> Path:
    """Puts a conversation of Claude Code into a home."""
    log = ClaudeLog(session=name, cwd=cwd).ask(title).answer(tokens)
    return home.put(f".claude/projects/{cwd.replace('/', '-')}/{name}.jsonl", log.data)


def put_codex(
    home: Home, name: str = _ID, title: str = "Rain", cwd: str = PROJECT, tokens: int = 900, **facts: Any
) -> Path:
    """Puts a conversation of Codex into a home."""
    lines = (session(id=name, cwd=cwd, **facts), said("user", title), said("assistant", "Yes."), counted(tokens))
    return home.put(f".codex/sessions/2026/11/22/rollout-2026-11-22T10-00-00-{name}.jsonl", to_lines(*lines))


def put_all(home: Home) -> tuple[Kept, ...]:
    """Puts one conversation of each agent into a home, and sub-agents' files. Returns what a list should say."""
    put_claude(home)
    home.put(f".claude/projects/-home-ada-weather/{_ID}/subagents/agent-1.jsonl", to_lines({"isSidechain": True}))
    home.put(".claude/projects/-home-ada-weather/agent-2.jsonl", to_lines({"isSidechain": True}))
    put_codex(home)
    put_codex(home, "1" + _ID[1:], source={"subagent": {"thread_spawn": {"parent_thread_id": _ID}}})
    return (
        Kept(agent="Claude Code", format="claude-code", title="Why is it wet?"),
        Kept(agent="Codex", format="codex-rollout", title="Rain"),
        *_put_logs(home),
        *_put_values(home),
        *_put_databases(home),
    )


def _put_logs(home: Home) -> Iterable[Kept]:
    user = {"role": "user", "content": "Clouds?"}
    head = {"sessionId": _ID, "projectHash": "x", "startTime": "2026-11-22T10:00:00Z", "kind": "main"}
    home.put(".gemini/tmp/weather/.project_root", PROJECT)
    asked = {"id": "u1", "type": "user", "content": [{"text": "Fog?"}]}
    home.put(".gemini/tmp/weather/chats/session-2026-11-22T10-00-0a1b2c3d.jsonl", to_lines(head, asked))
    home.put(f".gemini/tmp/weather/chats/{_ID}/sub.jsonl", to_lines({**head, "kind": "subagent"}, asked))
    yield Kept(agent="Gemini CLI", format="gemini-cli", title="Fog?")
    line = {"uuid": "u1", "sessionId": _ID, "cwd": PROJECT, "type": "user", "version": "0.24.4"}
    parts = {"message": {"role": "user", "parts": [{"text": "Hail?"}]}}
    home.put(f".qwen/projects/-home-ada-weather/chats/{_ID}.jsonl", to_lines({**line, **parts}))
    home.put(f".qwen/projects/-home-ada-weather/subagents/{_ID}/agent-a-1.jsonl", to_lines({**line, **parts}))
    yield Kept(agent="Qwen Code", format="qwen-code", title="Hail?")
    first = {"type": "session", "version": 3, "id": _ID, "timestamp": "2026-11-22T10:00:00Z", "cwd": PROJECT}
    message = {"type": "message", "id": "m1", "parentId": None, "message": user}
    home.put(f".pi/agent/sessions/--home-ada-weather--/2026-11-22T10-00-00-000Z_{_ID}.jsonl", to_lines(first, message))
    yield Kept(agent="pi", format="pi", title="Clouds?")
    start = {"type": "session.start", "data": {"sessionId": _ID, "context": {"cwd": PROJECT}}, "id": "1"}
    home.put(f".copilot/session-state/{_ID}/workspace.yaml", f"id: {_ID}\ncwd: {PROJECT}\nname: Storms\n")
    home.put(f".copilot/session-state/{_ID}/events.jsonl", to_lines(start))
    yield Kept(agent="Copilot CLI", format="copilot-cli", title="Storms")
    turn = {"type": "turn.prompt", "input": [{"type": "text", "text": "Dew?"}]}
    kimi = f".kimi-code/sessions/wd_weather_1/session_{_ID}"
    home.put(f"{kimi}/state.json", json.dumps({"cwd": PROJECT, "title": "Dew"}))
    meta = {"type": "metadata", "protocol_version": "1.5"}
    home.put(f"{kimi}/agents/main/wire.jsonl", to_lines(meta, turn))
    home.put(f"{kimi}/agents/agent-0/wire.jsonl", to_lines(meta, turn))
    yield Kept(agent="Kimi Code", format="kimi-code", title="Dew")
    start = {"type": "session_start", "id": _ID, "title": "Thaw", "cwd": PROJECT}
    told = {"type": "message", "id": "m1", "message": user}
    home.put(f".factory/sessions/-home-ada-weather/{_ID}.jsonl", to_lines(start, told))
    yield Kept(agent="Droid", format="droid", title="Thaw")
    cursor = ".cursor/projects/home-ada-weather/agent-transcripts"
    record = {"role": "user", "message": {"content": [{"type": "text", "text": "Snow?"}]}}
    home.put(f"{cursor}/{_ID}/{_ID}.jsonl", to_lines(record))
    home.put(f"{cursor}/{_ID}/subagents/1.jsonl", to_lines(record))
    yield Kept(agent="Cursor", format="cursor-cli", title="Snow?")
    grok = f".grok/sessions/-home-ada-weather/{_ID}"
    home.put(f"{grok}/summary.json", json.dumps({"info": {"id": _ID, "cwd": PROJECT}, "generated_title": "Wind"}))
    chunk = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Wind?"}}
    home.put(f"{grok}/updates.jsonl", to_lines({"method": "session/update", "params": {"update": chunk}}))
    home.put(f"{grok}/chat_history.jsonl", to_lines({"type": "user", "content": "Wind?"}))
    yield Kept(agent="Grok CLI", format="grok-updates", title="Wind")
    said_so = {"type": "USER_INPUT", "content": "<USER_REQUEST>\nSun?\n</USER_REQUEST>"}
    home.put(f".gemini/antigravity/brain/{_ID}/.system_generated/logs/transcript_full.jsonl", to_lines(said_so))
    yield Kept(agent="Antigravity", format="antigravity", title="Sun?", cwd="")
    home.put(".aider.chat.history.md", "# aider chat started at 2026-11-22 10:00:00\n\n#### Frost?\n\nYes.\n")
    yield Kept(agent="aider", format="aider", title="Frost?", cwd=str(home.path))


def _put_values(home: Home) -> Iterable[Kept]:
    code = ".config/Code/User"
    requests: list[dict[str, Any]] = [{"requestId": "r1", "message": {"text": "Mist?"}, "response": []}]
    chat: dict[str, Any] = {"version": 3, "sessionId": _ID, "requests": requests, "responderUsername": "GitHub Copilot"}
    home.put(f"{code}/workspaceStorage/w1/workspace.json", json.dumps({"folder": f"file://{PROJECT}"}))
    home.put(f"{code}/workspaceStorage/w1/chatSessions/{_ID}.json", json.dumps(chat))
    yield Kept(agent="Copilot Chat", format="vscode-chat", title="Mist?")
    cline = ".cline/data/sessions/1795312433931_vydr4"
    messages = [{"id": "m1", "role": "user", "content": [{"type": "text", "text": "Sleet?"}], "ts": 1}]
    about = {"cwd": PROJECT, "prompt": "Sleet?", "metadata": {"title": "Sleet"}}
    home.put(f"{cline}/1795312433931_vydr4.json", json.dumps(about))
    value = {
        "version": 1,
        "updated_at": "2026-11-22T10:00:00Z",
        "sessionId": "1795312433931_vydr4",
        "messages": messages,
    }
    home.put(f"{cline}/1795312433931_vydr4.messages.json", json.dumps(value))
    home.put(f"{cline}__sub/1795312433931_vydr4__sub.messages.json", json.dumps(value))
    yield Kept(agent="Cline", format="cline", title="Sleet")
    roo = f"{code}/globalStorage/rooveterinaryinc.roo-cline/tasks/{_ID}"
    home.put(f"{roo}/history_item.json", json.dumps({"id": _ID, "task": "Ice?", "workspace": PROJECT}))
    spoken = [{"role": "user", "content": [{"type": "text", "text": "<task>\nIce?\n</task>"}], "ts": 1}]
    home.put(f"{roo}/ui_messages.json", json.dumps([{"ts": 1, "type": "say", "say": "text", "text": "Ice?"}]))
    home.put(f"{roo}/api_conversation_history.json", json.dumps(spoken))
    yield Kept(agent="Roo Code", format="cline-task", title="Ice?")
    state = {"id": _ID, "workspace": {"working_dir": PROJECT}, "agent": {"llm": {"model": "m"}}}
    home.put(f".openhands/conversations/{_ID}/base_state.json", json.dumps(state))
    content = [{"type": "text", "text": "Heat?"}]
    event = {"id": "e1", "source": "user", "kind": "MessageEvent", "llm_message": {"role": "user", "content": content}}
    home.put(f".openhands/conversations/{_ID}/events/event-00001-e1.json", json.dumps(event))
    yield Kept(agent="OpenHands", format="openhands", title="Heat?")


def _put_databases(home: Home) -> Iterable[Kept]:
    row = {"id": "ses_1", "project_id": "p", "parent_id": None, "directory": PROJECT, "title": "Gale"}
    times = {"time_created": OLDEST * 1000, "time_updated": OLDEST * 1000 + 1}
    for name, place, title in (("opencode", "opencode/opencode.db", "Gale"), ("Kilo Code", "kilo/kilo.db", "Calm")):
        mine = {**row, "title": title, **times}
        child = {**row, "id": "ses_2", "parent_id": "ses_1", **times}
        home.put_rows(f".local/share/{place}", "session", [child, mine])
        yield Kept(agent=name, format="opencode", title=title, run=2)
    goose = {"id": "20261122_1", "name": "Tide", "working_dir": PROJECT, "accumulated_total_tokens": 5}
    more = {"updated_at": "2026-11-22 10:00:00", "model_config_json": '{"model_name": "m"}', "session_type": "user"}
    home.put_rows(".local/share/goose/sessions/sessions.db", "sessions", [{**goose, **more}])
    yield Kept(agent="goose", format="goose", title="Tide", run=1)
    hermes = {"id": "20261122_2", "source": "cli", "title": "Surf", "cwd": PROJECT, "api_call_count": 1}
    more = {"started_at": OLDEST, "parent_session_id": None, "model": "m", "model_config": "{}"}
    home.put_rows(".hermes/state.db", "sessions", [{**hermes, **more}])
    yield Kept(agent="Hermes", format="hermes", title="Surf", run=1)
    own = home.path / "code"
    projects = {"projects": [{"path": str(own), "data_dir": ".crush"}]}
    home.put(".local/share/crush/projects.json", json.dumps(projects))
    crush = {"id": "c1", "parent_session_id": None, "title": "Gust", "prompt_tokens": 1, "summary_message_id": None}
    home.put_rows("code/.crush/crush.db", "sessions", [{**crush, "updated_at": OLDEST}])
    yield Kept(agent="Crush", format="crush", title="Gust", cwd=str(own), run=1)
