"""A conversation in an agent's database is followed in one session, whatever else the database holds."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.agent_databases import GROWING, LATER, T, crush, goose, hermes, opencode, opencode_session, put, said
from support.memory_store import MemoryStore
from support.workspace import build_test_client
from ullage.agents.transcripts import read_document
from ullage.model.events import MessageAppended
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.ports.agent_files import FoundFile, Growth, LastRows, Mark, Pieces
from ullage.service.sessions import import_or_continue
from ullage.system.growing_files import GrowingFiles, read_transcript_file

# What opencode says of text that it puts into a prompt.
PUT = {"synthetic": True}


class Rig:
    """A workspace that follows the conversation `one` of a database."""

    def __init__(self, path: Path, files: GrowingFiles | None = None) -> None:
        self.path = path
        self.files = files or GrowingFiles()
        self.workspace = build_test_client(store=MemoryStore()).workspace
        self.restart()

    def restart(self) -> None:
        self.followed = FollowedFile(self.workspace, self.files, FoundFile(path=self.path, origin_id="one"))

    async def look(self) -> None:
        await self.followed.look()
        await self.followed.settle()

    async def revert(self, message: str) -> None:
        """Lets the user of opencode go back to before a message, or take that back ("")."""
        reverted = json.dumps({"messageID": message}) if message else None
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("UPDATE session SET revert = ? WHERE id = 'one'", (reverted,))
        await self.look()

    def view(self) -> list[str]:
        assert self.followed.conversation is not None
        return [message.id for message in self.followed.conversation.transcript.view]

    def records(self) -> int:
        assert self.followed.conversation is not None
        return len(self.workspace.ports.store.read(self.followed.conversation.id))

    def said(self) -> list[str]:
        assert self.followed.conversation is not None
        records = self.workspace.ports.store.read(self.followed.conversation.id)
        return [record.event.message.id for record in records if isinstance(record.event, MessageAppended)]


@pytest.mark.parametrize("restarted", [False, True], ids=["followed", "restarted"])
@pytest.mark.parametrize("agent", list(GROWING))
async def test_a_conversation_that_grows_in_a_database_is_what_it_is_as_a_whole(
    agent: str, restarted: bool, tmp_path: Path
) -> None:
    rig = Rig(tmp_path / "agent.db")
    for rows in GROWING[agent]:
        put(rig.path, rows)
        if restarted:
            rig.restart()
        await rig.look()
    transcript = read_document(read_transcript_file(rig.path, run=2))
    whole = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    assert rig.followed.conversation is not None
    assert rig.followed.conversation.transcript.view == whole.transcript.view
    assert rig.followed.conversation.used == whole.used
    assert len(rig.said()) == len(set(rig.said()))
    assert len(rig.workspace.ports.store.list()) == 1


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "agent.db")


@pytest.mark.parametrize("agent", ["opencode", "opencode, newer table", "crush"])
async def test_an_answer_that_is_being_written_comes_when_it_is_complete(rig: Rig, agent: str) -> None:
    found: list[int] = []
    for rows in GROWING[agent][:3]:
        put(rig.path, rows)
        await rig.look()
        found.append(len(rig.said()))
    assert found == [1, 1, 2]


async def test_a_prompt_whose_parts_are_written_one_by_one_stays_in_its_session(rig: Rig) -> None:
    put(rig.path, GROWING["opencode"][0])
    await rig.look()
    file = {"type": "file", "mime": "text/plain", "url": "file:///home/ann/a.py"}
    parts = [said("And in @a.py?"), said("Called the Read tool") | PUT, said("1: PORT = 80") | PUT, file]
    shown: list[list[str]] = []
    for number in range(1, len(parts) + 1):
        put(rig.path, opencode("m3", LATER, *parts[:number]))
        await rig.followed.look()
        ahead = await rig.followed.look_ahead()
        shown.append([message.text for message in ahead.transcript.view] if ahead else [])
    # Each part is in the figures at once.
    assert [texts[-1].count("\n") + len(texts) for texts in shown] == [2, 3, 4, 4]
    await rig.look()
    assert rig.said() == ["m1", "m3"]
    assert len(rig.workspace.ports.store.list()) == 1


async def test_the_newest_answer_has_its_usage_at_once(tmp_path: Path) -> None:
    for number, agent in enumerate(["opencode", "opencode, newer table", "crush"]):
        rig = Rig(tmp_path / f"{number}.db")
        for rows in GROWING[agent][:3]:
            put(rig.path, rows)
            await rig.look()
        assert rig.followed.conversation is not None
        assert rig.followed.conversation.used == 905


async def test_a_conversation_is_followed_when_another_one_is_deleted(rig: Rig) -> None:
    steps = GROWING["opencode"]
    put(rig.path, steps[0])
    await rig.look()
    with closing(sqlite3.connect(rig.path)) as database, database:
        database.execute("DELETE FROM session WHERE id = 'zero'")
    put(rig.path, [*steps[2], *steps[3]])
    await rig.look()
    assert rig.said() == ["m1", "m2", "m3"]


@pytest.mark.parametrize("agent", list(GROWING))
async def test_a_conversation_is_not_written_when_only_another_one_of_its_database_is(
    agent: str, tmp_path: Path
) -> None:
    rig, steps = Rig(tmp_path / "agent.db"), GROWING[agent]
    table, own = next((table, columns) for table, columns in steps[0] if columns["id"] == "one")
    named = own | {"title" if "title" in own else "name": "Casks"}
    more = [
        (table, columns | {"id": 99, "session_id": "zero"}) for table, columns in steps[1] if columns["id"] != "one"
    ]
    written: list[bool] = []
    for rows in (steps[0], steps[1], [(table, named | {"id": "zero"})], more, steps[2], [(table, named)]):
        put(rig.path, rows)
        written.append((await rig.followed.look()).written)
    assert written == [True, True, False, False, True, True]


@pytest.mark.parametrize("agent", list(GROWING))
async def test_a_conversation_that_is_deleted_from_its_database_is_missing_and_stays_in_the_store(
    agent: str, tmp_path: Path
) -> None:
    rig = Rig(tmp_path / "agent.db")
    for rows in GROWING[agent][:2]:
        put(rig.path, rows)
        await rig.look()
    said = rig.said()
    with closing(sqlite3.connect(rig.path)) as database, database:
        for table in {table for rows in GROWING[agent][:2] for table, _ in rows}:
            key = "id" if table in ("session", "sessions") else "session_id"
            database.execute(f"DELETE FROM {table} WHERE {key} = 'one'")
    assert (await rig.followed.look()).missing
    assert rig.said()[: len(said)] == said
    # It may come back.
    put(rig.path, [*GROWING[agent][0], *GROWING[agent][1]])
    await rig.look()
    assert len(rig.workspace.ports.store.list()) == 1


async def test_a_compaction_and_an_undo_of_hermes_are_shown_when_they_are_made(rig: Rig) -> None:
    seen = list[list[str]]()
    for rows in GROWING["hermes"]:
        put(rig.path, rows)
        await rig.look()
        seen.append(rig.view()[1:])
    compacted = ["1", "7-summary-marker"]
    assert seen == [
        *(["1"], ["1", "2"], ["1", "2", "3", "4"], ["1", "2", "3", "4", "5"], [*compacted, "5"]),
        *([*compacted, "5", "9"], compacted, [*compacted, "10"]),
    ]
    # No copy is a message of its own.
    assert rig.said()[1:] == ["1", "2", "3", "4", "5", "9", "10"]


async def test_a_title_that_a_database_gets_later_is_the_sessions_title(rig: Rig) -> None:
    for rows in GROWING["opencode"]:
        put(rig.path, rows)
        await rig.look()
    assert rig.workspace.ports.store.list()[0].title == "Ports of casks"


@pytest.mark.parametrize("restarted", [False, True], ids=["followed", "restarted"])
async def test_what_was_reverted_comes_back_when_the_revert_is_taken_back(rig: Rig, restarted: bool) -> None:
    for rows in GROWING["opencode"]:
        put(rig.path, rows)
        await rig.look()
    for message, left in [
        *(("m3", ["m1", "m2"]), ("", ["m1", "m2", "m3"])),
        # The same again, then further back, and forward, and all back.
        *(("m3", ["m1", "m2"]), ("m2", ["m1"]), ("m3", ["m1", "m2"]), ("", ["m1", "m2", "m3"])),
    ]:
        if restarted:
            rig.restart()
        await rig.revert(message)
        assert rig.view() == left
    assert rig.said() == ["m1", "m2", "m3"]
    assert len(rig.workspace.ports.store.list()) == 1


async def test_a_revert_that_stays_is_recorded_once(rig: Rig) -> None:
    for rows in GROWING["opencode"]:
        put(rig.path, rows)
        await rig.look()
    await rig.revert("m2")
    known = rig.records()
    for title in ("one", "two"):
        # Another conversation of the database changes.
        put(rig.path, [opencode_session("zero", title)])
        await rig.look()
    assert (rig.view(), rig.records()) == (["m1"], known)


class Parts(GrowingFiles):
    """Files of which `parts` readings were of the last messages of a conversation alone."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = 0

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        growth = super().read_on(path, mark, origin_id, pieces=pieces)
        self.parts += isinstance(growth, LastRows)
        return growth


