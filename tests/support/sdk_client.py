"""A client made with ACP's official TypeScript SDK, which a test drives as it drives any other client's end.

The SDK is between the test and the agent: it checks what either side sends, and the test gets what the SDK has read.
All bytes between the SDK and the agent are kept, so that the official schema can judge them, too.
"""

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from benches.neovim import RIGS
from support.acp_end import Json
from support.acp_schema import PACKAGE, faults_in_error, faults_in_params, faults_in_result
from support.agents.launch import Launch
from support.agents.program import ProgramEnd, program

NODE = RIGS / "node" / "node_modules" / ".bin"
HAS_SDK = PACKAGE.exists() and NODE.exists()
_CLIENT = Path(__file__).with_name("sdk_client.mjs")
_TEE = Path(__file__).parent / "agents" / "tee.py"


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
