"""Real clients before the real proxy: acpx, and the Python SDK's client, with the Language Server alongside; and a
recorded session between another client and a real agent."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import acp
import pytest
from acp import schema

from support import started_program
from support.lsp_client import PATIENCE
from support.neovim import RIGS
from support.program import language_server
from support.proxy_rig import TOY
from support.traces import Trace, play
from support.transcripts import conversation

ACPX = RIGS / "acp" / "node_modules" / ".bin" / "acpx"
NODE = RIGS / "node" / "node_modules" / ".bin"
SECONDS = 180


def proxied(folder: Path, *options: str) -> list[str]:
    """Returns the command by which an editor starts the proxy with the toy agent. The shell reads the command that
    acpx is given, so the agent's abilities are in a file."""
    abilities = {"usage": True, "window": 8_000, "load": True, "state": str(folder)}
    (folder / "toy").write_text(json.dumps(abilities))
    agent = [sys.executable, str(TOY), f"@{folder / 'toy'}"]
    return started_program.stand_in("acp", "--store", str(folder / "sessions.db"), *options, "--", *agent)


class Person:
    """The user's side of the SDK's client. It keeps every update."""

    def __init__(self) -> None:
        self.updates: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

    def text(self) -> str:
        chunks = [update for update in self.updates if isinstance(update, schema.AgentMessageChunk)]
        return "".join(chunk.content.text for chunk in chunks if isinstance(chunk.content, schema.TextContentBlock))


async def test_what_the_sdk_s_client_says_through_the_proxy_is_in_the_language_server_a_moment_later(
    tmp_path: Path,
) -> None:
    person = Person()
    # The SDK's protocol has methods that a client needs only if it offers them.
    client: Any = person
    async with (
        acp.spawn_agent_process(
            client, *proxied(tmp_path), env=dict(os.environ), transport_kwargs={"shutdown_timeout": PATIENCE}
        ) as (connection, _),
        language_server(tmp_path / "sessions.db") as editor,
    ):
        await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session_id = (await connection.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
        for text in ("Hello", "/compact", "Go on"):
            await connection.prompt(session_id=session_id, prompt=[schema.TextContentBlock(type="text", text=text)])
        last = [update for update in person.updates if isinstance(update, schema.UsageUpdate)][-1]
        # The proxy records what it has forwarded a moment later.
        async with asyncio.timeout(PATIENCE):
            while (usage := await editor.request("ullage/context/get", {"sessionId": session_id}))["used"] != last.used:
                pass
        page = await editor.request("ullage/context/messages", {"sessionId": session_id, "scope": "transcript"})
    assert usage["size"] == last.size
    assert "Compacted 2 messages" in person.text()
    texts = [block.get("text") for entry in page["entries"] for block in entry["message"]["content"]]
    assert [text for text in texts if text in ("Hello", "I was told: Hello", "Go on")] == [
        "Hello",
        "I was told: Hello",
        "Go on",
    ]


@pytest.mark.slow
def test_acpx_prompts_through_the_proxy(tmp_path: Path, lacking: Callable[[str], Never]) -> None:
    if not (ACPX.exists() and NODE.exists()):
        lacking("acpx and Node.js (scripts/rigs/acp.sh, scripts/rigs/node.sh)")
    wire = [json.loads(line) for line in _acpx(tmp_path, "Hello").splitlines()]
    told = [message["params"]["update"] for message in wire if message.get("method") == "session/update"]
    said = "".join(each["content"]["text"] for each in told if each["sessionUpdate"] == "agent_message_chunk")
    assert said == "I was told: Hello"
    assert [each["size"] for each in told if each["sessionUpdate"] == "usage_update"] == [8_000]
    assert "Context: " in _acpx(tmp_path, "/context")


def _acpx(home: Path, prompt: str) -> str:
    """Returns all messages of the wire that acpx prints for one prompt."""
    environment = {**os.environ, "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}
    given = [str(ACPX), "--agent", " ".join(proxied(home)), "--format", "json", "exec", prompt]
    done = subprocess.run(given, cwd=home, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout


_FRAME = re.compile(r"AcpTransport - (OUT|IN): (.*)$")


def read_trace(path: Path) -> Trace:
    """Returns the frames of a log, without the logger's own text."""
    found = [match for line in path.read_text("utf-8").splitlines() if (match := _FRAME.search(line))]
    return [("<" if match[1] == "OUT" else ">", f"{match[2]}\n".encode()) for match in found]


async def test_a_recorded_session_passes_the_proxy_byte_for_byte(tmp_path: Path) -> None:
    trace = read_trace(conversation("acp_logs/anna239-acp-replay-example.log"))
    assert len(trace) == 132
    assert await play(trace, tmp_path) == [line for mark, line in trace if mark == ">"]
