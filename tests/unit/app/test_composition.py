"""What the composition root makes of a workspace: late management, the copy of a store on a server, instructions for
summaries, and the command by which an agent starts Ullage."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.claude_log import ClaudeLog
from support.command_line import PATIENCE
from support.logs import conversation, message, records
from support.postgres_server import PostgresServer, needs_postgres
from support.systems import needs_links
from ullage.agents.agent import Agent
from ullage.agents.table import AGENTS
from ullage.agents.wiring import SettingsFile
from ullage.app.agent_wiring import OwnCommand, added_to, own_words, started_by
from ullage.app.compose import offline_settings, read_summary_prompts
from ullage.model.errors import InvalidRequest
from ullage.model.settings import OfflineSettings
from ullage.store.offline.local_copy import open_copy
from ullage.store.store_place import offline_path, open_sessions_at

# Reads each file as a follower does, and prints after each the warnings so far and whether management is loaded.
FOLLOW = """
import asyncio, json, sys
from pathlib import Path
from ullage.agents.transcripts import read
from ullage.app.compose import open_workspace
from ullage.service.sessions import import_or_continue

class Listener:
    warnings = []
    def session_updated(self, session_id, update):
        if getattr(update, "severity", "") == "warning":
            self.warnings.append(update.title)

async def follow(store, *files):
    with open_workspace(Path(store)) as workspace:
        workspace.bus.listen(Listener())
        for file in files:
            await import_or_continue(workspace, read(Path(file).read_bytes()), "")
            print(json.dumps([len(Listener.warnings), "ullage.service.compact.automatic" in sys.modules]))

asyncio.run(follow(*sys.argv[1:]))
"""


def test_a_conversation_near_its_agents_threshold_is_warned_of_although_management_is_loaded_late(
    tmp_path: Path,
) -> None:
    log, files = ClaudeLog(), list[Path]()
    for number, tokens in enumerate((120_000, 123_000, 126_000, 163_000, 164_000)):
        files.append(tmp_path / f"{number}.jsonl")
        files[-1].write_bytes(log.ask(f"Step {number}.").answer(tokens).data)
    words = [sys.executable, "-c", FOLLOW, str(tmp_path / "sessions.db"), *map(str, files)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.stderr == ""
    assert [json.loads(line) for line in ran.stdout.splitlines()] == [[0, False]] * 3 + [[1, True]] * 2


OFF = OfflineSettings(enabled=False)


def test_the_environment_is_before_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    given = OfflineSettings(limit=2.0)
    monkeypatch.delenv("ULLAGE_OFFLINE", raising=False)
    assert offline_settings(given) == given
    monkeypatch.setenv("ULLAGE_OFFLINE", "off")
    assert not offline_settings(given).enabled
    monkeypatch.setenv("ULLAGE_OFFLINE", "0.25")
    assert offline_settings(OFF).most_bytes == 250_000_000
    for wrong in ("yes", "0", "-1", "nan"):
        monkeypatch.setenv("ULLAGE_OFFLINE", wrong)
        with pytest.raises(InvalidRequest, match="gigabytes"):
            offline_settings(given)


@needs_postgres
def test_off_makes_no_copy_and_sends_what_an_older_one_has(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    address = postgres_server.new_schema()
    path = offline_path(address)
    with open_sessions_at(address, offline=OFF) as store:
        store.create("s", conversation("one"))
    assert not path.exists()
    with open_sessions_at(address) as store:
        store.open("s")
    assert path.exists()
    with open_copy(path) as local:
        local.create_unsent("mine", conversation("two"))
    with open_sessions_at(address, offline=OFF) as store:
        assert [info.session_id for info in store.list()].count("mine") == 1
    # Nothing is left to send, so the copy stays as it is.
    with open_sessions_at(address, offline=OFF) as store:
        store.append("mine", records(message("m9"), start=2))
    with open_copy(path) as local:
        assert len(local.copied_records("mine", -1, 99)) == 2


_WIRED = [(agent, file) for agent in AGENTS if agent.wiring for file in agent.wiring.files]


@pytest.mark.parametrize(("agent", "file"), _WIRED, ids=[f"{agent.name} {file.syntax}" for agent, file in _WIRED])
def test_the_words_that_start_ullage_are_found_in_whatever_is_added(agent: Agent, file: SettingsFile) -> None:
    assert agent.wiring is not None
    added = added_to(file, agent.wiring.word, OwnCommand(words=("/a b/python", "-m", "ullage")), "")
    assert {*started_by(added)} == {("/a b/python", "-m", "ullage")}


def test_a_module_of_the_folder_is_not_run_where_python_starts_ullage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py")])
    (tmp_path / "ullage.py").write_text("print('a module of the folder')\n", "utf-8")
    words = own_words()
    assert words[0] == sys.executable
    said = subprocess.run([*words, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.startswith("ullage ")


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("Codex", "C:\\b\\ullage.exe hook codex", " 2>nul || exit /b 0"),
        ("Gemini CLI", "try { & 'C:/b/ullage.exe' 'hook'", "catch { }; exit 0"),
        ("Claude Code", "C:/b/ullage.exe hook claude-code", " 2>/dev/null ||:"),
    ],
)
def test_on_windows_a_hook_is_written_for_the_shell_that_its_agent_runs(name: str, begins: str, ends: str) -> None:
    agent = next(agent for agent in AGENTS if agent.name == name)
    assert agent.wiring is not None
    file = next(file for file in agent.wiring.files if file.hooks)
    own = OwnCommand(words=("C:/b/ullage.exe",), shell=agent.wiring.windows_shell)
    hooks = added_to(file, agent.wiring.word, own, None).hooks
    assert {(hook.command[: len(begins)], hook.command[-len(ends) :]) for hook in hooks} == {(begins, ends)}


def project(folder: Path, text: str = "Name the tickets.") -> Path:
    """Returns a project folder with its own instructions."""
    (folder / ".ullage").mkdir()
    (folder / ".ullage" / "summary.md").write_text(text)
    return folder


def test_without_instruction_files_there_are_no_instructions(tmp_path: Path) -> None:
    assert read_summary_prompts("", "") == ()
    assert read_summary_prompts(str(tmp_path), "") == ()


def test_the_projects_instructions_come_after_the_users(tmp_path: Path) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("Write in French.")
    assert read_summary_prompts(str(project(tmp_path)), str(mine)) == ("Write in French.", "Name the tickets.")


def test_a_named_file_that_is_missing_is_reported_with_the_setting(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"ullage\.summary\.promptFile: cannot read .*missing\.md"):
        read_summary_prompts("", str(tmp_path / "missing.md"))


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"x" * 20_001])
def test_what_is_no_text_or_far_too_long_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mine.md"
    path.write_bytes(data)
    with pytest.raises(InvalidRequest, match=r"mine\.md"):
        read_summary_prompts("", str(path))


@needs_links
def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("a private key")
    folder = tmp_path / "project"
    (folder / ".ullage").mkdir(parents=True)
    (folder / ".ullage" / "summary.md").symlink_to(secret)
    with pytest.raises(InvalidRequest, match="outside"):
        read_summary_prompts(str(folder), "")
