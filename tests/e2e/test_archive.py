"""The archive as a user sees it: what an agent has deleted is found, shown and given back byte for byte."""

import shutil
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from random import Random
from typing import Any

import pytest

from support.agent_databases import GROWING, put
from support.command_line import ullage, ullage_bytes
from support.log_trees import to_bytes
from support.panes import wait_until
from support.watcher import KILLS, Watcher, log_in, turns, wait_for
from ullage.store.originals.sqlite_originals import SqliteOriginals


def export(home: Path, name: str, *options: str | Path) -> bytes:
    """Returns what `ullage export --original` prints."""
    ended = ullage_bytes("--store", home / "store.db", "export", "--original", name, *options, env={"HOME": str(home)})
    return ended.out


def archived(home: Path, session_id: str = "", origin_id: str = "") -> dict[Path, int]:
    """Returns the files of a conversation that the archive has, with the bytes that it has of each."""
    with SqliteOriginals(home / "store.db.archive") as originals:
        found = originals.find(session_id=session_id) if session_id else originals.find(origin_id=origin_id)
    return {Path(one.source.path): one.versions[-1].size for one in found}


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


def test_watchers_that_are_killed_keep_every_byte_once(tmp_path: Path) -> None:
    random, rows = Random(11), Queue[dict[str, Any]]()
    path, lines = log_in(tmp_path), turns(KILLS * 3)
    whole, at = to_bytes(lines), 0
    path.touch()
    watchers = [Watcher(tmp_path, rows) for _ in range(2)]
    try:
        for _ in range(KILLS):
            with path.open("ab") as file:
                at += file.write(whole[at : at + random.randrange(len(whole) // KILLS)])
            with suppress(Empty):
                rows.get(timeout=random.random())
            watchers.pop(random.randrange(2)).kill()
            watchers.append(Watcher(tmp_path, rows))
        with path.open("ab") as file:
            file.write(whole[at:])
        wait_until(lambda: archived(tmp_path, origin_id=path.stem) == {path: len(whole)})
    finally:
        for watcher in watchers:
            watcher.kill()
    with SqliteOriginals(tmp_path / "store.db.archive") as originals:
        (original,) = originals.find(path=str(path))
        assert [version.size for version in original.versions] == [len(whole)]
        assert b"".join(originals.read(original.versions[0].version_id)) == whole
    assert path.read_bytes() == whole


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
