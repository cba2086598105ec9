"""Spans of the real `ullage acp`, as the agent and as the proxy, in a process that has OpenTelemetry's SDK."""

import json
import os
import sys
from pathlib import Path

import pytest

from support.agents.launch import Launch
from support.agents.program import program
from support.lsp_client import ROOT, RpcFailure
from support.proxy_rig import TOY
from support.systems import needs_linux

pytestmark = needs_linux
SECRET = "walnut-secret"
OWN = "_ullage/context/search"


@pytest.mark.parametrize(
    ("agent", "spanned"),
    [
        # The proxy passes the agent's own requests on, and has no spans of them.
        pytest.param(("--", sys.executable, str(TOY), "{}"), [OWN, OWN], id="proxy"),
        pytest.param((), ["session/new", OWN, OWN], id="agent"),
    ],
)
async def test_each_request_to_the_program_has_a_span_without_texts(
    agent: tuple[str, ...], spanned: list[str], tmp_path: Path
) -> None:
    spans = tmp_path / "spans"
    command = (sys.executable, "-m", "support.traced_program", str(spans), "acp", "--store", str(tmp_path / "s.db"))
    path = os.pathsep.join(str(ROOT / folder) for folder in ("server", "tests"))
    environment = {"PYTHONPATH": path, "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    door = Launch(title="", command=(*command, *agent), environment=environment, cwd=tmp_path)
    async with program(door.command, door, tmp_path / "errors") as end:
        await end.ask("initialize", protocolVersion=1, clientCapabilities={})
        session_id = (await end.ask("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
        if agent:
            await end.ask("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": SECRET}])
        await end.ask(OWN, sessionId=session_id, query=SECRET)
        with pytest.raises(RpcFailure):
            await end.ask(OWN, sessionId="s_none", query=SECRET)
    written = spans.read_text()
    found = [span for line in written.splitlines() if (span := json.loads(line))["name"] == "ullage.request"]
    assert [span["attributes"]["rpc.method"] for span in found] == spanned
    (*_, done, failed) = [span["attributes"] for span in found]
    assert (done["gen_ai.conversation.id"], "error.type" in done) == (session_id, False)
    assert (failed["gen_ai.conversation.id"], failed["error.type"]) == ("s_none", "SessionNotFound")
    assert SECRET not in written