class Wholes(GrowingFiles):
    """Files that are read whole each time."""

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        return super().read_on(path, mark and replace(mark, rows=None), origin_id, pieces=pieces)


def changed_at_random(path: Path, agent: str, number: int, chance: random.Random) -> None:
    """Adds a message, or edits, deletes or moves a row of messages."""
    table, column = {
        "opencode": ("part", "data"),
        "crush": ("messages", "parts"),
        "goose": ("messages", "content_json"),
        "hermes": ("messages", "content"),
    }[agent]
    with closing(sqlite3.connect(path)) as database, database:
        ids = [row[0] for row in database.execute(f"SELECT id FROM {table} WHERE session_id = 'one' ORDER BY rowid")]
        chosen = chance.choice([*ids[-3:], chance.choice(ids)])
        match chance.choice(["add", "add", "edit", "delete", "move"]):
            case "edit":
                edit = f"UPDATE {table} SET {column} = replace({column}, 'o', 'u') WHERE id = ?"
                database.execute(edit, (chosen,))
                return
            case "delete" if len(ids) > 3:
                database.execute(f"DELETE FROM {table} WHERE id = ?", (chosen,))
                return
            case "move":
                row = database.execute(f"SELECT * FROM {table} WHERE id = ?", (chosen,)).fetchone()
                database.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
                return
            case _:
                pass
    words = f"Question {number}, or so?"
    if agent == "opencode":
        rows = opencode(f"n{number:03}", LATER | {"time": {"created": T + 10 + number}}, said(words))
    elif agent == "crush":
        rows = [crush(f"n{number:03}", "user", {"type": "text", "data": {"text": words}})]
    elif agent == "hermes":
        rows = [hermes(100 + number, "user", words)]
    else:
        rows = [goose(100 + number, "user", words)]
    put(path, rows)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("agent", ["opencode", "crush", "goose", "hermes"])
async def test_rows_that_are_added_edited_deleted_or_moved_are_read_as_by_a_whole_reading(
    agent: str, seed: int, tmp_path: Path
) -> None:
    files, chance = Parts(), random.Random(seed)
    rig, whole = Rig(tmp_path / "agent.db", files), Rig(tmp_path / "agent.db", Wholes())
    for rows in GROWING[agent]:
        put(rig.path, rows)
    for number in range(30):
        changed_at_random(rig.path, agent, number, chance)
        for one in (rig, whole):
            await one.look()
        assert rig.followed.conversation is not None and whole.followed.conversation is not None
        assert rig.followed.conversation.transcript.view == whole.followed.conversation.transcript.view
        assert rig.followed.conversation.used == whole.followed.conversation.used
        assert rig.said() == whole.said()
    # Most changes are at the end.
    assert files.parts >= 10
