"""Every recorded conversation shows the same figure on every surface, and the figure is the file's own."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Never

import msgspec
import pytest
from msgspec import Struct

from support.command_line import ullage
from support.editors import NEOVIMS, neovim
from support.last_reports import last_report
from support.surfaces import Figure, Imported, has_extension_tools, imported, in_neovim, in_vscode, replayed
from support.systems import needs_linux
from support.transcripts import ROOT, conversation_files
from ullage.cli.main import main
from ullage.model.words import short

# One small file of each agent; they are read in every run, all others with --all.
SMALL = (
    *("claude_code_spotter/short.jsonl", "live/codex/normal.jsonl", "gemini_cli/session-fa4593e0.json"),
    *("live/qwen-code/2fd45262-0a01-4039-bfc6-8b432e1bf521.jsonl", "agent_fixtures/pi__small.jsonl"),
    *("agent_fixtures/kimi__small.jsonl", "agent_fixtures/copilot__small.jsonl", "live/opencode/opencode.db"),
    *("live/kilo/kilo.db", "live/aider/aider.chat.history.md", "live/mini-swe-agent/last_mini_run.traj.json"),
    *(
        "live/cline/1795312433931_vydr4/1795312433931_vydr4.messages.json",
        "agent_fixtures/droid__stream_json_small.jsonl",
    ),
    *("live/openhands/f50b0a8adfbd4067bbe0c6bfef48038d/base_state.json", "agent_fixtures/cursor__small.jsonl"),
    *("agent_fixtures/antigravity__cli_small.jsonl", "agent_fixtures/grok__chat_history.jsonl"),
    *("agent_fixtures/hermes__small.json", "agent_fixtures/openclaw__small.jsonl"),
)
# Folders that are one conversation, with the file in which its usage is.
FOLDERS = {
    "live/openhands/f50b0a8adfbd4067bbe0c6bfef48038d": "base_state.json",
    "live/cline/1795300000001_hand1": "1795300000001_hand1.messages.json",
    "live/cline/1795312433931_vydr4": "1795312433931_vydr4.messages.json",
    "live/cline/1795312636749_9l7wx": "1795312636749_9l7wx.messages.json",
    "live/kimi-code": "agents/main/wire.jsonl",
    "live/kimi-code/with-subagent": "agents/main/wire.jsonl",
}
# The unread lines of files that the other tests leave out. The first two have lines that no agent writes.
UNREAD = {
    "agent_fixtures/claude__schema_drift.jsonl": 2,
    "agent_fixtures/openclaw__schema_drift.jsonl": 1,
    "live/codex/reverted_base.jsonl": 0,
    "agent_fixtures/codex__small.jsonl": 0,
}
# Tokens of reasoning in the last answer, where a prompt follows it. They leave the context with that prompt.
REASONING = {"agent_fixtures/codex__large.jsonl": 128}
NAMES = [
    *(path.relative_to(ROOT).as_posix() for path in conversation_files()),
    *(name for name in (*FOLDERS, *UNREAD) if (ROOT / name).exists()),
]
CASES = [pytest.param(name, marks=() if name in SMALL else pytest.mark.slow) for name in NAMES]

pytestmark = [
    needs_linux,
    pytest.mark.skipif(not NAMES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)"),
]
every_transcript = pytest.mark.parametrize("name", CASES)


class Shown(Struct, frozen=True, kw_only=True):
    """What the surfaces show of the chosen files."""

    imports: dict[Path, Imported]
    replays: dict[str, dict[str, object]]
    folder: Path


@pytest.fixture(scope="module")
def chosen(request: pytest.FixtureRequest) -> list[Path]:
    return [ROOT / name for name in NAMES if name in SMALL or request.config.getoption("--all")]


@pytest.fixture(scope="module")
def shown(chosen: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The files in one Language Server, and then the same sessions in one `ullage acp`."""
    folder = tmp_path_factory.mktemp("everywhere")
    store = folder / "s.db"
    imports = asyncio.run(imported(store, chosen))
    replays = asyncio.run(replayed(store, [one.session_id for one in imports.values()], folder))
    return Shown(imports=imports, replays=replays, folder=folder)


def figure_of(shown: Shown, name: str) -> Figure:
    return Figure.of_wire(shown.imports[ROOT / name].usage)


