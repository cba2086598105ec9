"""The real Codex with a model on the loopback, and what `ullage wire` adds: Codex runs the hook once the user has
trusted it, and after a compaction the next request has what the summary left out."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.agents.launch import need
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.panes import HAS_TMUX, Pane, panes
from support.agents.runs import SEATED, SUMMARY_WORDS, OneShot
from support.command_line import PATIENCE, Ran, ullage
from support.hook_place import arrivals_at, until_counted
from support.systems import needs_linux
from ullage.lost import LONGEST
from ullage.lost.left_out import HEAD

SEAT = SEATED[1]
DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."
_TRUST = "Trust all and continue"


def _prepare(home: Path, url: str) -> Mapping[str, str]:
    """Configures Codex once: what was added to its settings since stays."""
    config = home / "codex" / "config.toml"
    known = config.read_bytes() if config.exists() else None
    variables = SEAT.known.prepare(home, url)
    config.write_bytes(b"# mine\n" + config.read_bytes() if known is None else known)
    return variables


_KNOWN = replace(SEAT.known, prepare=_prepare)
_ARGUMENTS = ("exec", "--skip-git-repo-check")
CODEX = OneShot(
    known=_KNOWN,
    first=_ARGUMENTS,
    again=(*_ARGUMENTS, "resume", "--last"),
    figure=lambda _: 0,
    compacts_at=SEAT.compacts_at,
)


class Home:
    """A home folder with Codex's settings, and a store."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.folder = folder
        self.launch = _KNOWN.launch(folder, model.url)
        self._model = model

    def ullage(self, *arguments: str) -> Ran:
        variables = {name: self.launch.environment[name] for name in ("HOME", "CODEX_HOME")}
        return ullage(*arguments, "--store", self.folder / "store.db", env=variables)

    def hooks(self) -> tuple[str, str]:
        """What `ullage doctor` says of the hooks, and what the user shall do."""
        (check,) = [check for check in self.ullage("doctor", "--json").json["checks"] if check["what"] == "hooks"]
        return check["found"], check["remedy"]

    async def ask(self, prompt: str, *, again: bool = True) -> str:
        return await CODEX.request_with(self.folder, self._model, prompt, again=again)

    def servers(self) -> str:
        """What Codex lists as its MCP servers."""
        command = [*self.launch.command, "mcp", "list"]
        ran = subprocess.run(
            command, env=self.launch.environment, capture_output=True, text=True, check=True, timeout=PATIENCE
        )
        return ran.stdout

    async def trust(self) -> None:
        """Starts Codex, answers its question about new hooks, and ends it."""
        with self.terminal() as pane:
            await self.answer(pane)

    async def answer(self, pane: Pane) -> None:
        """Answers the question about new hooks, with which Codex starts."""
        config = self.folder / "codex" / "config.toml"
        await pane.until(_TRUST)
        await pane.type("2")
        await pane.until(SEAT.ready)
        # It may show that it is ready before it has written its settings.
        await _until(lambda: "trusted_hash" in config.read_text(encoding="utf-8"))

    @contextmanager
    def terminal(self) -> Generator[Pane]:
        """Starts Codex in a terminal. It ends with the block."""
        command = (*self.launch.command, *SEAT.arguments)
        with panes(self.folder) as opened:
            yield opened.open("codex", command, self.launch.environment, self.launch.cwd)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folder / "codex").iterdir() if path.suffix in _SETTINGS}

    def arrivals(self) -> list[tuple[str, str, int]]:
        rows = arrivals_at(self.folder / "store.db")
        return [(row["event"], row["outcome"], row["characters"]) for row in rows]


_SETTINGS = (".toml", ".json")


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.1)


@pytest.fixture(autouse=True)
def _needs_codex() -> None:
    if not HAS_TMUX:
        pytest.skip("needs tmux")
    need(_KNOWN)


