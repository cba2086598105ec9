"""The archive as a user sees it: what an agent has deleted is found, shown and given back byte for byte."""

import shutil
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from support.agent_databases import GROWING, put
from support.command_line import ullage, ullage_bytes
from support.log_trees import to_bytes
from support.panes import wait_until
from support.watcher import Watcher, archived, log_in, turns, wait_for


def export(home: Path, name: str, *options: str | Path) -> bytes:
    """Returns what `ullage export --original` prints."""
    ended = ullage_bytes("--store", home / "store.db", "export", "--original", name, *options, env={"HOME": str(home)})
    return ended.out


def test_a_conversation_that_its_agent_deletes_is_found_shown_and_given_back(tmp_path: Path) -> None:
    path, lines, rows = log_in(tmp_path), turns(6), Queue[dict[str, Any]]()
    beside = path.with_suffix("") / "tool-results" / "result.txt"
    beside.parent.mkdir(parents=True)
    beside.write_text("the whole result\n")
    # The last line is not ended, as of an agent that was killed.
    data = to_bytes(lines).rstrip(b"\n")
    watcher = Watcher(tmp_path, rows)
    try:
        path.write_bytes(data[:2_000])
        wait_for(rows, 3)
        with path.open("ab") as file:
            file.write(data[2_000:])
        session_id = wait_for(rows, 11)["session_id"]
        shutil.copytree(tmp_path / ".claude", tmp_path / "copy")
        # While the agent's file is there, what is given back may be that file.
        wait_until(lambda: archived(tmp_path, session_id) == {path: len(data), beside: beside.stat().st_size})
        shutil.rmtree(tmp_path / ".claude")
    finally:
        watcher.kill()
    assert export(tmp_path, session_id) == export(tmp_path, path.stem[:8]) == data
    folder = tmp_path / "restored"
    folder.mkdir()
    export(tmp_path, session_id, "--output", folder)
    assert (folder / path.name).read_bytes() == data
    assert (folder / beside.relative_to(path.parent)).read_text() == "the whole result\n"
    found = ullage("--store", tmp_path / "store.db", "search", "Answer 6", "--json").json
    assert found["hits"][0]["session_id"] == session_id
    shown = ullage("--store", tmp_path / "store.db", "messages", session_id, "--json").json
    assert len(shown["messages"]) >= 11


def test_a_conversation_that_its_agent_deletes_from_a_database_is_given_back_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    database = tmp_path / "data" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    for step in GROWING["opencode"]:
        put(database, [row for row in step if row[1]["id"] != "zero"])
    data = export(tmp_path, "one")
    assert data.count(b"\n") == 7
    watcher = Watcher(tmp_path, Queue[dict[str, Any]]())
    try:
        wait_until(lambda: [*archived(tmp_path, origin_id="one").values()] == [len(data)])
    finally:
        watcher.kill()
    database.unlink()
    assert export(tmp_path, "one") == data
    (tmp_path / "one.jsonl").write_bytes(data)
    imported = ullage("--store", tmp_path / "other.db", "import", tmp_path / "one.jsonl", "--json").json
    assert imported["messages"] == 3
    shown = ullage("--store", tmp_path / "store.db", "keep", env={"HOME": str(tmp_path)}).out
    assert "row by row" in shown


def test_a_file_that_is_still_there_is_given_as_it_is(tmp_path: Path) -> None:
    path, data = log_in(tmp_path), to_bytes(turns(2))
    path.write_bytes(data)
    imported = ullage("--store", tmp_path / "store.db", "import", path, "--json", env={"HOME": str(tmp_path)}).json
    assert export(tmp_path, imported["session_id"]) == data
    path.unlink()
    missing = ullage(
        "--store", tmp_path / "store.db", "export", "--original", imported["session_id"], env={"HOME": str(tmp_path)}
    )
    assert (missing.status, missing.out) == (2, "")
    assert "no original of" in missing.err
