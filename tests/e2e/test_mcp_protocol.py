"""`ullage mcp` keeps to the protocol: versions, lists, faults, cancellation, and what the official client is given, and
the official inspector, which is another client."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import command_line
from support.command_line import ullage
from support.lsp_client import PATIENCE
from support.mcp_client import HELLO, NEEDLE, McpClient, mcp_client, shown, talk
from support.neovim import RIGS
from support.systems import needs_linux
from ullage.mcp.mcp_server import PROTOCOL_VERSIONS, VERSIONS

# What Claude Code takes, in characters.
_MOST_INSTRUCTIONS = 2_048


async def test_the_handshake_agrees_on_a_version_and_says_when_to_call(tmp_path: Path) -> None:
    for asked, given in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2031-01-01", "2025-11-25")):
        async with mcp_client(tmp_path, tmp_path, greet=False) as client:
            result = (await client.ask("initialize", {**HELLO, "protocolVersion": asked}))["result"]
            assert result["protocolVersion"] == given
            assert result["instructions"].startswith("Call these tools after a compaction")
            assert len(result["instructions"].encode()) <= _MOST_INSTRUCTIONS


async def test_lists_have_one_page_and_the_tools_only_read(tmp_path: Path) -> None:
    async with mcp_client(tmp_path, tmp_path) as client:
        listed = (await client.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["ullage_search", "ullage_open", "ullage_context", "ullage_lost"]
        assert all(tool["annotations"]["readOnlyHint"] for tool in listed)
        assert all(tool["inputSchema"]["type"] == "object" for tool in listed)
        for method in ("tools/list", "resources/list", "resources/templates/list"):
            assert "nextCursor" not in (await client.ask(method))["result"]
            assert (await client.ask(method, {"cursor": "2"}))["error"]["code"] == -32602


FAULTS: list[tuple[str, Any, int]] = [
    ("no/such/method", {}, -32601),
    ("prompts/list", {}, -32601),
    ("tools/call", {"name": "delete"}, -32602),
    ("tools/call", {"arguments": {}}, -32602),
    ("tools/call", {"name": "open", "arguments": [1]}, -32602),
    ("tools/call", [1, 2], -32602),
    ("resources/read", {"uri": "file:///etc/passwd"}, -32002),
    ("initialize", HELLO, -32600),
]


async def test_each_fault_of_the_protocol_gets_one_error_and_the_next_request_is_served(tmp_path: Path) -> None:
    async with mcp_client(tmp_path, tmp_path) as client:
        for method, params, code in FAULTS:
            assert (await client.ask(method, params))["error"]["code"] == code, method
        for sent, code in (
            (b"{no json\n", -32700),
            (b"[]\n", -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600),
        ):
            await client.send(sent)
            assert (await client.receive())["error"]["code"] == code, sent
        await client.send({"jsonrpc": "2.0", "id": "i" * 100_000, "method": "ping"})
        assert (await client.receive())["result"] == {}


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("search", {}, "`query` (required)"),
    ("search", {"query": ""}, "length >= 1"),
    ("search", {"query": "x" * 100_000}, "length <= 1000"),
    ("search", {"query": 5}, "Expected `str`"),
    ("search", {"query": "a", "limit": 10**30}, "<= 20"),
    ("search", {"query": "a", "scope": "all"}, "scope"),
    ("search", {"query": "?!"}, "word"),
    ("open", {"ref": "#0"}, "numbered from #1"),
    ("open", {"ref": "#9-3"}, "the first comes first"),
    ("open", {"ref": "#1-900"}, "#1-50 first"),
    ("open", {"ref": "#99"}, "#1 to #6"),
    ("open", {"ref": "#" + "9" * 100}, "no reference"),
    ("open", {"ref": "s_nowhere#1"}, "of this project"),
    ("open", {"ref": "../../etc/passwd"}, "no reference"),
    ("context", {"of": "all"}, "Its arguments: none"),
]


async def test_each_mistake_of_a_model_gets_a_short_result_that_says_what_is_right(
    tmp_path: Path, project: Path
) -> None:
    talk(tmp_path, project)
    async with mcp_client(tmp_path, project) as client:
        for tool, arguments, remedy in MISTAKES:
            text, failed = await client.call(tool, **arguments)
            assert failed, (tool, arguments)
            assert remedy in text
            assert len(text.encode()) <= 700
        assert not (await client.call("context"))[1]


async def test_a_ping_may_come_before_the_handshake_and_nothing_else(tmp_path: Path) -> None:
    async with mcp_client(tmp_path, tmp_path, greet=False) as client:
        assert (await client.ask("ping"))["result"] == {}
        assert (await client.ask("tools/list"))["error"]["code"] == -32600
        assert "result" in await client.ask("initialize", HELLO)


async def test_without_a_handshake_each_request_names_its_version_and_another_one_is_refused(tmp_path: Path) -> None:
    def named(version: str) -> dict[str, Any]:
        return {"_meta": {"io.modelcontextprotocol/protocolVersion": version, **capabilities}}

    capabilities: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {}}
    wrong: list[Any] = [{}, {"_meta": {}}, {"_meta": []}, {"_meta": {"io.modelcontextprotocol/protocolVersion": 5}}]
    async with mcp_client(tmp_path, tmp_path, greet=False) as client:
        found = (await client.ask("server/discover", named(VERSIONS[0])))["result"]
        assert found["supportedVersions"] == [*VERSIONS, *PROTOCOL_VERSIONS]
        assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "ullage"
        for version in ("2031-01-01", PROTOCOL_VERSIONS[0]):
            for method in ("server/discover", "tools/list", "resources/list"):
                error = (await client.ask(method, named(version)))["error"]
                assert (error["code"], error["data"]["requested"]) == (-32022, version)
                assert error["data"]["supported"] == found["supportedVersions"]
                assert VERSIONS[0] in error["message"]
        for params in wrong:
            assert (await client.ask("tools/list", params))["error"]["code"] == -32600
        assert (await client.ask("tools/list", named(VERSIONS[0])))["result"]["resultType"] == "complete"
        # Nothing of before the handshake keeps a client from having one.
        assert "result" in await client.ask("initialize", HELLO)
        assert "resultType" not in (await client.ask("tools/list"))["result"]


async def test_a_cancelled_call_gets_no_answer_and_the_next_one_does(tmp_path: Path, project: Path) -> None:
    talk(tmp_path, project)
    async with mcp_client(tmp_path, project) as client:
        call = {"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "context"}}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}}
        # In one write: between two, the call may end.
        await client.send(b"".join(json.dumps(message).encode() + b"\n" for message in (call, cancel)))
        assert (await client.ask("ping"))["result"] == {}
        assert not (await client.call("context"))[1]


@needs_linux
async def test_an_idle_server_takes_at_most_40_megabytes(tmp_path: Path) -> None:
    async with mcp_client(tmp_path, tmp_path) as client:
        await client.ask("tools/list")
        assert _megabytes(client) <= 40


def _megabytes(client: McpClient) -> float:
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@pytest.fixture
async def judged(tmp_path: Path, project: Path) -> Any:
    """What the official SDK's client was given."""
    pytest.importorskip("mcp", reason="the official SDK is not installed: pip install mcp")
    judge = Path(__file__).parents[1] / "support" / "mcp_judge.py"
    talk(tmp_path, project)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(judge), sys.executable, str(tmp_path), str(project), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(2 * PATIENCE):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out)


