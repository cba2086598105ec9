"""The real server makes new sessions of agents for an editor, each after a preview."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.codex_files import said, session
from support.foreign import to_lines
from support.lsp_client import LspClient, RpcFailure, start_server
from support.program import OUR_CLIENT, serve_command

FIRST, OPEN = "Rename the table in every part.", "Are all done?"


def shop() -> str:
    """Returns a conversation with a compaction of the agent's own in its middle."""
    log = ClaudeLog(session="shop", cwd="/home/me/shop").ask(FIRST)
    for number in range(12):
        log.read(f"/home/me/shop/part{number}.py", f"def part{number}(): ...\n" * 60).answer(20_000 + 500 * number)
        if number == 8:
            log.compact(167_000, summary="Most of the parts are done.")
    return log.ask(OPEN).answer(40_000).text


class Editor:
    """A server whose user has started two agents, but has no session yet other than `sessionId`, which was imported."""

    def __init__(self, client: LspClient, home: Path, session_id: str) -> None:
        self.client = client
        self.home = home
        self.session_id = session_id

    async def ask(self, method: str, **params: Any) -> Any:
        """Sends a request about the session."""
        return await self.client.request(f"ullage/continuing/{method}", {"sessionId": self.session_id} | params)

    async def refusal(self, method: str, **params: Any) -> RpcFailure:
        """Sends a request that is refused."""
        with pytest.raises(RpcFailure) as failure:
            await self.ask(method, **params)
        return failure.value

    @property
    def files(self) -> list[Path]:
        """The files in the agents' folders."""
        return sorted(path for name in ("claude", "codex") for path in (self.home / name).rglob("*.jsonl"))


@asynccontextmanager
async def opened(home: Path, text: str = "", agents: tuple[str, ...] = ("claude", "codex")) -> AsyncGenerator[Editor]:
    for agent in agents:
        (home / agent).mkdir()
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "claude"), "CODEX_HOME": str(home / "codex")}
    async with start_server(serve_command(home / "store.db"), env) as client:
        await client.initialize(OUR_CLIENT)
        imported = await client.request("ullage/session/import", {"text": text or shop()})
        yield Editor(client, home, imported["session"]["sessionId"])


async def test_the_choices_are_the_agents_its_own_first_and_whether_there_is_a_compaction_to_undo(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as editor:
        found = await editor.ask("choices")
        assert found["beforeCompaction"] is True
        assert (found["agents"][0], [one["own"] for one in found["agents"]].count(True)) == (
            {"agent": "Claude Code", "word": "claude-code", "own": True},
            1,
        )
        assert {"agent": "Codex", "word": "codex", "own": False} in found["agents"]


async def test_an_agent_that_is_not_on_this_machine_is_not_offered_and_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, agents=("codex",)) as editor:
        found = await editor.ask("choices")
        assert found["agents"] == [{"agent": "Codex", "word": "codex", "own": False}]
        for wanted in ({}, {"agent": "claude-code"}):
            refused = await editor.refusal("preview", **wanted)
            assert refused.data["kind"] == "InvalidRequest"
            assert refused.message.startswith(
                f"Claude Code is not on this machine: there is no folder {tmp_path}/claude;"
            )
        assert (await editor.ask("preview", agent="codex"))["agent"] == "Codex"


async def test_a_preview_writes_nothing_and_is_written_once_as_it_was_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as editor:
        shown = await editor.ask("preview", budget=1_000)
        assert editor.files == []
        assert (shown["written"], shown["agent"], shown["cwd"]) == (False, "Claude Code", "/home/me/shop")
        assert shown["used"] < shown["before"]
        assert shown["leftOut"] > 0

        made = await editor.ask("write", previewId=shown["previewId"])
        assert made == shown | {"written": True}
        assert [str(path) for path in editor.files] == [made["path"]]
        assert made["agentSessionId"] == editor.files[0].stem == made["command"][-1]
        refused = await editor.refusal("write", previewId=shown["previewId"])
        assert refused.data["kind"] == "PreviewExpired"


async def test_it_goes_back_to_before_the_compaction_or_to_a_message(tmp_path: Path) -> None:
    async with opened(tmp_path) as editor:
        whole = await editor.ask("preview", beforeCompaction=True)
        written = Path((await editor.ask("write", previewId=whole["previewId"]))["path"]).read_text(encoding="utf-8")
        assert FIRST in written
        assert "Most of the parts" not in written

        listed = await editor.client.request(
            "ullage/context/messages", {"sessionId": editor.session_id, "scope": "transcript"}
        )
        asked = next(entry for entry in listed["entries"] if OPEN in str(entry["message"]["content"]))
        before = await editor.ask("preview", messageId=asked["message"]["id"])
        later = await editor.ask("preview", compacted=False)
        assert before["messages"] == later["messages"] - 1
        refused = await editor.refusal("preview", messageId="m_none")
        assert refused.data["kind"] == "MessageNotFound"


async def test_another_agent_gets_a_session_in_its_own_folder(tmp_path: Path) -> None:
    async with opened(tmp_path) as editor:
        shown = await editor.ask("preview", agent="codex")
        made = await editor.ask("write", previewId=shown["previewId"])
        assert (made["agent"], made["command"][0]) == ("Codex", "codex")
        assert [path.is_relative_to(tmp_path / "codex") for path in editor.files] == [True]
        refused = await editor.refusal("preview", agent="wordstar")
        assert "wordstar" in refused.message


async def test_what_is_not_possible_is_refused_with_the_reason(tmp_path: Path) -> None:
    text = ClaudeLog(session="short").ask("Hello").answer(9_000).text
    async with opened(tmp_path, text) as editor:
        assert (await editor.ask("choices"))["beforeCompaction"] is False
        assert "nothing to go back to" in (await editor.refusal("preview", beforeCompaction=True)).message
        both = await editor.refusal("preview", beforeCompaction=True, messageId="m")
        assert both.data["kind"] == "InvalidRequest"
        assert editor.files == []


async def test_what_another_agent_adds_to_every_request_is_taken_from_a_conversation_of_it(tmp_path: Path) -> None:
    text = to_lines(
        session(id="7f0c2a51-7d1e-4c8b-9a41-6f1f2d3c4b5a", cwd="/home/me/shop"), said("user", OPEN)
    ).decode()
    async with opened(tmp_path, text) as editor:
        alone = await editor.ask("preview", agent="claude-code")
        assert alone["hidden"] == 0
        other = tmp_path / "claude" / "projects" / "-home-me-shop" / "shop.jsonl"
        other.parent.mkdir(parents=True)
        other.write_text(shop(), encoding="utf-8")
        shown = await editor.ask("preview", agent="claude-code")
        assert shown["hidden"] > 0
        assert shown["used"] == alone["used"] + shown["hidden"]
