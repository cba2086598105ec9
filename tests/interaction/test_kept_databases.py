"""Conversations in agents' databases are kept row by row, each by itself, and are readable when they were deleted."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.agent_databases import GROWING, put
from ullage.agents.discovery import kept_path
from ullage.agents.transcripts import read, read_document
from ullage.service.follow.keep_originals import FileCopier
from ullage.service.ports.agent_files import Source
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.system.growing_files import AgentOriginals, read_database

DAY = 86_400_000


class Archive:
    """An archive of the conversation `one` of a database."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "agent.db"
        self.path = kept_path(str(self.database), "one")
        self.originals = SqliteOriginals(folder / "store.db.archive")
        self.restart()

    def restart(self) -> None:
        self.files = AgentOriginals()
        self.copier = FileCopier(self.originals, self.files)

    def keep(self, changed_at: int = 0) -> bool:
        source = Source(path=self.path, agent="an agent", origin_id="one", changed_at=changed_at)
        return self.copier.keep(source, is_quiet=True, pack=False)

    def versions(self) -> list[bytes]:
        found = self.originals.find(path=self.path)
        return [b"".join(self.originals.read(version.version_id)) for version in found[0].versions] if found else []

    def delete(self, name: str) -> None:
        with closing(sqlite3.connect(self.database)) as database, database:
            for (table,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                key = "id" if table in ("session", "sessions") else "session_id"
                database.execute(f"DELETE FROM {table} WHERE {key} = ?", (name,))


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    kept = Archive(tmp_path)
    yield kept
    kept.originals.close()


@pytest.mark.parametrize("agent", GROWING)
def test_a_deleted_conversation_reads_as_it_did_in_its_database(agent: str, archive: Archive) -> None:
    for rows in GROWING[agent]:
        put(archive.database, rows)
        assert archive.keep()
    before = read_document(read_database(archive.database, "one"))
    archive.delete("one")
    with pytest.raises(FileNotFoundError):
        archive.keep()
    (data,) = archive.versions()
    after = read(data, archive.path)
    assert after.events == before.events
    assert (after.agent, after.session_id, after.title) == (before.agent, before.session_id, before.title)
    assert b"zero" not in data


def test_every_column_of_a_row_is_kept(archive: Archive) -> None:
    row = {"id": "one", "n": 9_007_199_254_740_993, "x": 0.5, "none": None, "text": "Fäßer\n", "blob": b"\xff\x00"}
    put(archive.database, [("sessions", row)])
    archive.keep()
    (data,) = archive.versions()
    assert json.loads(data) == {"table": "sessions", "row": row | {"blob": {"base64": "/wA="}}}


def test_a_conversation_is_read_again_only_when_its_database_or_it_has_changed(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    steps = GROWING["crush"]
    put(archive.database, steps[0])
    archive.keep()
    original = AgentOriginals.opened

    def watched(self: AgentOriginals, path: str) -> object:
        opened.append(path)
        return original(self, path)

    monkeypatch.setattr(AgentOriginals, "opened", watched)
    archive.keep()
    assert not opened
    put(archive.database, steps[1])
    archive.keep()
    assert len(opened) == 1
    # The agent says that it changed this conversation long ago; another one of the database has changed.
    long_ago = archive.database.stat().st_mtime_ns // 1_000_000 - 2 * DAY
    archive.restart()
    put(archive.database, steps[2])
    archive.keep(changed_at=long_ago)
    assert len(opened) == 1
    archive.keep(changed_at=long_ago + 2 * DAY)
    assert len(opened) == 2


def test_a_database_itself_is_not_kept_and_has_no_place_for_a_strange_id(tmp_path: Path) -> None:
    database = str(tmp_path / "agent.db")
    assert [kept_path(database, name) for name in ("", "a/b", "../x")] == ["", "", ""]
    assert kept_path(database, "ses_1") == f"{database}/ses_1.jsonl"
    assert kept_path("/logs/ses_1.jsonl", "other") == "/logs/ses_1.jsonl"
