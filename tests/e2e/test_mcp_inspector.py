"""The official MCP inspector, another client than the SDK for Python, with `ullage mcp`: it takes every answer, with a
handshake and without one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command_line import PATIENCE
from support.mcp_client import NEEDLE, shown, talk
from support.neovim import RIGS
from support.systems import needs_linux

_INSPECTOR = RIGS / "mcp" / "node_modules" / ".bin" / "mcp-inspector"
_NODE = RIGS / "node" / "node_modules" / ".bin"
_MESSAGES = "ullage://session/messages/2"


class Inspector:
    """The inspector's command line. It starts the server, asks one request in this era of the protocol, and ends."""

    def __init__(self, home: Path, project: Path, era: str) -> None:
        self._home, self._project, self._era = home, project, era

    def ask(self, method: str, *options: str) -> Any:
        """Returns the result of a request."""
        ran = self.run(method, *options)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)["result"]

    def run(self, method: str, *options: str) -> subprocess.CompletedProcess[str]:
        server = [sys.executable, "-m", "ullage", "mcp", "--store", str(self._home / "sessions.db")]
        asked = ["--method", method, "--protocol-era", self._era, "--format", "json", *options]
        environment = {
            **os.environ,
            "PATH": f"{_NODE}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self._home),
            "CLAUDE_CONFIG_DIR": str(self._home / ".claude"),
        }
        return subprocess.run(
            [str(_INSPECTOR), "--cli", *asked, "--cwd", str(self._project), "--", *server],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def call(self, tool: str, **arguments: Any) -> str:
        """Returns the text of a tool's result."""
        result = self.ask("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        (content,) = result["content"]
        return content["text"]


@pytest.fixture(params=["legacy", "modern"])
def inspector(request: pytest.FixtureRequest, tmp_path: Path, project: Path) -> Inspector:
    if not (_INSPECTOR.exists() and _NODE.exists()):
        pytest.skip("the inspector is not installed; scripts/rigs/mcp.sh gets it")
    talk(tmp_path, project)
    return Inspector(tmp_path, project, request.param)


@pytest.mark.long
@needs_linux
def test_the_inspector_takes_every_answer(inspector: Inspector) -> None:
    # With this option a schema that some clients would not take is an error.
    tools = inspector.ask("tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in tools] == ["ullage_search", "ullage_open", "ullage_context", "ullage_lost"]
    assert NEEDLE in shown(inspector.call("ullage_search", query="retry limit"))
    assert NEEDLE in shown(inspector.call("ullage_open", ref="#2"))
    assert "Exactly 30,000 of " in inspector.call("ullage_context")
    assert "summary" in inspector.call("ullage_lost")
    uris = [resource["uri"] for resource in inspector.ask("resources/list")["resources"]]
    assert inspector.ask("resources/templates/list")["resourceTemplates"][0]["uriTemplate"].endswith("{numbers}")
    for uri in (*uris, _MESSAGES):
        (content,) = inspector.ask("resources/read", "--uri", uri)["contents"]
        assert content["text"]
    refused = inspector.run("tools/call", "--tool-name", "delete")
    assert refused.returncode != 0
    assert "There is no tool" in refused.stdout + refused.stderr or "not found" in refused.stdout + refused.stderr
