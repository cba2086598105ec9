"""The real Gemini CLI with a model on the loopback, and what `ullage wire` adds: the prompt after a compression has
what the summary left out, once, and what Ullage's MCP server says. What is typed in its terminal is said once."""

import json
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.agents.launch import need
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.panes import HAS_TMUX, panes
from support.agents.runs import ONE_SHOTS
from support.command_line import ullage
from support.hook_place import TRIES, arrivals_at, until_counted
from support.systems import needs_linux
from support.wire.replies import Call
from ullage.cli.session_source import read_transcript
from ullage.ledger.folding import fold
from ullage.lost.left_out import HEAD, messages_of

DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."
# Tokens of this share of the window: more than a new conversation has, and less than the long answer.
_SHARE, _WORDS = 0.012, 6_000
_WINDOW = 1_048_576
(_SHOT,) = [shot for shot in ONE_SHOTS if shot.known.name == "gemini"]


def _prepare(home: Path, url: str) -> Mapping[str, str]:
    """Configures Gemini CLI once: what was added to its settings since stays."""
    path = settings(home)
    known = path.read_bytes() if path.exists() else None
    variables = _SHOT.known.prepare(home, url)
    chosen = json.loads(path.read_text())
    chosen["model"]["compressionThreshold"] = _SHARE
    path.write_bytes(json.dumps(chosen, indent=4).encode() if known is None else known)
    return variables


GEMINI = replace(_SHOT, known=replace(_SHOT.known, prepare=_prepare))


def settings(home: Path) -> Path:
    return home / ".gemini" / "settings.json"


@pytest.mark.long
@needs_linux
async def test_the_model_of_gemini_cli_is_given_one_note_of_its_fill(tmp_path: Path) -> None:
    need(GEMINI.known)
    store, model = tmp_path / "store.db", ModelServer()
    async with model.serving():
        launch = GEMINI.known.launch(tmp_path, model.url)
        chosen = json.loads(settings(tmp_path).read_text())
        # By itself it compresses before the first mark.
        chosen["model"]["compressionThreshold"] = 0.95
        settings(tmp_path).write_text(json.dumps(chosen))
        before = settings(tmp_path).read_bytes()
        variables = {"HOME": launch.environment["HOME"], "GEMINI_CLI_HOME": ""}
        wired = ullage("wire", "gemini-cli", "--fill-notes", "--yes", "--store", store, env=variables)
        assert wired.status == 0

        ask = partial(GEMINI.request_with, tmp_path, model)

        model.inflated = _WINDOW * 3 // 4
        await ask("Which port is it?", again=False)
        await until_counted(store)
        note = f"of {_WINDOW:,} tokens (7"
        assert (await ask("And the one beside it?")).count(note) == 1
        # The first one stays in the conversation.
        assert (await ask("And the third?")).count(note) == 1
    rows = arrivals_at(store)
    assert [(row["event"], row["outcome"]) for row in rows] == [("BeforeAgent", "note")]
    assert ullage("unwire", "--yes", "--store", store, env=variables).status == 0
    assert settings(tmp_path).read_bytes() == before


@pytest.mark.long
@needs_linux
async def test_the_prompt_after_a_compression_has_what_the_summary_left_out_once(tmp_path: Path) -> None:
    need(GEMINI.known)
    store, model = tmp_path / "store.db", ModelServer()
    model.summary, model.summary_words = f"<state_snapshot>{SUMMARY}</state_snapshot>", ("<state_snapshot>",)
    async with model.serving():
        launch = GEMINI.known.launch(tmp_path, model.url)
        before = settings(tmp_path).read_bytes()
        variables = {"HOME": launch.environment["HOME"], "GEMINI_CLI_HOME": ""}
        assert ullage("wire", "gemini-cli", "--yes", "--store", store, env=variables).status == 0

        ask = partial(GEMINI.request_with, tmp_path, model)

        # Repeated words end an answer as a loop.
        long = " ".join(sha256(str(number).encode()).hexdigest()[:9] for number in range(_WORDS))
        model.words = f" {DECISION} {long}"
        await ask("Which port is it?", again=False)
        model.words = ""
        compressed = await ask("And the one beside it?")
        assert SUMMARY in compressed
        assert DECISION not in compressed
        # On a busy machine the brief comes with a later prompt.
        given = ""
        for number in range(TRIES):
            given = await ask(f"And number {number}?")
            if HEAD[:40] in given:
                break
        # Gemini CLI escapes what could be taken for its own tags.
        lines = given.replace("\\n", "\n").splitlines()
        assert [line for line in lines if line.startswith(f"&gt; #3 This is answer 1. {DECISION}")]
        assert (await ask("And the last one?")).count(DECISION) == 1
        # Without a terminal it has no tools that it would ask the user about, but the words of the server about them.
        assert any("tool server 'ullage'" in request for request in model.asked)
    rows = arrivals_at(store)
    assert [row["outcome"] for row in rows if row["outcome"] != "late"] == ["given"]
    assert {row["event"] for row in rows} == {"BeforeAgent"}
    assert ullage("unwire", "--yes", "--store", store, env=variables).status == 0
    assert settings(tmp_path).read_bytes() == before


@pytest.mark.long
@needs_linux
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
async def test_what_is_typed_around_a_refused_call_and_as_a_command_is_said_once(tmp_path: Path) -> None:
    need(GEMINI.known)
    rule, count = 'Never rinse with "sand".', "Count the files."
    model = ModelServer()
    model.scripted[count] = Call("c1", "run_shell_command", json.dumps({"command": "touch x"}))
    async with model.serving():
        launch = GEMINI.known.launch(tmp_path, model.url)
        with panes(tmp_path) as opened:
            pane = opened.open("gemini", [str(GEMINI.known.program)], launch.environment, launch.cwd)
            await pane.until("Type your message")
            await pane.type(rule)
            await pane.until("This is answer 1.")
            await pane.type(count)
            await pane.until("3. No, suggest changes")
            await pane.type("3")
            await pane.until("Request cancelled.")
            await pane.type("/init")
            await pane.until(SUMMARY[:20])
    (log,) = (tmp_path / ".gemini" / "tmp").glob("*/chats/*.jsonl")
    said = fold(messages_of(read_transcript(str(log), None, None))).said
    assert [entry.text for entry in said] == [rule, count, "/init"]
