"""Real clients at the ACP door of the real program: acpx, and the Python SDK's client, with the Language Server
alongside."""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Never

import acp
import msgspec
import pytest
from acp import schema
from acp.client.connection import ClientSideConnection

from support import started_program
from support.lsp_client import PATIENCE
from support.neovim import RIGS
from support.program import language_server

MODEL = "gpt-4o"
SCRIPT = """
say: I look.
tool: read_file {"path": "src/login.py"}
usage: 1200 30
---
when: def login
say: It is fine.
usage: 1400 20
"""
ACPX = RIGS / "acp" / "node_modules" / ".bin" / "acpx"
NODE = RIGS / "node" / "node_modules" / ".bin"
SMALL_SERVER = Path(__file__).parents[1] / "support" / "small_mcp_server.py"
SECONDS = 180


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "login.py").write_text("def login(): pass\n")
    return folder


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Returns the command by which an editor starts the agent, with a model that plays the script."""
    (tmp_path / "script.txt").write_text(SCRIPT + "---\nsay: Anything else?\n" * 6)
    provider = {"kind": "scripted", "file": str(tmp_path / "script.txt"), "models": [MODEL]}
    settings = {"model": MODEL, "providers": {"script": provider}, "summary": {"writer": "offline"}}
    (tmp_path / "settings.json").write_bytes(msgspec.json.encode(settings))
    store, given = str(tmp_path / "sessions.db"), str(tmp_path / "settings.json")
    return started_program.stand_in("acp", "--store", store, "--settings", given)


class Person:
    """The user's side of the SDK's client. It keeps every update and permits every tool call."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[str] = []
        self.read: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(tool_call.title)
        allow = next(option for option in options if option.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=allow.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **kwargs: Any
    ) -> schema.ReadTextFileResponse:
        self.read.append(path)
        return schema.ReadTextFileResponse(content="def login(): not saved yet\n")

    def text(self) -> str:
        """The text of the agent's answers so far."""
        chunks = [update for update in self.updates if isinstance(update, schema.AgentMessageChunk)]
        return "".join(chunk.content.text for chunk in chunks if isinstance(chunk.content, schema.TextContentBlock))


@asynccontextmanager
async def connected(
    command: list[str], person: Person, session: schema.ClientSessionCapabilities | None = None
) -> AsyncGenerator[ClientSideConnection]:
    """Starts the agent with the SDK's client, which offers the given session capabilities, and makes the handshake."""
    # The SDK's protocol has methods that a client needs only if it offers them.
    client: Any = person
    async with acp.spawn_agent_process(
        client, *command, env=dict(os.environ), transport_kwargs={"shutdown_timeout": PATIENCE}
    ) as (connection, _):
        files = schema.FileSystemCapabilities(read_text_file=True)
        answer = await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(fs=files, session=session),
        )
        assert answer.agent_info is not None
        assert answer.agent_info.name == "ullage"
        yield connection


async def ask(connection: ClientSideConnection, session_id: str, text: str) -> str:
    return (
        await connection.prompt(session_id=session_id, prompt=[schema.TextContentBlock(type="text", text=text)])
    ).stop_reason


async def test_the_python_sdk_s_client_goes_through_a_whole_session(command: list[str], project: Path) -> None:
    person = Person()
    async with connected(command, person) as connection:
        session_id = (await connection.new_session(cwd=str(project), mcp_servers=[])).session_id
        assert await ask(connection, session_id, "Look at the login") == "end_turn"
        assert (person.asked, person.read) == ([], [str(project / "src" / "login.py")])
        assert person.text() == "I look.It is fine."
        usage = [update for update in person.updates if isinstance(update, schema.UsageUpdate)]
        assert (usage[-1].used, usage[-1].size) == (1420, 128_000)
        for number in range(4):
            await ask(connection, session_id, f"Question {number}: " + "why? " * 2_000)
        assert await ask(connection, session_id, "/compact the login") == "end_turn"
        assert "Compacted " in person.text()
        listed = await connection.list_sessions(cwd=str(project))
        assert [entry.session_id for entry in listed.sessions] == [session_id]

    again = Person()
    async with connected(command, again) as connection:
        await connection.load_session(cwd=str(project), session_id=session_id, mcp_servers=[])
        said = [update for update in again.updates if isinstance(update, schema.UserMessageChunk)]
        assert len(said) == 5
        compacted = [update for update in again.updates if isinstance(update, schema.ToolCallStart)]
        assert "think" in [call.kind for call in compacted]


