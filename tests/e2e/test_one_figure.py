"""A followed conversation has one figure, whoever is asked for it."""

import json
import re
import time
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.command_line import ullage, ullage_bytes
from support.mcp_client import mcp_client
from support.panes import wait_until
from support.program import language_server
from support.watcher import Watcher

ID = "1f3a0000-0000-4000-8000-000000000000"


class Asked:
    """A home with a conversation that is followed, and all that can be asked for its figure: its tokens, and its
    window if that is said."""

    def __init__(self, home: Path) -> None:
        self.work, self.store = home / "shop", home / "sessions.db"
        self.work.mkdir()
        self.path = home / ".claude/projects/-shop" / f"{ID}.jsonl"
        self.path.parent.mkdir(parents=True)

    def write(self, log: ClaudeLog) -> None:
        self.path.write_bytes(log.data)

    def live(self) -> tuple[int, int]:
        """What editors read without a server."""
        file = self.store.with_name("sessions.db.live.json")
        rows: list[dict[str, Any]] = json.loads(file.read_bytes())["sessions"] if file.exists() else []
        return (rows[0]["used"], rows[0]["window"]) if rows else (0, 0)

    def commands(self) -> dict[str, tuple[int, int]]:
        here = json.loads(ullage_bytes("--store", self.store, "--json", cwd=self.work).out)["conversations"]
        sessions = ullage("--store", self.store, "sessions", "--json").json["sessions"]
        rows = {"here": here, "sessions": sessions}
        said = {name: (row["used"], row["window"]) for name, (row,) in rows.items()}
        for name in (ID, ID[:6], str(self.path)):
            context = ullage("--store", self.store, "context", name, "--json").json
            said[f"context {name}"] = context["used"], context["window"]
        return said

    async def unfollowed(self) -> set[tuple[int, int]]:
        """Returns the figures of all that can be asked while no process follows."""
        (here,) = json.loads(ullage_bytes("--store", self.store, "--json", cwd=self.work).out)["conversations"]
        context = ullage("--store", self.store, "context", ID, "--json").json
        return {(here["used"], here["window"]), (context["used"], context["window"]), await self.mcp()}

    def status_line(self, **more: Any) -> str:
        told = {"session_id": ID, "cwd": str(self.work), **more}
        return ullage("statusline", "--store", self.store, "--width", "30", stdin=json.dumps(told).encode()).out

    async def servers(self) -> dict[str, tuple[int, int]]:
        said: dict[str, tuple[int, int]] = {}
        async with language_server(self.store) as client:
            (one,) = (await client.request("ullage/transcripts/list", {}))["transcripts"]
            said["transcripts/list"] = one["used"], one["window"]
            usage = await client.request("ullage/context/get", {"sessionId": one["sessionId"]})
            said["context/get"] = usage["used"], usage["size"]
            assert usage["_meta"]["ullage"]["percent"] == one["percent"]
            assert await client.shutdown() == 0
        said["mcp"] = await self.mcp()
        return said

    async def mcp(self) -> tuple[int, int]:
        async with mcp_client(self.store.parent, self.work, "--session", ID) as mcp:
            text, _ = await mcp.call("context")
        used, window = re.findall(r"Exactly ([\d,]+) of ([\d,]+) tokens", text)[0]
        return int(used.replace(",", "")), int(window.replace(",", ""))


@pytest.mark.parametrize("end", ["complete", "may continue", "asked"])
async def test_all_say_the_same_of_a_followed_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    asked, rows = Asked(tmp_path), Queue[dict[str, Any]]()
    asked.write(ClaudeLog(session=ID, cwd=str(asked.work)).ask("Which port?").answer(40_000))
    watcher = Watcher(tmp_path, rows, str(asked.store))
    try:
        wait_until(lambda: asked.live()[0] == 40_050)
        log = ClaudeLog(session=ID, cwd=str(asked.work)).ask("Which port?").answer(40_000).ask("And now?")
        if end != "asked":
            log.answer(61_000)
        data = log.data
        if end == "complete":
            data = data.replace(b'"role": "assistant"', b'"role": "assistant", "stop_reason": "end_turn"')
            assert data != log.data
        known = asked.live()
        asked.path.write_bytes(data)
        wait_until(lambda: asked.live() != known)
        figure = asked.live()
        commands, servers = asked.commands(), await asked.servers()
        assert {name: said for name, said in {**commands, **servers}.items() if said != figure} == {}
        short = f"{round(figure[0] / 1000)}K/200K"
        assert short in asked.status_line()
        until = time.monotonic() + 60
        while (row := rows.get(timeout=60))["used"] != figure[0]:
            assert time.monotonic() < until
        assert row["window"] == figure[1]
    finally:
        watcher.kill()


async def test_all_say_the_window_that_the_agent_says_until_another_model_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    asked = Asked(tmp_path)
    log = ClaudeLog(session=ID, cwd=str(asked.work)).ask("Which port?").answer(40_000)
    asked.write(log)
    assert await asked.unfollowed() == {(40_050, 200_000)}
    asked.status_line(context_window={"context_window_size": 1_000_000}, model={"id": f"{log.model}[1m]"})
    assert await asked.unfollowed() == {(40_050, 1_000_000)}
    log.model, log.now = "claude-haiku-4-5", time.time_ns() // 1_000_000 + 60_000
    asked.write(log.ask("And now?").answer(50_000))
    assert await asked.unfollowed() == {(50_050, 200_000)}


async def test_of_a_file_that_has_lost_messages_all_say_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    asked = Asked(tmp_path)
    log = ClaudeLog(session=ID, cwd=str(asked.work)).ask("Which port?").answer(40_000)
    before = log.data
    asked.write(log.ask("And now?").answer(50_000))
    assert await asked.unfollowed() == {(50_050, 200_000)}
    asked.path.write_bytes(before)
    assert await asked.unfollowed() == {(40_050, 200_000)}