def assert_of_file(printed: str, shown: Shown, name: str) -> None:
    """Checks the object of `ullage context FILE --json`. The command reads the file by itself. So it doesn't know a
    threshold that the server has learned from the compactions of all conversations in its store."""
    told, figure = msgspec.json.decode(printed), figure_of(shown, name)
    threshold = shown.imports[ROOT / name].usage["_meta"]["ullage"]["threshold"]
    is_learned = threshold is not None and threshold["source"] == "learned"
    assert figure == Figure(
        used=told["used"],
        size=told["window"],
        percent=told["percent"],
        source=told["source"],
        threshold=figure.threshold if is_learned else told["compacts_at"],
    )


@every_transcript
def test_the_command_line_shows_the_servers_figure(name: str, shown: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", str(ROOT / name), "--json"]) == 0
    assert_of_file(capsys.readouterr().out, shown, name)


def test_the_real_program_shows_the_servers_figure(shown: Shown) -> None:
    ran = ullage("context", ROOT / SMALL[0], "--json")
    assert ran.status == 0, ran.err
    assert_of_file(ran.out, shown, SMALL[0])


@every_transcript
def test_a_session_that_acp_loads_has_the_figure_of_its_import(name: str, shown: Shown) -> None:
    update = shown.replays[shown.imports[ROOT / name].session_id]
    assert Figure.of_wire(update) == figure_of(shown, name)


def test_vs_code_shows_the_servers_figure(shown: Shown, lacking: Callable[[str], Never]) -> None:
    if not has_extension_tools():
        lacking("esbuild of editors/vscode (npm ci)")
    views = in_vscode([one.usage for one in shown.imports.values()], shown.folder)
    for (path, one), view in zip(shown.imports.items(), views, strict=True):
        figure = Figure.of_wire(one.usage)
        assert f"{figure.used:,}" in view["label"], path
        if figure.size is None:
            assert view["text"] == f"{short(figure.used)} · limit unknown", path
            assert f"{figure.used:,} tokens" in view["tooltip"], path
            continue
        near = "" if figure.source == "reported" else "~"
        assert f" {near}{figure.percent}% " in view["text"], path
        assert f"{figure.size:,}" in view["label"], path
        assert figure.source in view["label"], path
        assert f"{figure.percent} per cent" in view["label"], path
        assert f"{figure.used:,} of {figure.size:,} tokens" in view["tooltip"], path
        compacts = re.search(r"compacts at (\S+)", view["tooltip"])
        assert (compacts and compacts[1]) == (figure.threshold and short(figure.threshold)), path


@pytest.mark.editor
@pytest.mark.parametrize("version", NEOVIMS)
def test_neovim_shows_the_servers_figure(
    version: str, shown: Shown, tmp_path: Path, lacking: Callable[[str], Never]
) -> None:
    nvim = neovim(version) or lacking(f"Neovim {version}")
    wrong: dict[Path, object] = {}
    for path, told in in_neovim(nvim, list(shown.imports), tmp_path).items():
        figure = Figure.of_wire(shown.imports[path].usage)
        text = told.pop("text")
        near = "" if figure.source == "reported" else "~"
        share = f"{near}{figure.percent}% {short(figure.used)}/{short(figure.size)}" if figure.size else ""
        if (share or f"{short(figure.used)} · limit unknown") not in text or Figure(**told) != figure:
            wrong[path] = (text, told, figure)
    assert wrong == {}


@every_transcript
def test_the_figure_is_the_files_own_last_report_and_what_follows_it(name: str, shown: Shown) -> None:
    figure, report = figure_of(shown, name), last_report(ROOT / name / FOLDERS.get(name, ""))
    pending = shown.imports[ROOT / name].usage["_meta"]["ullage"]["pendingMessages"]
    match figure.source:
        case "reported":
            assert (figure.used, pending) == (report, 0)
        case "stale":
            assert report is not None
            assert figure.used >= report - REASONING.get(name, 0)
            assert pending > 0
        case _:
            assert report is None


@every_transcript
def test_every_line_that_an_agent_wrote_is_read(name: str, shown: Shown) -> None:
    assert len(shown.imports[ROOT / name].unread) == UNREAD.get(name, 0), shown.imports[ROOT / name].unread


@every_transcript
def test_every_message_is_reached_from_the_last_page_to_the_first(name: str, shown: Shown) -> None:
    one = shown.imports[ROOT / name]
    assert len(one.message_ids) == one.messages
    every = one.message_ids + one.inserted
    assert len(set(every)) == len(every)