async def test_the_official_client_takes_every_answer(judged: Any) -> None:
    assert judged["tools"] == judged["read_only"] == ["ullage_search", "ullage_open", "ullage_context", "ullage_lost"]
    assert [call["error"] for call in judged["right"]] == [False] * len(judged["right"])
    assert [call["error"] for call in judged["wrong"]] == [True] * len(judged["wrong"])
    assert all(call["text"].startswith(("search:", "open:", "context:", "lost:")) for call in judged["wrong"])
    assert NEEDLE in shown(judged["right"][2]["text"])
    assert judged["templates"] == ["ullage://session/messages/{numbers}"]
    contents = judged["contents"]
    assert NEEDLE in shown(contents["ullage://session/messages/2"][0])
    assert json.loads(contents["ullage://session/figures"][0])["used"] == 30_000
    assert judged["codes"] == {
        "unknown tool": -32602,
        "unknown resource": -32002,
        "unknown cursor": -32602,
        "no prompts": -32601,
        "ping": None,
    }
    # Each of the calls after those that were cancelled.
    assert judged["cancelled"] == 3
    assert judged["agreed"] == {version: version for version in judged["agreed"]}
    assert set(PROTOCOL_VERSIONS) <= {*judged["agreed"]}
    legacy, later = judged["negotiated"]["legacy"], judged["negotiated"][VERSIONS[0]]
    assert (legacy["version"], later["version"]) == (PROTOCOL_VERSIONS[0], VERSIONS[0])
    # A client that may choose does without a handshake, and is given the same as with one.
    assert judged["negotiated"]["auto"] == later
    assert later["codes"] == {"unknown tool": -32602, "unknown resource": -32602}
    assert {**later, "version": "", "codes": {}} == {**legacy, "version": "", "codes": {}}


def start(words: list[str]) -> tuple[list[str], set[str]]:
    """Starts a server with these words, and ends it after two answers. Returns their ids, and what it has imported
    besides what Python did by itself, such as for coverage."""
    code = "import sys; had = {*sys.modules}; from ullage.cli.main import main; s = main(); "
    code += "print(*{*sys.modules} - had, file=sys.stderr); sys.exit(s)"
    asked = [{"id": 1, "method": "initialize", "params": HELLO}, {"id": 2, "method": "tools/list"}]
    ran = subprocess.run(
        [sys.executable, "-c", code, *words],
        input=b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in asked),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line)["id"] for line in ran.stdout.splitlines()], {*ran.stderr.decode().splitlines()[-1].split()}


def test_a_start_imports_only_what_its_answers_need(tmp_path: Path) -> None:
    store = str(tmp_path / "sessions.db")
    answered, loaded = start(["mcp", "--store", store])
    assert answered == [1, 2]
    assert not loaded & {"argparse", "rich", "sqlite3", "tiktoken", "regex", "ullage.agents.table", "ullage.store"}
    assert not (tmp_path / "sessions.db").exists()


@pytest.mark.parametrize("form", [["mcp", "--store={}"], ["--store", "{}", "mcp"], ["mcp", "--no-pager"], ["mcp"]])
def test_every_form_of_its_arguments_starts_it(form: list[str], tmp_path: Path) -> None:
    assert start([word.format(tmp_path / "sessions.db") for word in form])[0] == [1, 2]


def test_wrong_arguments_are_explained() -> None:
    for words in (["--storre", "x"], ["--store"], ["x"], ["--session", "--store", "x"]):
        ran = ullage("mcp", *words, stdin=b"")
        assert (ran.status, ran.out) == (2, ""), words
        assert "see ullage mcp --help" in ran.err


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
            timeout=command_line.PATIENCE,
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
