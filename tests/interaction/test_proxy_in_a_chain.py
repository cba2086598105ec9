"""Ullage as a link of a chain: it reaches the agent through the conductor, and does what it does with an agent of its
own."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.acp_end import PATIENCE, SHOWS_ALL, Json
from support.acp_schema import PACKAGE
from support.lsp_client import RpcFailure
from support.proxy_rig import TOY, ProxyRig
from ullage.model.settings import Settings
from ullage.proxy.connection import ProxyOptions

_UNSTABLE = PACKAGE / "schema" / "v1" / "schema.unstable.json"
OFFERED: Json = {"name": "ullage", "command": "ullage", "args": ["mcp"], "env": []}
OPTIONS = ProxyOptions(own_methods=True, asks_for_compactions=True, server=OFFERED)


class ChainRig(ProxyRig):
    """The client's end and the conductor. `faults` are those of the messages that the proxy sends the conductor."""

    def __init__(self, folder: Path, options: ProxyOptions) -> None:
        super().__init__((), folder / "sessions.db", options, Settings())
        self.faults: list[str] = []
        self._agent: asyncio.subprocess.Process | None = None
        self._begun = b""
        # Requests to the agent by the conductor's ids, and to the proxy, with the ids of their other side.
        self._to_agent: dict[int, Any] = {}
        self._to_proxy: dict[str, Any] = {}
        self._opening: Any = None

    async def start_agent(self, abilities: Json) -> None:
        """Starts the agent."""
        command, pipe = (sys.executable, "-S", str(TOY), json.dumps(abilities)), asyncio.subprocess.PIPE
        self._agent = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)

    async def serve(self) -> None:
        """Passes on what the agent says until it ends."""
        assert self._agent is not None
        assert self._agent.stdout is not None
        while line := await self._agent.stdout.readline():
            self._from_agent(json.loads(line))

    async def stop(self) -> None:
        assert self._agent is not None
        assert self._agent.stdin is not None
        self._agent.stdin.close()
        await asyncio.wait_for(self._agent.wait(), PATIENCE)

    def send_line(self, line: bytes) -> None:
        message: Json = json.loads(line)
        if message.get("method") == "initialize":
            self._opening = message["id"]
            message["method"] = "proxy/initialize"
        super().send_line(json.dumps(message).encode() + b"\n")

    def take(self, data: bytes) -> None:
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            message: Json = json.loads(line)
            if message.get("method") == "proxy/successor":
                kind = "ProxySuccessorRequest" if "id" in message else "ProxySuccessorNotification"
                self.faults += _faults(kind, message["params"])
                self._to_successor(message)
            elif "method" not in message and message.get("id") in self._to_proxy:
                self._write({**message, "id": self._to_proxy.pop(message["id"])})
            else:
                if "method" not in message and message.get("id") == self._opening:
                    self.faults += _faults("InitializeProxyResponse", message["result"])
                super().take(line + b"\n")

    def _to_successor(self, message: Json) -> None:
        inner = message["params"]
        if "id" in message:
            number = len(self._to_agent) + 1
            self._to_agent[number] = message["id"]
            inner = {"id": number, **inner}
        self._write({"jsonrpc": "2.0", **inner})

    def _from_agent(self, message: Json) -> None:
        if "method" not in message:
            super().send_line(json.dumps({**message, "id": self._to_agent[message["id"]]}).encode() + b"\n")
            return
        wrapped: Json = {"jsonrpc": "2.0", "method": "proxy/successor"}
        if "id" in message:
            wrapped["id"] = f"conductor-{len(self.messages)}"
            self._to_proxy[wrapped["id"]] = message["id"]
        wrapped["params"] = {name: message[name] for name in ("method", "params") if name in message}
        super().send_line(json.dumps(wrapped).encode() + b"\n")

    def _write(self, message: Json) -> None:
        assert self._agent is not None
        assert self._agent.stdin is not None
        self._agent.stdin.write(json.dumps(message).encode() + b"\n")


@asynccontextmanager
async def chain_rig(folder: Path, abilities: Json, options: ProxyOptions) -> AsyncGenerator[ChainRig]:
    """Runs a chain while the block runs."""
    rig = ChainRig(folder, options)
    await rig.proxy.connection.agent.start()
    await rig.start_agent(abilities)
    serving = asyncio.ensure_future(rig.serve())
    task = asyncio.ensure_future(rig.proxy.run(rig))
    try:
        yield rig
    finally:
        rig.end()
        await asyncio.wait_for(task, PATIENCE)
        await rig.stop()
        await serving


def _faults(kind: str, value: Any) -> Iterator[str]:
    if _UNSTABLE.exists():
        validator: Any = _validator(kind)
        for error in validator.iter_errors(value):
            yield f"{kind}: {error.json_path}: {error.message[:300]}"


@cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    known = json.loads(_UNSTABLE.read_text())["$defs"]
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": known})


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[ChainRig]:
    given = {"usage": True, "window": 8_000, "load": True, "state": str(tmp_path), "log": str(tmp_path / "log")}
    async with chain_rig(tmp_path, given, OPTIONS) as chain:
        yield chain
    assert chain.faults == []


async def test_a_conversation_through_a_chain_is_recorded_compacted_and_taken_back(rig: ChainRig) -> None:
    session_id = await rig.open(SHOWS_ALL)
    await rig.prompt(session_id, "read src/cask.py")
    assert "Compacted 4 messages" in await rig.prompt(session_id, "/compact")
    told = await rig.prompt(session_id, "Go on")
    assert "Undone" in await rig.prompt(session_id, "/undo")
    back = await rig.prompt(session_id, "And then?")
    session = (await rig.record()).open(session_id)
    assert "SUMMARY of 1 exchanges" in told
    assert back.startswith("I was told: read src/cask.py | ")
    assert session.transcript.messages == session.transcript.active


async def test_the_agent_of_a_chain_is_greeted_with_initialize_and_offered_the_tools(
    rig: ChainRig, tmp_path: Path
) -> None:
    await rig.open()
    lines = [json.loads(line[1:]) for line in (tmp_path / "log").read_text("utf-8").splitlines() if line[0] == "<"]
    assert [message["method"] for message in lines] == ["initialize", "session/new"]
    assert lines[1]["params"]["mcpServers"] == [OFFERED]


async def test_what_the_agent_asks_reaches_the_client_and_the_answer_the_agent(rig: ChainRig) -> None:
    rig.allows = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    session_id = await rig.open()
    assert "allowed: selected" in await rig.prompt(session_id, "permit")


async def test_a_cancelled_handover_is_cancelled_in_a_chain_too(rig: ChainRig) -> None:
    session_id = await rig.open(SHOWS_ALL)
    await rig.prompt(session_id, "Hello")
    asked = rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "/compact"}])
    rig.send({"method": "session/cancel", "params": {"sessionId": session_id}})
    assert (await rig.answer(asked))["stopReason"] == "cancelled"


async def test_errors_of_the_agent_are_the_clients(rig: ChainRig) -> None:
    await rig.greet()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("session/unheard_of")
    assert failure.value.code == -32601


async def test_without_a_successor_the_client_is_refused_with_the_remedy(tmp_path: Path) -> None:
    async with chain_rig(tmp_path, {"usage": True, "window": 8_000}, OPTIONS) as rig:
        # As a conductor sends it to the last link.
        super(ChainRig, rig).send_line(
            b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}\n'
        )
        with pytest.raises(RpcFailure, match="an agent must follow it"):
            await rig.answer(7)
