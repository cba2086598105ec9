"""The exchanges that protocol/README.md writes down are what a client and the real server say to each other."""

import json
import re
from pathlib import Path

import pytest

from support.documents import ROOT
from support.followed_home import FollowedHome
from support.lsp_client import PATIENCE
from support.program import serve_command
from support.written_exchange import NotAsWritten, exchange_under, play

PAGE = (ROOT / "protocol" / "README.md").read_text(encoding="utf-8")
FIRST, FOLLOWING = "The first exchange", "Agents on this machine"
# Without keys, as the page says nothing of them.
ENVIRONMENT = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
# Seconds that a wrong page may wait for a message that never comes. A right one has PATIENCE.
IMPATIENCE = 8.0


def test_the_first_exchange_happens_as_it_is_written(tmp_path: Path) -> None:
    assert play(exchange_under(FIRST, PAGE), serve_command(tmp_path / "s.db"), ENVIRONMENT, PATIENCE) == 0


def test_following_happens_as_it_is_written(tmp_path: Path) -> None:
    home = FollowedHome(tmp_path)
    home.say("Which port?", 40_000)
    env = ENVIRONMENT | {"HOME": str(home.folder), "CLAUDE_CONFIG_DIR": str(home.folder / ".claude")}
    assert play(exchange_under(FOLLOWING, PAGE), serve_command(tmp_path / "s.db"), env, PATIENCE) == 0


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ('"experimental": {"ullage": {}}}', '"experimental": {}}'),
        ('"ullage/session/append"', '"ullage/session/add"'),
        ('"model": "gpt-4o"', '"model": "gpt-3.5-turbo"'),
        ('"sessionUpdate": "usage_update", "used": 1920', '"sessionUpdate": "usage_update", "used": 1921'),
        ('"source": "reported"', '"source": "estimated"'),
        ('"status": "completed"', '"status": "done"'),
        ('"code": 1501', '"code": -32002'),
        ('"id": 11, "method": "shutdown"', '"id": 12, "method": "shutdown"'),
    ],
)
def test_an_exchange_that_is_written_wrongly_does_not_happen(tmp_path: Path, written: str, wrong: str) -> None:
    assert written in PAGE
    steps = exchange_under(FIRST, PAGE.replace(written, wrong))
    with pytest.raises(NotAsWritten):
        play(steps, serve_command(tmp_path / "s.db"), ENVIRONMENT, IMPATIENCE)


def test_the_header_that_is_written_has_the_length_of_its_message() -> None:
    found = re.search(r"^Content-Length: (\d+)\\r\\n\\r\\n(.*)$", PAGE, re.MULTILINE)
    assert found
    assert len(found[2].encode()) == int(found[1])
    assert json.loads(found[2])["method"] == "initialized"