async def test_the_python_sdk_s_client_brings_an_mcp_server_that_ends_with_the_session(
    command: list[str], project: Path, tmp_path: Path
) -> None:
    given = msgspec.json.encode({"path": str(tmp_path / "note.txt"), "text": "from the model"}).decode()
    (tmp_path / "script.txt").write_text(f"tool: mcp__small__note {given}\n---\nsay: Written.\n")
    person = Person()
    server = schema.McpServerStdio(name="small", command=sys.executable, args=[str(SMALL_SERVER), "stdio"], env=[])
    async with connected(command, person) as connection:
        session_id = (await connection.new_session(cwd=str(project), mcp_servers=[server])).session_id
        assert await ask(connection, session_id, "Write it down") == "end_turn"
        await connection.close_session(session_id=session_id)
    assert person.asked == ["small: note"]
    assert (tmp_path / "note.txt").read_text() == "from the model"
    assert person.text() == "Written."


async def test_a_client_that_shows_compactions_and_notices_gets_them_as_its_own_types(
    command: list[str], project: Path
) -> None:
    person = Person()
    shows = schema.ClientSessionCapabilities(
        compaction=schema.CompactionCapabilities(), notices=schema.NoticeCapabilities()
    )
    async with connected(command, person, shows) as connection:
        session_id = (await connection.new_session(cwd=str(project), mcp_servers=[])).session_id
        await ask(connection, session_id, "Look at the login")
        for number in range(4):
            await ask(connection, session_id, f"Question {number}: " + "why? " * 2_000)
        await ask(connection, session_id, "/compact")
    told = [update for update in person.updates if isinstance(update, schema.SessionUpdateCompactionUpdate)]
    assert [update.status for update in told] == ["in_progress", "completed"]
    assert told[-1].summary
    notices = [update.title for update in person.updates if isinstance(update, schema.SessionUpdateNotice)]
    assert any(title.startswith("Compacted ") for title in notices)


async def test_what_was_said_here_is_there_for_the_language_server_a_moment_later(
    command: list[str], project: Path, tmp_path: Path
) -> None:
    async with connected(command, Person()) as connection, language_server(tmp_path / "sessions.db") as editor:
        session_id = (await connection.new_session(cwd=str(project), mcp_servers=[])).session_id
        await ask(connection, session_id, "Look at the login")
        listed = await editor.request("ullage/session/list", {"cwd": str(project)})
        assert [entry["sessionId"] for entry in listed["sessions"]] == [session_id]
        assert (await editor.request("ullage/context/get", {"sessionId": session_id}))["used"] == 1420
        await ask(connection, session_id, "And now?")
        # The Language Server got no request: it saw by itself that the session has grown.
        await editor.wait_for("ullage/session/update", lambda params: _messages(params["update"]) == 7)
        page = await editor.request("ullage/context/messages", {"sessionId": session_id, "scope": "transcript"})
        texts = [block.get("text") for entry in page["entries"] for block in entry["message"]["content"]]
        assert texts[-2:] == ["And now?", "Anything else?"]


def _messages(update: Any) -> int:
    return update.get("_meta", {}).get("ullage", {}).get("messagesActive", 0)


@pytest.mark.slow
def test_acpx_prompts_permits_and_shows_the_answer(
    command: list[str], project: Path, tmp_path: Path, lacking: Callable[[str], Never]
) -> None:
    if not (ACPX.exists() and NODE.exists()):
        lacking("acpx and Node.js (scripts/rigs/acp.sh, scripts/rigs/node.sh)")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "login.py").write_text("def login(): pass\n")
    (tmp_path / "script.txt").write_text(SCRIPT.replace("src/", "../notes/"))
    wire = [msgspec.json.decode(line) for line in _acpx(command, project, tmp_path, "Look at the login").splitlines()]
    answers = [message["result"] for message in wire if "method" not in message and "result" in message]
    assert answers[-1]["stopReason"] == "end_turn"
    assert answers[-1]["usage"]["totalTokens"] == 2_650
    told = [message["params"]["update"] for message in wire if message.get("method") == "session/update"]
    said = "".join(each["content"]["text"] for each in told if each["sessionUpdate"] == "agent_message_chunk")
    assert said == "I look.It is fine."
    assert "session/request_permission" in [message.get("method") for message in wire]
    assert "**Context: " in _acpx(command, project, tmp_path, "/context")


def _acpx(command: list[str], project: Path, home: Path, prompt: str) -> str:
    """Returns all messages of the wire that acpx prints for one prompt."""
    environment = {**os.environ, "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}
    given = [str(ACPX), "--agent", " ".join(command), "--approve-all", "--format", "json", "exec", prompt]
    done = subprocess.run(
        given, cwd=project, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return done.stdout
