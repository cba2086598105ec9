"""A door that ends has closed its store."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.lsp_client import PATIENCE, ROOT, frame
from support.proxy_rig import TOY

Json = dict[str, Any]


def line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


def request(number: int, method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


LSP = (
    request(1, "initialize", processId=None, capabilities={}),
    request(2, "ullage/session/new"),
)
ACP = (
    request(1, "initialize", protocolVersion=1, clientCapabilities={}),
    request(2, "session/new", cwd="/project", mcpServers=[]),
    request(3, "session/prompt", sessionId="toy_1", prompt=[{"type": "text", "text": "Hello"}]),
)


@pytest.mark.parametrize(
    ("command", "framed", "messages"),
    [
        pytest.param(("lsp",), frame, LSP, id="Language Server"),
        pytest.param(("acp",), line, ACP, id="agent"),
        pytest.param(("acp", "--", sys.executable, str(TOY), "{}"), line, ACP, id="proxy"),
    ],
)
def test_a_door_that_ends_leaves_no_connection_to_its_store_open(
    command: tuple[str, ...], framed: Callable[[Json], bytes], messages: tuple[Json, ...], tmp_path: Path
) -> None:
    store = tmp_path / "sessions.db"
    name, *rest = command
    path = os.pathsep.join(str(ROOT / folder) for folder in ("server", "tests"))
    done = subprocess.run(
        [sys.executable, "-m", "support.open_databases", name, "--store", str(store), *rest],
        env={**os.environ, "PYTHONPATH": path},
        input=b"".join(map(framed, messages)),
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b'"sessionId"' in done.stdout
    assert store.exists()
