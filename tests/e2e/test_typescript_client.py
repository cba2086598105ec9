"""The official TypeScript SDK's client, in both versions of the protocol: with Ullage's own agent, and with real agents
behind the proxy. The SDK checks every message, and the official schema judges every line."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Never

import msgspec
import pytest

from support.acp_end import SHOWS_ALL, Json
from support.acp_schema import PACKAGE, faults_in_error, faults_in_params, faults_in_result
from support.agents.launch import RIG_AGENTS, Launch, need
from support.agents.model_server import ModelServer
from support.agents.program import ULLAGE, ProgramEnd, program, proxied
from support.agents.runs import SUMMARY_WORDS
from support.lsp_client import RpcFailure
from support.neovim import RIGS
from support.systems import needs_linux
from support.wire.replies import Call
from ullage.model.json_values import as_object, as_objects

NODE = RIGS / "node" / "node_modules" / ".bin"
HAS_SDK = PACKAGE.exists() and NODE.exists()
_SUPPORT = Path(__file__).parents[1] / "support"
_CLIENT = _SUPPORT / "sdk_client.mjs"
_TEE = _SUPPORT / "agents" / "tee.py"


@asynccontextmanager
async def sdk_client(command: Sequence[str], launch: Launch, folder: Path, version: int) -> AsyncGenerator[ProgramEnd]:
    """Runs an agent with a client of the SDK in the environment of `launch`, while the block runs. In `folder` are the
    bytes to and from the agent, and `errors`: what the SDK has refused, and the agent's standard error."""
    kept = (sys.executable, str(_TEE), str(folder), *command)
    client = ("node", str(_CLIENT), str(PACKAGE), str(version), *kept)
    path = f"{NODE}{os.pathsep}{launch.environment['PATH']}"
    ready = Launch(title="", command=client, environment={**launch.environment, "PATH": path}, cwd=launch.cwd)
    async with program(client, ready, folder / "errors") as end:
        end.version = version
        end.allows = None
        yield end


def wire_faults(folder: Path, version: int, judges: Callable[[bytes], bool] = bool) -> list[str]:
    """Returns the faults that the schema finds in what an agent has sent, by the bytes that `agents/tee.py` has kept in
    a folder. `judges` says whether a line is to be judged. Methods of Ullage's own are in no schema."""
    asked = [json.loads(line) for line in (folder / "to_agent").read_bytes().splitlines()]
    methods = {message["id"]: message["method"] for message in asked if "method" in message and "id" in message}
    lines = [line for line in (folder / "from_agent").read_bytes().splitlines() if judges(line)]
    return [fault for line in lines for fault in _faults(json.loads(line), methods, version)]


def _faults(message: Json, methods: dict[str | int, str], version: int) -> list[str]:
    method = message.get("method") or methods[message["id"]]
    if "error" in message:
        return faults_in_error(message["error"], version)
    if method.startswith(("_", "$/")):
        return []
    if "method" in message:
        return faults_in_params(method, message["params"], version)
    return faults_in_result(method, message["result"], version)


MODEL = "gpt-4o"
SERVER = _SUPPORT / "small_mcp_server.py"
SCRIPT = """
when: look
say: I look.
tool: update_plan {"entries": [{"content": "Read the login", "status": "in_progress", "priority": "high"}]}
tool: read_file {"path": "src/login.py"}
tool: mcp__small__add {"a": 2, "b": 3}
tool: ask_user {"question": "Which one?", "options": ["left", "right"]}
---
when: left
say: It is fine.
usage: 1400 20
---
when: slowly
say: Once upon a time.
wait: 600
say: And so on.
---
when: plan it
say: First look, then write.
tool: offer_plan
---
when: accepts
say: Done.
---
say: Anything else?
---
again:
"""
FORMS: Json = {"elicitation": {"form": {}}, "session": {**SHOWS_ALL["session"], "configOptions": {"boolean": {}}}}
PROMPTS = ["Have a look", "Now plan it", "Tell it slow", "Question 0: ", "Question 1: ", "Question 2: "]
LONG = "why? " * 2_000