@pytest.mark.long
@needs_linux
async def test_the_model_of_codex_is_given_one_note_of_its_fill(tmp_path: Path) -> None:
    model = ModelServer()
    async with model.serving():
        home = Home(tmp_path, model)
        assert home.ullage("wire", "codex", "--fill-notes", "--yes").status == 0
        await home.trust()
        assert home.hooks()[1] == ""
        # With what Codex itself adds to each request, between the first mark and the second.
        model.inflated = SEAT.window * 3 // 4
        await home.ask("Which port is it?", again=False)
        await until_counted(tmp_path / "store.db")
        note = f"of {SEAT.window:,} tokens (7"
        assert (await home.ask("And the one beside it?")).count(note) == 1
        # The first one stays in the conversation.
        assert (await home.ask("And the third?")).count(note) == 1
        assert [(event, outcome) for event, outcome, _ in home.arrivals()] == [("UserPromptSubmit", "note")]
    assert home.ullage("unwire", "--yes").status == 0


@pytest.mark.long
@needs_linux
async def test_after_a_compaction_by_hand_the_next_prompt_has_what_the_summary_left_out(tmp_path: Path) -> None:
    model = ModelServer()
    async with model.serving():
        model.summary_words = SUMMARY_WORDS
        home = Home(tmp_path, model)
        assert home.ullage("wire", "codex", "--fill-notes", "--yes").status == 0
        with home.terminal() as pane:
            await home.answer(pane)
            model.words = f" {DECISION}"
            model.inflated = SEAT.window * 3 // 4
            await pane.type("Which port is it?")
            await pane.until(DECISION[-20:])
            await until_counted(tmp_path / "store.db")
            model.words, model.inflated = "", 0
            await pane.type("/compact")
            await pane.until("Context compacted")
            known = len(model.asked)
            await pane.type("And the one beside it?")
            await model.until_asked(known + 1)
            asked = json.loads(model.asked[-1])
            await pane.until(f"This is answer {len(model.asked)}.")
        texts = [json.dumps(item, ensure_ascii=False) for item in asked["input"]]
        (place,) = [number for number, text in enumerate(texts) if DECISION in text]
        assert asked["input"][place]["role"] == "developer"
        assert SUMMARY in "".join(texts[:place])
        # The figure of before the compaction is none of the context after it.
        assert "tokens (7" not in "".join(texts)
        outcomes = [(event, outcome) for event, outcome, _ in home.arrivals()]
        assert outcomes == [("PreCompact", "begun"), ("SessionStart compact", "given")]
    assert home.ullage("unwire", "--yes").status == 0


@pytest.mark.long
@needs_linux
async def test_after_its_hook_is_trusted_codex_gets_what_its_summary_left_out(tmp_path: Path) -> None:
    model = ModelServer()
    async with model.serving():
        model.until_summary, model.summary_words = True, SUMMARY_WORDS
        home = Home(tmp_path, model)
        before = home.files()
        assert home.ullage("wire", "codex", "--yes").status == 0
        found, remedy = home.hooks()
        assert "not allowed yet" in found
        assert _TRUST in remedy
        await home.trust()
        found, remedy = home.hooks()
        assert ("no hook has arrived yet" in found, remedy) == (True, "")

        model.words = f" {DECISION}"
        # A request does not wait long for a server's tools.
        assert "ullage" in home.servers()
        await home.ask("Which port is it?", again=False)
        model.words = ""
        model.inflated = SEAT.compacts_at
        assert HEAD[:40] not in await home.ask("And the one beside it?")
        compacted = json.loads(await home.ask("And the third?"))
        texts = [json.dumps(item, ensure_ascii=False) for item in compacted["input"]]
        places = [number for number, text in enumerate(texts) if DECISION in text]
        (place,) = places
        assert "8443" not in SUMMARY
        assert compacted["input"][place]["role"] == "developer"
        assert SUMMARY in texts[place - 1]
        assert "And the third?" in texts[place + 1]
        (text,) = [part["text"] for part in compacted["input"][place]["content"]]
        assert text.startswith(HEAD)
        assert home.arrivals() == [("PreCompact", "begun", 0), ("SessionStart compact", "given", len(text))]
        assert len(text) <= LONGEST
        # The agent's own file keeps it.
        assert (await home.ask("And the fourth?")).count(DECISION) == 1
        assert "gave back" in home.hooks()[0]
    assert home.ullage("unwire", "--yes").status == 0
    after = home.files()
    assert {name: data for name, data in after.items() if name != "config.toml"} == {}
    # Codex has added to it what the user has trusted.
    assert after["config.toml"].startswith(before["config.toml"])
    assert b"ullage" not in after["config.toml"].replace(str(tmp_path).encode(), b"")
