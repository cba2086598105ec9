"""The real server adds Ullage to an agent's settings for an editor, after a preview, and takes it out again."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import rmtree

import pytest

from support.lsp_client import ROOT, LspClient, RpcFailure, start_server
from support.program import OUR_CLIENT, serve_command
from ullage.cli.commands.doctor import read_arrivals

AGENT = "claude-code"
# A comment, a byte order mark and line ends that no JSON writer would keep.
SETTINGS = b'\xef\xbb\xbf{\r\n\t// mine\r\n\t"model": "opus"\r\n}\r\n'


class Home:
    """A home folder with an agent's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / ".claude" / "settings.json"
        self.path.parent.mkdir()
        self.path.write_bytes(SETTINGS)

    @property
    def variables(self) -> dict[str, str]:
        home = str(self.folder)
        return {"HOME": home, "USERPROFILE": home, "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}

    @asynccontextmanager
    async def server(self, program: Path | None = None) -> AsyncGenerator[LspClient]:
        """Runs a server of the user who has this home, by its program if that is given."""
        usual = serve_command(self.folder / "store.db")
        command = [str(program), *usual[usual.index("lsp") :]] if program else usual
        async with start_server(command, self.variables) as client:
            await client.initialize(OUR_CLIENT)
            yield client


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_a_preview_changes_nothing_and_its_change_can_be_undone_byte_for_byte(home: Home) -> None:
    async with home.server() as client:
        preview = await client.request("ullage/agents/wire", {"agent": AGENT, "dryRun": True})
        (agent,) = preview["agents"]
        file = agent["files"][0]
        assert (preview["done"], agent["wired"], file["path"]) == (False, False, str(home.path))
        assert file["before"].encode() == SETTINGS == home.path.read_bytes()
        assert '+\t"hooks": {' in file["difference"]

        made = await client.request("ullage/agents/wire", {"agent": AGENT, "previewId": preview["previewId"]})
        assert made["done"]
        assert home.path.read_bytes().decode() == file["after"]
        again = await client.request("ullage/agents/wire", {})
        assert [(one["wired"], one["files"]) for one in again["agents"]] == [(True, [])]

        undone = await client.request("ullage/agents/unwire", {})
        (notes,) = [one["notes"] for one in undone["agents"] if one["wired"]]
        assert f"{home.path} is as it was before." in notes
        assert home.path.read_bytes() == SETTINGS


async def test_a_change_that_is_no_longer_the_one_of_the_preview_is_not_made(home: Home) -> None:
    async with home.server() as client:
        preview = await client.request("ullage/agents/wire", {"dryRun": True})
        home.path.write_text('{"model": "sonnet"}')
        with pytest.raises(RpcFailure) as failure:
            await client.request("ullage/agents/wire", {"previewId": preview["previewId"]})
        assert failure.value.data["kind"] == "PreviewExpired"
        assert home.path.read_text() == '{"model": "sonnet"}'


async def test_what_the_agent_writes_to_its_settings_after_the_preview_stays(home: Home) -> None:
    state = home.folder / ".claude.json"
    state.write_text('{\n  "projects": {},\n  "numStartups": 41\n}\n')
    async with home.server() as client:
        preview = await client.request("ullage/agents/wire", {"agent": AGENT, "dryRun": True})
        state.write_text('{\n  "tips": ["new"],\n  "projects": {"/home/me": {}},\n  "numStartups": 42\n}\n')
        made = await client.request("ullage/agents/wire", {"agent": AGENT, "previewId": preview["previewId"]})
        assert made["done"]
        written = json.loads(state.read_text())
        assert (written["numStartups"], written["tips"], list(written["mcpServers"])) == (42, ["new"], ["ullage"])

        preview = await client.request("ullage/agents/unwire", {"agent": AGENT, "dryRun": True})
        state.write_text(state.read_text().replace('"numStartups": 42', '"numStartups": 43'))
        await client.request("ullage/agents/unwire", {"agent": AGENT, "previewId": preview["previewId"]})
        assert json.loads(state.read_text()) == {"tips": ["new"], "projects": {"/home/me": {}}, "numStartups": 43}


async def test_a_server_that_the_user_adds_after_the_preview_is_not_replaced(home: Home) -> None:
    state = home.folder / ".claude.json"
    async with home.server() as client:
        preview = await client.request("ullage/agents/wire", {"agent": AGENT, "dryRun": True})
        state.write_text(own := '{"mcpServers": {"ullage": {"command": "mine"}}}')
        with pytest.raises(RpcFailure) as failure:
            await client.request("ullage/agents/wire", {"agent": AGENT, "previewId": preview["previewId"]})
        assert failure.value.data["kind"] == "PreviewExpired"
        assert state.read_text() == own


async def test_options_stay_as_they_are_until_they_are_given(home: Home) -> None:
    async with home.server() as client:

        async def options(**params: bool) -> dict[str, bool]:
            """Adds Ullage, and returns the options that the agent then has."""
            made = await client.request("ullage/agents/wire", {"agent": AGENT, **params})
            (agent,) = made["agents"]
            text = home.path.read_text(encoding="utf-8-sig")
            assert ("--fill-notes" in text, '"statusLine"' in text) == tuple(
                option["on"] for option in sorted(agent["options"], key=lambda option: option["name"])
            )
            return {option["name"]: option["on"] for option in agent["options"]}

        assert await options() == {"statusLine": False, "fillNotes": False}
        assert await options(fillNotes=True) == {"statusLine": False, "fillNotes": True}
        assert await options(statusLine=True) == {"statusLine": True, "fillNotes": True}
        assert await options() == {"statusLine": True, "fillNotes": True}
        assert await options(statusLine=False, fillNotes=False) == {"statusLine": False, "fillNotes": False}
        await client.request("ullage/agents/unwire", {})
        assert home.path.read_bytes() == SETTINGS


async def test_an_agent_whose_settings_are_broken_says_so_and_does_not_keep_the_others_from_theirs(home: Home) -> None:
    broken = home.folder / ".codex" / "hooks.json"
    broken.parent.mkdir()
    async with home.server() as client:
        for method, wired in (("wire", False), ("unwire", True)):
            broken.write_text("{")
            preview = await client.request(f"ullage/agents/{method}", {"dryRun": True})
            agents = {agent["word"]: agent for agent in preview["agents"]}
            codex, claude = agents["codex"], agents[AGENT]
            assert (codex["failed"], codex["files"], codex["wired"]) == (True, [], wired)
            assert f"{broken}: " in codex["notes"][0]
            assert (claude["failed"], claude["wired"]) == (False, wired)
            await client.request(f"ullage/agents/{method}", {"previewId": preview["previewId"]})
            assert (home.path.read_bytes() == SETTINGS) == wired
            assert broken.read_text() == "{"
            with pytest.raises(RpcFailure, match=r"hooks\.json"):
                await client.request(f"ullage/agents/{method}", {"agent": "codex"})
            broken.unlink()
            await client.request("ullage/agents/wire", {})


async def test_a_machine_without_agents_has_nothing_to_change(home: Home) -> None:
    home.path.unlink()
    home.path.parent.rmdir()
    async with home.server() as client:
        assert (await client.request("ullage/agents/wire", {}))["agents"] == []
        for params in ({"agent": AGENT}, {"agent": "wordstar"}):
            with pytest.raises(RpcFailure) as failure:
                await client.request("ullage/agents/wire", params)
            assert failure.value.data["kind"] == "InvalidRequest"


@pytest.mark.skipif(sys.platform == "win32", reason="a program and a link of POSIX")
async def test_what_was_added_goes_on_working_when_a_link_to_the_program_leads_elsewhere(home: Home) -> None:
    link = home.folder / "current"
    program = link / "bin" / "ullage"
    _install(home.folder / "server-old", link)
    async with home.server(program) as client:
        await client.request("ullage/agents/wire", {"agent": AGENT})
    _install(home.folder / "server-new", link)
    rmtree(home.folder / "server-old")

    settings = home.path.read_text(encoding="utf-8-sig").replace("// mine", "")
    (entry,) = json.loads(settings)["hooks"]["SessionStart"]
    command = entry["hooks"][0]["command"]
    assert str(program) in command
    event = json.dumps({"hook_event_name": "SessionStart", "source": "compact", "session_id": "none", "cwd": "/"})
    env = {**os.environ, "PYTHONPATH": str(ROOT / "server"), **home.variables}
    await asyncio.to_thread(
        subprocess.run, ["/bin/sh", "-c", command], input=event.encode(), env=env, timeout=120, check=True
    )
    assert [arrival.event for arrival in read_arrivals(home.folder / "store.db")] == ["SessionStart compact"]
    async with home.server(program) as client:
        again = await client.request("ullage/agents/wire", {"agent": AGENT, "dryRun": True})
        assert [(one["wired"], one["files"]) for one in again["agents"]] == [(True, [])]


def _install(folder: Path, link: Path) -> None:
    """Makes an environment with the program, as an editor's extension does, and has the link lead there."""
    program = folder / "bin" / "ullage"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom ullage.cli.main import main\n\nsys.exit(main())\n")
    program.chmod(0o755)
    link.unlink(missing_ok=True)
    link.symlink_to(folder, target_is_directory=True)
