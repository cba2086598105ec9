"""A client of the real `ullage mcp`, over its standard input and output, and a conversation that it asks about."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support import started_program
from support.agent_homes import Conversation
from support.lsp_client import PATIENCE, ROOT

Json = dict[str, Any]
HELLO: Json = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class McpClient:
    """A client of one running server."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._asked = 0

    async def send(self, message: Any) -> None:
        """Writes a message, or bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()

    async def receive(self) -> Json:
        """Returns the next message of the server."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return json.loads(await self.process.stdout.readline())

    async def ask(self, method: str, params: Any = None) -> Json:
        """Sends a request and returns its answer, whole."""
        self._asked += 1
        await self.send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params or {}})
        answer = await self.receive()
        assert answer["id"] == self._asked
        return answer

    async def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """Calls a tool, by its name without `ullage_`. Returns the text of its result, and whether it is an error."""
        answer = await self.ask("tools/call", {"name": f"ullage_{tool}", "arguments": arguments})
        (content,) = answer["result"]["content"]
        return content["text"], answer["result"]["isError"]


def server_command(store: Path, *arguments: str) -> list[str]:
    """Returns the command that starts a server on a store."""
    return started_program.stand_in("mcp", "--store", str(store), *arguments)


def server_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Returns variables of the environment with what the command needs."""
    return {**variables, "PYTHONPATH": str(ROOT / "server")}


@asynccontextmanager
async def mcp_client(
    home: Path, folder: Path, *arguments: str, greet: bool = True, **variables: str
) -> AsyncGenerator[McpClient]:
    """Starts a server for a user with this home folder, in a working folder, and ends it with the block."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    process = await asyncio.create_subprocess_exec(
        *server_command(home / "sessions.db", *arguments),
        cwd=folder,
        env=server_environment({**own, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), **variables}),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    client = McpClient(process)
    try:
        if greet:
            assert "result" in await client.ask("initialize", HELLO)
            await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield client
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


NEEDLE = "The retry limit is 17, in src/cask.py."
# The most UTF-8 bytes of a result.
MOST_RESULT = 4_096


def talk(home: Path, project: Path, needle: str = NEEDLE) -> Conversation:
    """A conversation that has been compacted after the needle was said."""
    conversation = Conversation(home, project)
    conversation.say("Where is the retry limit?", 20_000, needle)
    conversation.say("Now the tests.", 150_000)
    conversation.compact(150_000, "The user works on a cask.")
    conversation.say("Go on.", 30_000)
    return conversation


def shown(text: str) -> list[str]:
    """The lines that come from the transcript."""
    return [line.removeprefix("> ") for line in text.splitlines() if line.startswith("> ")]
