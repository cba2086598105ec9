"""A conversation of an agent has one name, whether Ullage has read it into its store or not: the agent's own id."""

from pathlib import Path

import pytest

from support.claude_log import ClaudeLog
from support.command_line import ullage

ID = "0c1f7a2e-1111-4222-8333-444455556666"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    log = ClaudeLog(session=ID, cwd=str(tmp_path / "shop")).ask("Which port does the weather server take?").answer(900)
    folder = tmp_path / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    (tmp_path / "shop").mkdir()
    (folder / f"{ID}.jsonl").write_bytes(log.data)
    return tmp_path


def said(home: Path, *words: str) -> str:
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "COLUMNS": "80"}
    ran = ullage(*words, env=env)
    assert ran.status == 0, ran.err
    return ran.out


def test_an_agents_id_is_shown_before_and_after_the_conversation_is_read(home: Path) -> None:
    listed = said(home, "--cwd", str(home / "shop"))
    assert "  0c1f7a2e\n" in listed
    assert "0c1f7a2e  Which port" in said(home, "search", "weather", "server")
    assert "  0c1f7a2e\n" in said(home, "--cwd", str(home / "shop"))
    assert "\n0c1f7a2e  Which port" in said(home, "--stored")


def test_every_command_takes_an_agents_id_of_a_conversation_that_was_read(home: Path) -> None:
    said(home, "search", "weather")
    assert "weather" in said(home, "search", "--conversation", "0c1f", "port")
    assert "Which port" in said(home, "export", "0c1f")
    assert "Which port" in said(home, "messages", ID)


def test_what_an_agent_has_deleted_is_still_found_by_its_id(home: Path) -> None:
    said(home, "search", "weather")
    next(home.glob(".claude/projects/*/*.jsonl")).unlink()
    assert "Which port" in said(home, "messages", "0c1f7a2e")
