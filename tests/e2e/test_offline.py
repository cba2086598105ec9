"""Doors whose store is in PostgreSQL continue without its server, a real one, and send everything when it is back."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support import started_program
from support.command_line import SAMPLE, ullage
from support.logs import message, records
from support.lsp_client import LspClient, start_server
from support.postgres_server import PostgresServer, needs_postgres, running_server
from support.program import OUR_CLIENT
from ullage import ContextManager
from ullage.model.events import MessageAppended
from ullage.store.postgres.postgres_store import open_postgres

pytestmark = needs_postgres


@pytest.fixture(scope="module")
def postgres() -> Generator[PostgresServer]:
    """A server of this file's own, which is stopped and started."""
    with running_server() as server:
        yield server


def home_of(folder: Path, address: str) -> dict[str, str]:
    """Returns the environment of a user with this home and this store."""
    return {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "ULLAGE_STORE": address,
    }


def texts(address: str, session_id: str) -> list[str]:
    """Returns the texts of a session's messages at the server."""
    with open_postgres(address) as store:
        events = [record.event for record in store.read_messages(session_id, 0, 1_000)]
    return [event.message.text for event in events if isinstance(event, MessageAppended)]


def test_the_command_line_goes_on_without_the_server_and_sends_when_it_is_back(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    address = postgres.new_schema()
    env = home_of(tmp_path, address)
    first = ullage("import", SAMPLE, "--json", env=env).json["session_id"]
    postgres.stop("immediate")
    try:
        listed = ullage("--stored", "--json", env=env)
        assert [one["session_id"] for one in listed.json["sessions"]] == [first]
        assert "can't be reached. Ullage goes on with the copy on this machine, which has 1 session." in listed.err
        compacted = ullage("compact", first, "--json", env=env)
        assert compacted.status == 0
        (store,) = [check for check in ullage("doctor", "--json", env=env).json["checks"] if check["what"] == "store"]
        assert "1 conversation" in store["found"]
        assert "1 with something to send" in store["found"]
        log = ullage("export", "--events", first, "--json", env=env).out
        never = ullage("--stored", env=home_of(tmp_path / "new", address))
        assert (never.status, "can't be reached" in never.err) == (2, True)
    finally:
        postgres.start("listen_addresses=")
    back = ullage("--stored", "--json", env=env)
    assert "is back." in back.err
    assert ullage("export", "--events", first, "--json", env=env).out == log
    assert ullage("export", "--events", first, "--json", env=home_of(tmp_path / "new", address)).out == log


async def test_an_editors_conversation_goes_on_without_the_server_and_is_told_what_happened(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    address = postgres.new_schema()
    async with start_server(started_program.stand_in("lsp"), home_of(tmp_path, address)) as client:
        await client.initialize(OUR_CLIENT)
        made = await client.request("ullage/session/new", {"model": "gpt-5", "cwd": "/project"})
        session_id = made["sessionId"]
        await add(client, session_id, "Plant the walnut tree.")
        postgres.stop("immediate")
        try:
            await add(client, session_id, "Water it.")
            await noticed(client, "store_offline")
            other = (await client.request("ullage/session/new", {"model": "gpt-5", "cwd": "/project"}))["sessionId"]
            await add(client, other, "Dig a well.")
        finally:
            another_machine_adds(postgres, address, session_id)
            postgres.start("listen_addresses=")
        await noticed(client, "store_caught_up")
        forked = await noticed(client, "store_forked")
        assert session_id in forked["title"]
        await add(client, session_id, "Prune it.")
        assert await client.shutdown() == 0
    with open_postgres(address) as store:
        (fork,) = set(store.find_ids("")) - {session_id, other}
        assert store.info(fork).parent_id == session_id
    assert texts(address, session_id) == ["Plant the walnut tree.", "Feed it.", "Prune it."]
    assert texts(address, fork) == ["Plant the walnut tree.", "Water it."]
    assert texts(address, other) == ["Dig a well."]


def another_machine_adds(server: PostgresServer, address: str, session_id: str) -> None:
    """Appends a message by a way to the server that others don't have."""
    aside = server.folder / "aside"
    aside.mkdir()
    aside.chmod(0o777)
    server.start("listen_addresses=", f"unix_socket_directories={aside}")
    with open_postgres(address.replace(str(server.folder), str(aside))) as store:
        end = store.read(session_id)[-1].position + 1
        store.append(session_id, records(message("other", "Feed it."), start=end))
    server.stop()


async def add(client: LspClient, session_id: str, text: str) -> None:
    messages = [{"role": "user", "content": text}]
    await client.request("ullage/session/append", {"sessionId": session_id, "messages": messages})


async def noticed(client: LspClient, kind: str) -> Any:
    """Waits for a notice of this kind, and returns it."""

    def is_notice(params: Any) -> bool:
        return params["update"].get("_meta", {}).get("ullage", {}).get("kind") == kind

    return (await client.wait_for("ullage/session/update", is_notice))["update"]


def test_a_programs_conversation_goes_on_without_the_server_if_it_says_so(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    address = postgres.new_schema()
    with ContextManager("gpt-4o", store=address, offline=True) as context:
        session_id = context.session_id
        context.add_message({"role": "user", "content": "one"})
        postgres.stop("immediate")
        try:
            context.add_message({"role": "assistant", "content": "two"})
            context.add_message({"role": "user", "content": "three"})
            assert [message["content"] for message in context.get_messages()] == ["one", "two", "three"]
        finally:
            postgres.start("listen_addresses=")
    with ContextManager("gpt-4o", store=address, offline=True, session_id=session_id) as context:
        assert [message["content"] for message in context.get_messages()] == ["one", "two", "three"]
    assert texts(address, session_id) == ["one", "two", "three"]
