"""Agents behind the proxy that flood it, talk nonsense, answer wrongly or never, or die in the middle of a line."""

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support import hostile_agent
from support.proxy_rig import running
from ullage.proxy.connection import ProxyOptions

# Seconds that the client waits for an answer. Most come at once.
PATIENCE = 120.0
# The attack after which the client has no answer to its prompt, because the agent runs and owes it.
SILENT = "never-answers"


def children() -> frozenset[str]:
    """Returns the ids of this process's children, of which a test before may have left one. Only Linux says them."""
    found = set[str]()
    for thread in Path("/proc/self/task").glob("*/children"):
        # A thread may have ended meanwhile.
        with suppress(OSError):
            found |= {*thread.read_text("utf-8").split()}
    return frozenset(found)


@pytest.fixture
def leaves_no_process() -> Iterator[None]:
    before = children()
    yield
    assert not children() - before


@pytest.mark.usefixtures("leaves_no_process")
@pytest.mark.parametrize("name", hostile_agent.ATTACKS)
async def test_the_prompt_is_answered_and_the_proxy_lives_on(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    command = [sys.executable, hostile_agent.__file__, name]
    async with running(command, tmp_path, ProxyOptions(own_methods=True)) as rig:
        rig.is_strict = False
        await rig.open()
        prompt = [{"type": "text", "text": "Hello"}]
        asked = rig.start("session/prompt", sessionId=hostile_agent.SESSION, prompt=prompt)
        if name == SILENT:
            rig.send({"method": "session/cancel", "params": {"sessionId": hostile_agent.SESSION}})
        else:
            answered = rig.until(lambda message: "method" not in message and message.get("id") == asked)
            await asyncio.wait_for(answered, PATIENCE)
        # What came before the attack is kept.
        listed = await asyncio.wait_for(rig.ask("_ullage/session/list"), PATIENCE)
        assert listed["sessions"]
    assert caplog.messages == []
