"""A Language Server client that knows nothing of Ullage: commands, progress and messages are all it needs."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from support.coding_session import write_coding_session
from support.program import serve_command

PATIENCE = 20.0


def make_client() -> LanguageClient:
    client = make_test_lsp_client()

    @client.feature(types.WORKSPACE_CONFIGURATION)
    def configuration(_: types.ConfigurationParams) -> list[Any]:
        return [None]

    return client


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-c", "pass"], client_factory=make_client)
)
async def client(lsp_client: LanguageClient) -> AsyncGenerator[None]:
    yield
