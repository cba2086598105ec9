"""The command line's small client, with the real server."""

from pathlib import Path

import pytest
from msgspec import Raw

from ullage.api.session_methods import Nothing, SessionParams
from ullage.cli.lsp_client import ServerTrouble, start_server


def ignore(method: str, params: Raw) -> None:
    """Ignores a notification."""


async def test_error_of_the_server_names_the_method(tmp_path: Path) -> None:
    async with start_server(tmp_path / "sessions.db", None, ignore) as client:
        with pytest.raises(ServerTrouble, match="session/close"):
            await client.call("session/close", SessionParams(session_id="nobody"), Nothing)


async def test_no_module_of_the_folder_is_run_in_place_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ullage.py").write_text("raise SystemExit('a module of the folder')\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    async with start_server(tmp_path / "sessions.db", None, ignore) as client:
        assert await client.request("ullage/session/list", {})


async def test_request_to_a_server_that_ended_fails_at_once(tmp_path: Path) -> None:
    async with start_server(tmp_path / "sessions.db", None, ignore) as client:
        await client.request("shutdown", None)
        await client.notify("exit", None)
        with pytest.raises(ServerTrouble):
            await client.request("ullage/session/list", {})
