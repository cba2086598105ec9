"""An agent whose version of the protocol the proxy does not read: every byte is forwarded, and nothing else happens."""

import asyncio
from pathlib import Path

import pytest

from support.acp_end import PATIENCE
from support.proxy_play import playing
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets


async def test_with_another_version_of_the_protocol_the_proxy_only_forwards_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        play.agent.version = 3
        await play.greet()
        asked = play.prompts("/compact")
        request = await play.agent.gets("session/prompt")
        assert request["params"]["prompt"][0]["text"] == "/compact"
        play.agent.answers(request, messageId="m1")
        assert await play.client.answer(asked) == {"messageId": "m1"}
        assert await play.client.proxy.connection.recorder.settled() is None
        assert "ullage" not in b"".join(play.client.lines).decode()
        assert not play.steps
        told = [record.message for record in caplog.records if "version 3" in record.message]
        assert len(told) == 1


async def test_the_proxy_of_an_agent_that_only_gets_lines_forwarded_ends_as_the_agent_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        play.agent.version = 3
        await play.greet()
        play.prompts()
        await play.agent.gets("session/prompt")
        play.agent.dies()
        await asyncio.wait_for(play.client.closed.wait(), PATIENCE)
