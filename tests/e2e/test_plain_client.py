"""A Language Server client that knows nothing of Ullage needs only commands, progress and messages.

pytest-lsp plays the client, with the capabilities that Neovim has.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from support.coding_session import first_turn, reading_turn
from support.program import serve_command

PATIENCE = 180.0
MODEL = "gpt-4o"
FOLDER = Path("/home/dev/shop")
TITLE = "“The test test_converts_frost fails since yesterday. Find ou…”: "


def write_conversation(path: Path, turns: int) -> Path:
    messages = [message for number in range(1, turns) for message in reading_turn(number)]
    path.write_bytes(msgspec.json.encode({"model": MODEL, "messages": [*first_turn(), *messages]}))
    return path


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncGenerator[LanguageClient]:
    async with other_client(tmp_path) as client:
        yield client


@asynccontextmanager
async def other_client(tmp_path: Path) -> AsyncGenerator[LanguageClient]:
    """A client, with a server of its own, on the store that all clients of a test share."""
    client = make_test_lsp_client()
    pygls: Any = client  # it leaves `start_io`'s arguments untyped
    await pygls.start_io(*serve_command(tmp_path / "s.db"))
    params = types.InitializeParams(
        capabilities=client_capabilities("neovim@v0.11"), process_id=None, root_uri=FOLDER.as_uri()
    )
    await asyncio.wait_for(client.initialize_session(params), PATIENCE)
    yield client
    await asyncio.wait_for(client.shutdown_session(), PATIENCE)


async def run(client: LanguageClient, command: str, *arguments: Any) -> Any:
    params = types.ExecuteCommandParams(command=command, arguments=list(arguments))
    return await asyncio.wait_for(client.workspace_execute_command_async(params), PATIENCE)


def shown(client: LanguageClient) -> list[str]:
    return [message.message for message in client.messages]


async def test_every_command_is_in_the_capabilities(client: LanguageClient) -> None:
    assert client.capabilities
    result = await run(client, "ullage.sessions")
    assert result["sessions"] == []
    assert shown(client) == ["No sessions yet."]


async def test_it_imports_looks_compacts_and_undoes_with_commands_alone(client: LanguageClient, tmp_path: Path) -> None:
    await run(client, "ullage.import", str(write_conversation(tmp_path / "talk.json", 8)))
    await run(client, "ullage.context")
    done = await run(client, "ullage.compact")
    undone = await run(client, "ullage.undo")
    imported, context, compacted, undo = shown(client)
    assert imported.startswith(f"{TITLE}Imported 32 messages (")
    assert context.startswith(f"{TITLE}Context: ")
    assert context.endswith("/128K tokens, estimated)")
    assert compacted.startswith(f"{TITLE}Compacted {done['messagesArchived']} messages: ")
    assert compacted.endswith("Everything is kept; undo any time.")
    assert undo.startswith(f"{TITLE}Undone: ")
    assert undone["usage"]["used"] == done["contextSizeBefore"]


async def test_an_import_that_finds_nothing_new_says_so(client: LanguageClient, tmp_path: Path) -> None:
    path = str(write_conversation(tmp_path / "talk.json", 4))
    for _ in range(2):
        await run(client, "ullage.import", path)
    first, again = shown(client)
    assert first.startswith(f"{TITLE}Imported 16 messages (")
    assert again.startswith(f"{TITLE}Nothing new: all 16 messages (")


async def started(client: LanguageClient, folder: Path, title: str) -> str:
    """Starts a session of another program in a folder, and returns its id. It is the one that changed last."""
    params = {"cwd": str(folder), "model": MODEL, "title": title}
    untyped: Any = client
    request = untyped.protocol.send_request_async("ullage/session/new", params)
    return str((await asyncio.wait_for(request, PATIENCE)).sessionId)


async def test_a_command_without_a_name_is_about_the_conversation_that_the_client_imported_last(
    client: LanguageClient, tmp_path: Path
) -> None:
    path = str(write_conversation(tmp_path / "talk.json", 8))
    ours = (await run(client, "ullage.import", path))["session"]["sessionId"]
    async with other_client(tmp_path) as other:
        await started(other, FOLDER, "Newer")
    await run(client, "ullage.compact")
    again = await run(client, "ullage.import", path)
    undone = await run(client, "ullage.undo")
    assert (again["outcome"], again["session"]["sessionId"]) == ("unchanged", ours)
    assert [edit["reverted"] for edit in undone["edits"]] == [True]
    assert all(text.startswith(TITLE) for text in shown(client))


async def test_before_that_it_is_about_the_newest_of_the_clients_own_folder(
    client: LanguageClient, tmp_path: Path
) -> None:
    async with other_client(tmp_path) as other:
        await started(other, FOLDER / "src", "Ours")
        elsewhere = await started(other, FOLDER.with_name("shopping"), "Another folder's")
        await run(client, "ullage.context")
        await run(client, "ullage.context", elsewhere)
        await started(other, FOLDER, "Newer")
    await run(client, "ullage.context")
    titles = [text.partition(":")[0] for text in shown(client)]
    assert titles == ["“Ours”", "“Another folder's”", "“Another folder's”"]


async def test_another_folders_conversation_is_never_chosen(client: LanguageClient, tmp_path: Path) -> None:
    async with other_client(tmp_path) as other:
        await started(other, FOLDER.with_name("shopping"), "Another folder's")
    for command in ("ullage.context", "ullage.undo", "ullage.compact", "ullage.preview"):
        with pytest.raises(Exception, match="No conversation of this folder is stored"):
            await run(client, command)


async def test_a_command_shows_its_progress_and_ends_it(client: LanguageClient, tmp_path: Path) -> None:
    await run(client, "ullage.import", str(write_conversation(tmp_path / "talk.json", 8)))
    await run(client, "ullage.compact")
    (*_, reports) = client.progress_reports.values()
    assert isinstance(reports[0], types.WorkDoneProgressBegin)
    assert reports[0].title == "Compacting"
    assert reports[0].cancellable is True
    assert isinstance(reports[-1], types.WorkDoneProgressEnd)


@pytest.mark.parametrize(
    ("command", "arguments", "remedy"),
    [
        ("ullage.compact", (), "No conversation of this folder is stored"),
        ("ullage.compact", ("nobody",), "nobody"),
        ("ullage.import", ("/no/such/file",), "/no/such/file"),
        ("ullage.import", (7,), "must be text"),
    ],
)
async def test_a_command_that_cannot_be_done_says_why(
    client: LanguageClient, command: str, arguments: tuple[Any, ...], remedy: str
) -> None:
    with pytest.raises(Exception, match=remedy):
        await run(client, command, *arguments)
