"""A client of a workspace in memory, and a play of a client and an agent with the proxy between them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.proxy_play import Play, playing
from support.workspace import TestClient, build_test_client
from ullage.proxy.connection import ProxyOptions


@pytest.fixture
def client() -> TestClient:
    """A client whose workspace has no session yet."""
    return build_test_client()


@pytest.fixture
def options() -> ProxyOptions:
    """The proxy's options, which a module may replace by a fixture of its own."""
    return ProxyOptions()


@pytest.fixture
async def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: ProxyOptions) -> AsyncGenerator[Play]:
    """A client and an agent that the test plays, with the proxy between them."""
    async with playing(tmp_path, monkeypatch, options) as play:
        yield play
