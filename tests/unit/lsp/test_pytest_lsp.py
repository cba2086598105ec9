"""The client of another implementation, with Neovim's capabilities, finds what it expects."""

import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from support.lsp_client import ROOT

CONFIG = ClientServerConfig(
    server_command=[sys.executable, "-m", "support.lsp_toy"],
    server_env={"PYTHONPATH": f"{ROOT / 'server'}:{ROOT / 'tests'}"},
)


# The library gives its decorator no types.
fixture: Any = vars(pytest_lsp)["fixture"]


@fixture(config=CONFIG)
async def client(lsp_client: LanguageClient) -> AsyncGenerator[None, None]:
    await lsp_client.initialize_session(types.InitializeParams(capabilities=client_capabilities("neovim@v0.11")))
    yield
    await lsp_client.shutdown_session()


async def test_a_command_reports_progress_and_says_what_it_did(client: LanguageClient) -> None:
    result = await client.workspace_execute_command_async(types.ExecuteCommandParams("ullage.shrink", arguments=["a"]))
    assert result == {"arguments": ["a"]}
    (reports,) = client.progress_reports.values()
    assert [type(report).__name__ for report in reports] == [
        "WorkDoneProgressBegin",
        "WorkDoneProgressReport",
        "WorkDoneProgressEnd",
    ]
    assert [message.message for message in client.messages] == ["Shrunk."]