@pytest.fixture(autouse=True)
def sdk(lacking: Callable[[str], Never]) -> None:
    if not HAS_SDK:
        lacking("the TypeScript SDK and Node.js (scripts/rigs/acp.sh, scripts/rigs/node.sh)")


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """Ullage's own agent, with a model that plays the script, in a folder that has one file."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "login.py").write_text("def login(): pass\n")
    (tmp_path / "script.txt").write_text(SCRIPT)
    provider = {"kind": "scripted", "file": str(tmp_path / "script.txt"), "models": [MODEL]}
    settings = {"model": MODEL, "providers": {"script": provider}, "summary": {"writer": "offline"}}
    (tmp_path / "settings.json").write_bytes(msgspec.json.encode(settings))
    options = ("--store", str(tmp_path / "sessions.db"), "--settings", str(tmp_path / "settings.json"))
    return Launch(title="", command=(str(ULLAGE), "acp", *options), environment=dict(os.environ), cwd=folder)


async def greet(end: ProgramEnd) -> Json:
    if end.version == 1:
        return await end.ask("initialize", protocolVersion=1, clientCapabilities=FORMS)
    info = {"name": "tests", "version": "1"}
    return await end.ask("initialize", protocolVersion=2, info=info, capabilities={"elicitation": {"form": {}}})


async def change_mode(end: ProgramEnd, session_id: str, mode: str) -> None:
    if end.version == 1:
        await end.ask("session/set_mode", sessionId=session_id, modeId=mode)
    else:
        await end.ask("session/set_config_option", sessionId=session_id, configId="mode", type="id", value=mode)


def said(end: ProgramEnd) -> list[str]:
    """Returns the beginnings of the user's messages that the agent has shown. Version 2 shows them in two ways."""
    updates = [message["params"]["update"] for message in end.messages if message.get("method") == "session/update"]
    contents = [update["content"] for update in updates if update["sessionUpdate"].startswith("user_message")]
    return [part["text"][:12] for content in contents for part in as_objects(content) or [as_object(content)]]


def rejecting(question: Json) -> Json:
    """Rejects what the user is asked to permit."""
    option = next(option for option in question["options"] if option["kind"].startswith("reject"))
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}


def questions(end: ProgramEnd) -> list[str]:
    return [message["method"] for message in end.messages if "method" in message and "id" in message]


async def cancelled(end: ProgramEnd, session_id: str, begun: Awaitable[object]) -> str:
    """Cancels a prompt once it has begun to be answered. Returns why it has ended."""
    known = len(end.ends())
    text = [{"type": "text", "text": "Tell it slowly"}]
    asked = end.start("session/prompt", sessionId=session_id, prompt=text)
    await begun
    if end.version == 2:
        # A prompt that is cancelled before it is shown is refused: the model may have been asked for something else.
        await end.until(lambda _: "Tell it slow" in said(end))
    end.send({"method": "session/cancel", "params": {"sessionId": session_id}})
    answer = await end.answer(asked)
    if end.version == 2:
        await end.until(lambda _: len(end.ends()) > known)
        answer = end.ends()[-1]
    return answer["stopReason"]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_whole_session_with_the_agent_is_read_by_the_sdk(version: int, launch: Launch, tmp_path: Path) -> None:
    small: Json = {"name": "small", "command": sys.executable, "args": [str(SERVER), "stdio"], "env": []}
    servers = [small if version == 1 else {"type": "stdio", **small}]
    async with sdk_client(launch.command, launch, tmp_path, version) as end:
        allowed = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        end.answers["session/request_permission"] = lambda _: allowed
        end.answers["elicitation/create"] = lambda _: {"action": "accept", "content": {"answer": "left"}}
        assert (await greet(end))["protocolVersion"] == version
        opened = await end.ask("session/new", cwd=str(launch.cwd), mcpServers=servers)
        session_id = opened["sessionId"]
        assert await end.prompt(session_id, "Have a look") == "I look.It is fine."
        assert questions(end) == ["session/request_permission", "elicitation/create"]
        (shown,) = end.updates("plan") if version == 1 else [each["plan"] for each in end.updates("plan_update")]
        assert [entry["content"] for entry in shown["entries"]] == ["Read the login"]
        assert (end.updates("usage_update")[-1]["used"], end.updates("usage_update")[-1]["size"]) == (1420, 128_000)
        assert "**Context: " in await end.prompt(session_id, "/context")

        await change_mode(end, session_id, "plan")
        assert await end.prompt(session_id, "Now plan it") == "First look, then write.Done."

        begun = end.until(lambda message: "Once" in str(message))
        assert await cancelled(end, session_id, begun) == "cancelled"

        for number in range(3):
            await end.prompt(session_id, f"Question {number}: {LONG}")
        await end.prompt(session_id, "/compact the login")
        assert [each["status"] for each in end.updates("compaction_update")] == ["in_progress", "completed"]
        assert "Undone" in await end.prompt(session_id, "/undo")

        assert [each["sessionId"] for each in (await end.ask("session/list"))["sessions"]] == [session_id]
        await end.ask("session/close", sessionId=session_id)
        known, compactions = len(said(end)), len(end.updates("compaction_update"))
        await end.load(session_id, str(launch.cwd))
        assert said(end)[known:] == PROMPTS
        assert len(end.updates("compaction_update")) == compactions, "the compaction is undone"
        await end.ask("session/resume", sessionId=session_id, cwd=str(launch.cwd), mcpServers=[])
        await end.ask("session/delete", sessionId=session_id)
        with pytest.raises(RpcFailure):
            await end.load(session_id, str(launch.cwd))
    assert (tmp_path / "errors").read_text("utf-8") == ""
    assert wire_faults(tmp_path, version) == []


