"""The screen in the README is what the program shows."""

import os
import re
import time
from pathlib import Path

from support.agent_homes import Conversation
from support.command_line import ullage_bytes
from support.documents import ROOT, region

_ASKED = "Refunds in two currencies. Never touch the table of rates, and use pnpm, not npm."
# What differs from run to run: ids, and how long ago something was.
_IDS = ("0c1f7a2e", "b93d5e60")


def test_the_first_screen_is_as_in_the_readme(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    running, older = Conversation(tmp_path, shop), Conversation(tmp_path, shop)
    older.say("Why does the login test fail on Mondays?", 93_000)
    running.say(_ASKED, 60_000)
    running.say("Round half to even.", 166_900)
    running.compact(167_100, "The user wants refunds to work.")
    running.say("Go on with the invoices.", 154_000)
    running.open_in(os.getpid())
    (path,) = (file for file in tmp_path.rglob(f"{older.id}.jsonl"))
    path.write_text(_days_ago(path.read_text(encoding="utf-8"), 3), encoding="utf-8")
    past = time.time() - 3 * 86_400
    os.utime(path, (past, past))
    env = {"HOME": str(tmp_path), "COLUMNS": "80", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
    shown = ullage_bytes(env=env, cwd=shop).out.decode()
    for one, name in zip((running, older), _IDS, strict=True):
        shown = shown.replace(one.id[:8], name)
    shown = re.sub(r"\d+ s ago", "2 minutes ago", shown.replace(str(tmp_path), "/home/me"))
    told = region((ROOT / "README.md").read_text(encoding="utf-8"), "screen")
    assert told == f"```\n{shown}```\n"


def _days_ago(text: str, days: int) -> str:
    past = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - days * 86_400))
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", past, text)
