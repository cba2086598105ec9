"""The real Gemini CLI with a model on the loopback, and Ullage installed as its extension, from the folder of this
repository: what `ullage wire` would add arrives, and if it has added that, too, nothing comes twice."""

import json
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.agents.launch import need, prepare_of
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.runs import ONE_SHOTS, resume
from support.command_line import ullage
from support.documents import ROOT
from support.hook_place import TRIES, arrivals_at
from support.systems import needs_linux

EXTENSION = ROOT / "editors" / "gemini-cli"
DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."
# Tokens of this share of the window: more than a new conversation has, and less than the long answer.
_SHARE, _WORDS = 0.012, 6_000
(_SHOT,) = [shot for shot in ONE_SHOTS if shot.known.name == "gemini"]


class Home:
    """A home folder with the real agent and the extension. The program `ullage` is on PATH."""

    def __init__(self, folder: Path, model: ModelServer, patch: pytest.MonkeyPatch) -> None:
        need(_SHOT.known)
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
        self.folder, self.model = folder, model
        self._variables = prepare_of("gemini")(folder, model.url)
        settings = folder / ".gemini" / "settings.json"
        chosen = json.loads(settings.read_text())
        chosen["model"]["compressionThreshold"] = _SHARE
        settings.write_text(json.dumps(chosen))
        # Without this the agent asks in its terminal whether it may install from there.
        settings.with_name("trustedFolders.json").write_text(json.dumps({str(EXTENSION): "TRUST_FOLDER"}))
        self._shot = replace(_SHOT, known=replace(_SHOT.known, prepare=self._prepared))
        model.summary, model.summary_words = f"<state_snapshot>{SUMMARY}</state_snapshot>", ("<state_snapshot>",)

    def _prepared(self, _home: Path, _url: str) -> Mapping[str, str]:
        return self._variables

    async def extensions(self, *arguments: str) -> str:
        """Runs one of the agent's own commands for extensions. Returns its output."""
        known = self._shot.known
        return await resume(known.launch(self.folder, self.model.url), known.program, "extensions", *arguments)

    def ullage(self, *arguments: str) -> Any:
        environment = self._shot.known.launch(self.folder, "").environment
        variables = {name: environment[name] for name in ("HOME", "XDG_DATA_HOME")}
        return ullage(*arguments, env={**variables, "GEMINI_CLI_HOME": ""})

    def check(self) -> list[str]:
        """What `ullage doctor` says of the extension."""
        checks = self.ullage("doctor", "--json").json["checks"]
        return [check["found"] for check in checks if check["what"] == "plugin"]

    async def ask(self, prompt: str, *, again: bool = True) -> str:
        return await self._shot.request_with(self.folder, self.model, prompt, again=again)

    async def compress(self) -> None:
        """Has the agent compress a decision away."""
        # Repeated words end an answer as a loop.
        long = " ".join(sha256(str(number).encode()).hexdigest()[:9] for number in range(_WORDS))
        self.model.words = f" {DECISION} {long}"
        await self.ask("Which port is it?", again=False)
        self.model.words = ""
        assert DECISION not in await self.ask("And the one beside it?")

    async def given(self) -> int:
        """How often the first prompt that is asked with the decision has it."""
        for number in range(TRIES):
            if count := (await self.ask(f"And number {number}?")).count(DECISION):
                return count
        return 0

    @property
    def rows(self) -> list[Any]:
        """The hooks that arrived."""
        return arrivals_at(self.folder / "data" / "ullage" / "sessions.db")


@pytest.mark.long
@needs_linux
async def test_what_a_compression_left_out_and_the_server_come_by_the_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ModelServer()
    async with model.serving():
        home = Home(tmp_path, model, monkeypatch)
        assert "successfully validated" in await home.extensions("validate", str(EXTENSION))
        assert home.check() == []
        await home.extensions("install", "--consent", str(EXTENSION))
        assert "no hook has arrived yet" in home.check()[0]
        await home.compress()
        assert await home.given() == 1
        assert any("tool server 'ullage'" in request for request in model.asked)
        assert "gave back" in home.check()[0]
        await home.extensions("disable", "ullage")
        assert home.check() == []


@pytest.mark.long
@needs_linux
async def test_a_linked_extension_gives_way_to_what_wire_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ModelServer()
    async with model.serving():
        home = Home(tmp_path, model, monkeypatch)
        assert home.ullage("wire", "gemini-cli", "--yes").status == 0
        await home.extensions("link", "--consent", str(EXTENSION))
        assert "twice" in home.check()[0]
        assert home.ullage("wire", "gemini-cli", "--yes").status == 0
        assert "twice" not in home.check()[0]
        await home.compress()
        assert await home.given() == 1
        assert len([row for row in home.rows if row["outcome"] == "given"]) == 1
        servers = [request.count("tool server 'ullage'") for request in model.asked]
        assert max(servers) == 1
