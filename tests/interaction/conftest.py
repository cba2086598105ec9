"""Fixtures of tests that play an agent behind the proxy."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.proxy_play import Play, playing
from ullage.proxy.connection import ProxyOptions


@pytest.fixture
def options() -> ProxyOptions:
    """The proxy's options, which a module may replace by a fixture of its own."""
    return ProxyOptions()


@pytest.fixture
async def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: ProxyOptions) -> AsyncGenerator[Play]:
    """A client and an agent that the test plays, with the proxy between them."""
    async with playing(tmp_path, monkeypatch, options) as play:
        yield play