# What each agent's model calls, and what the user is asked therefore.
SIDES = [{"label": "left", "description": "The left one"}, {"label": "right", "description": "The right one"}]
WHICH: Json = {"question": "Which one?", "header": "Side", "multiSelect": False, "options": SIDES}
CALLS: dict[str, dict[str, tuple[Json, str]]] = {
    "claude-agent-acp": {
        "Write": ({"file_path": "/tmp/ullage-is-not-permitted", "content": "x"}, "session/request_permission"),
        "AskUserQuestion": ({"questions": [WHICH]}, "elicitation/create"),
    },
    "codex-acp": {"exec_command": ({"cmd": "echo cask"}, "")},
}


@needs_linux
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param("claude-agent-acp", (), marks=pytest.mark.slow, id="claude-agent-acp"),
        pytest.param("codex-acp", ("--hand-over",), id="codex-acp, by handover"),
    ],
)
async def test_a_whole_session_with_an_agent_behind_the_proxy_is_read_by_the_sdk(
    name: str, options: tuple[str, ...], version: int, tmp_path: Path
) -> None:
    agent = RIG_AGENTS[name]
    need(agent)
    async with ModelServer().serving() as model:
        launch = agent.launch(tmp_path / "home", model.url)
        model.summary_words = SUMMARY_WORDS
        command = proxied(launch, tmp_path / "sessions.db", *options)
        async with sdk_client(command, launch, tmp_path, version) as end:
            end.answers["session/request_permission"] = rejecting
            end.answers["elicitation/create"] = lambda _: {"action": "decline"}
            assert (await greet(end))["protocolVersion"] == version
            session_id = (await end.ask("session/new", cwd=str(launch.cwd), mcpServers=[]))["sessionId"]
            for tool, (arguments, asks) in CALLS[name].items():
                model.scripted[f"Use {tool}"] = Call(f"call_{tool}", tool, json.dumps(arguments))
                known = len(questions(end))
                await end.prompt(session_id, f"Use {tool}")
                assert questions(end)[known:] == ([asks] if asks else [])
            used = end.updates("usage_update")[-1]
            assert 0 < used["used"] < used["size"]
            assert "Context" in await end.prompt(session_id, "/context")

            model.free.clear()
            known = len(model.asked)
            assert await cancelled(end, session_id, model.until_asked(known + 1)) == "cancelled"
            model.free.set()

            await end.prompt(session_id, "/compact")
            assert end.updates("compaction_update")[-1]["status"] == "completed"
            assert "Undone" in await end.prompt(session_id, "/undo")
            await end.prompt(session_id, "Go on")

            await end.ask("session/close", sessionId=session_id)
            known = len(said(end))
            await end.load(session_id, str(launch.cwd))
            again = [text for text in said(end)[known:] if not text.startswith("/")]
            assert again == [*(f"Use {tool}"[:12] for tool in CALLS[name]), "Tell it slow", "Go on"]
            assert [each["sessionId"] for each in (await end.ask("session/list"))["sessions"]] == [session_id]
            await end.ask("session/delete", sessionId=session_id)
            assert (await end.ask("session/list"))["sessions"] == []
    assert "Error handling" not in (tmp_path / "errors").read_text("utf-8"), "the SDK refuses an update"
    # The agents' answers have fields of the unstable schema.
    assert wire_faults(tmp_path, version, lambda line: b'"method":' in line) == []
