"""What `ullage forget` has removed is in no byte of the files next to the store, however it came there."""

import json
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from queue import Queue
from random import Random
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.command_line import ullage
from support.kept_bytes import plain_and_inflated
from support.panes import wait_until
from support.postgres_server import needs_postgres
from support.watcher import Watcher
from ullage.cli.commands.hook import note_receipt
from ullage.cli.statusline.files import keep
from ullage.model.events import Record, SessionCreated
from ullage.store.originals.sqlite_originals import Blocks, SqliteOriginals
from ullage.store.sqlite.sqlite_store import open_store

# Conversations, and phrases in each.
_CONVERSATIONS, _PHRASES = 4, 15
# Makes a row of the store long enough to be compressed.
_LONG = Random(99).randbytes(600).hex()
_RECEIPT: dict[str, Any] = {"at": 2**41, "why": "compact", "counts": {}, "characters": 4, "tokens": 1}
# An SQLite that overwrites nothing by itself, whatever it was compiled with.
_UNDECIDED = """
import functools, sqlite3
class Undecided(sqlite3.Connection):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.execute("PRAGMA secure_delete = OFF")
sqlite3.connect = functools.partial(sqlite3.connect, factory=Undecided)
"""


def _phrases(number: int) -> list[str]:
    random = Random(number)
    return ["".join(random.choices("bcdfghjkmpqvwxz", k=20)) for _ in range(_PHRASES)]


ALL = [phrase for number in range(_CONVERSATIONS) for phrase in _phrases(number)]


class Home:
    """A user's home with conversations of Claude Code, and a store next to which everything is kept."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self.folder = folder
        self.store = store or str(folder / "store.db")
        self.env = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / ".claude")}
        for number in range(_CONVERSATIONS):
            self.path(number).parent.mkdir(parents=True, exist_ok=True)
            self.path(number).write_bytes(self._log(number).data)

    def path(self, number: int) -> Path:
        name = f"{number}0000000-0000-4000-8000-000000000000.jsonl"
        return self.folder / ".claude" / "projects" / f"-home-me-shop-{number}" / name

    def _log(self, number: int) -> ClaudeLog:
        log = ClaudeLog(session=self.path(number).stem, cwd=f"/home/me/shop/{number}")
        for place, phrase in enumerate(_phrases(number)):
            if place % 3 == 0:
                log.ask(f"Remember {phrase} for me.")
            elif place % 3 == 1:
                log.read(f"{phrase}.txt", f"the file has {phrase} in it\n{_LONG}")
            else:
                log.answer(9_000 + place, text=f"I remember {phrase} for you.")
        return log.ask("And the walnut?").answer(20_000, text="It is ripe.")

    def run(self, *arguments: str) -> Any:
        ran = ullage("--store", self.store, *arguments, env=self.env)
        assert ran.status == 0, ran.err
        return ran

    def knows_all(self) -> bool:
        """Says whether the store, the live file and the archive have all conversations, and the index their words."""
        if not self._files(".archive") or not self._files(".live.json"):
            return False
        with SqliteOriginals(self.beside("archive")) as originals:
            archived = originals.conversations()
        live = self.beside("live.json").read_text()
        return len(archived) == _CONVERSATIONS and all(_phrases(one)[0] in live for one in range(_CONVERSATIONS))

    def beside(self, suffix: str) -> Path:
        (found,) = self._files(".archive")
        return found.with_name(found.name.removesuffix(".archive") + f".{suffix}")

    def _files(self, ending: str = "") -> list[Path]:
        # A server removes folders meanwhile, which `os.walk` leaves out.
        walks = (os.walk(place) for place in (self.folder, Path(os.environ["XDG_DATA_HOME"])))
        found = [Path(folder, name) for walk in walks for folder, _, names in walk for name in names]
        found = [file for file in found if file.name.endswith(ending) and file.is_file()]
        return [file for file in found if ".claude" not in file.parts and file.suffix != ".py"]

    def fill(self) -> Generator[Watcher]:
        watcher = Watcher(self.folder, Queue[dict[str, Any]](), self.store)
        try:
            wait_until(self.knows_all)
            assert self.run("search", "walnut", "--json").json["hits"]
            for number in range(_CONVERSATIONS):
                text, name = " ".join(_phrases(number)), self.path(number).stem
                self.beside("hooks").mkdir(exist_ok=True)
                (self.beside("hooks") / f"{name}.brief").write_text(text)
                store = str(self.beside("catalogue.db")).removesuffix(".catalogue.db")
                keep(store, name, text.encode(), None)
                for _ in range(2):
                    note_receipt(store, {"session": name, "text": text}, {}, {})
                # What an earlier version has left.
                self.beside("given").mkdir(exist_ok=True)
                (self.beside("given") / f"{name}.jsonl").write_text(json.dumps(_RECEIPT | {"text": text}))
            assert sorted(self.left()) == sorted(ALL)
            yield watcher
        finally:
            watcher.kill()

    def left(self) -> list[str]:
        """Returns the phrases in any byte that is kept, also compressed. An index has only the ends of words that begin
        as the words before them."""
        data = plain_and_inflated(self._files())
        for archive in self._files(".archive"):
            with closing(sqlite3.connect(archive)) as connection:
                blocks = Blocks(connection)
                ids = connection.execute("SELECT block_id FROM blocks").fetchall()
                data += b"\n".join(blocks.content(block_id) for (block_id,) in ids)
        return [one for one in ALL if one[4:].encode() in data]

    def packed(self) -> list[bytes]:
        """Returns the archive's packed bytes."""
        with closing(sqlite3.connect(self.beside("archive"))) as connection:
            return [data for (data,) in connection.execute("SELECT data FROM blocks WHERE data IS NOT NULL")]

    def holds(self, packed: list[bytes]) -> bool:
        data = self.beside("archive").read_bytes()
        return any(one[start : start + 64] in data for one in packed for start in range(0, len(one) - 64, 64))


@contextmanager
def filled(home: Home) -> Generator[Watcher]:
    yield from home.fill()


def ids(home: Home) -> list[str]:
    return [home.path(number).stem for number in range(_CONVERSATIONS)]


def test_nothing_is_left_in_any_file_where_sqlite_overwrites_nothing_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_UNDECIDED)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    home = Home(tmp_path)
    with filled(home):
        pass
    home.run("forget", *ids(home), "--yes")
    assert home.left() == []


def test_nothing_is_left_while_a_process_that_follows_has_the_store_open(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with filled(home):
        said = home.run("forget", *ids(home), "--yes").out
        assert all(home.path(number).name in said for number in range(_CONVERSATIONS))
        assert "reads all of it again" in said
        # It writes its live file again once it has seen that the sessions are gone.
        wait_until(lambda: home.left() == [])
        with home.path(0).open("ab") as file:
            file.write(ClaudeLog(session=home.path(0).stem).ask("Go on with a hazelnut.").data)
        # The conversation that continues is shown again, and no other.
        wait_until(lambda: str(home.path(0)) in home.beside("live.json").read_text())
        assert set(home.left()) <= set(_phrases(0))


def test_nothing_is_left_of_what_a_process_followed_that_has_ended(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with filled(home):
        pass
    # The list knows by then that nothing is followed any more.
    home.run("--all", "--json")
    home.run("forget", *ids(home), "--yes")
    assert home.left() == []


@needs_postgres
def test_nothing_is_left_of_a_store_in_postgresql(tmp_path: Path, postgres_address: str) -> None:
    import psycopg  # noqa: PLC0415

    home = Home(tmp_path, postgres_address)
    with filled(home):
        pass
    home.run("forget", *ids(home), "--yes")
    assert home.left() == []
    with psycopg.connect(postgres_address) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        held = b"".join(
            bytes(piece)
            for (table,) in tables
            for piece in connection.cursor().copy(f'COPY "{table}" TO STDOUT').__enter__()  # type: ignore[arg-type]
        )
    assert [one for one in ALL if one.encode() in held or one.encode().hex().encode() in held] == []


def test_nothing_is_left_in_a_write_ahead_log_of_a_process_that_was_killed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with filled(home) as watcher:
        watcher.kill()
        assert (tmp_path / "store.db-wal").stat().st_size
    home.run("forget", *ids(home), "--yes")
    assert home.left() == []


def test_nothing_is_left_in_the_archive_of_what_it_alone_has(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with filled(home):
        pass
    with SqliteOriginals(tmp_path / "store.db.archive") as originals:
        originals.pack()
    packed = home.packed()
    assert home.holds(packed)
    for number in range(_CONVERSATIONS):
        home.path(number).unlink()
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    said = home.run("forget", *(one[:8] for one in ids(home)), "--yes").out
    assert said.startswith("Forgot 4 conversations")
    assert home.left() == []
    assert not home.holds(packed)


@pytest.mark.parametrize(
    ("choice", "gone"),
    [
        (("--older-than", "0"), {0, 1, 2, 3}),
        (("--folder", "/home/me/shop/2"), {2}),
        (("--matching", f"*{_phrases(3)[0]}*"), {3}),
        (("--matching", "*shop-1*", "--older-than", "900d"), set[int]()),
        (("--to", "1kB"), {0, 1, 2, 3}),
    ],
)
@pytest.mark.parametrize("place", ["store", "archive"])
def test_nothing_is_left_of_several_that_are_chosen_by_what_they_are(
    tmp_path: Path, choice: tuple[str, ...], gone: set[int], place: str
) -> None:
    home = Home(tmp_path)
    with filled(home):
        pass
    if place == "archive":
        for file in (*tmp_path.glob("store.db*"),):
            if file.is_file() and not file.name.startswith("store.db.archive"):
                file.unlink()
        for file in (*(tmp_path / "store.db.hooks").glob("*"),):
            file.unlink()
    home.run("forget", *choice, "--yes")
    assert sorted(home.left()) == sorted(one for n in range(_CONVERSATIONS) if n not in gone for one in _phrases(n))


def test_days_are_counted_from_the_last_change(tmp_path: Path) -> None:
    now = time.time_ns() // 1_000_000
    with open_store(tmp_path / "store.db") as store:
        for days in (1, 3):
            changed = Record(position=0, timestamp=now - days * 86_400_000, event=SessionCreated())
            store.create(f"s_{days}", [changed])
    said = ullage("forget", "--older-than", "2d", "--yes", "--json", "--store", tmp_path / "store.db")
    assert json.loads(said.out)["deleted"] == ["s_3"]


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "deleted by its agent"])
def test_an_age_is_that_of_the_conversation_and_not_of_its_reading(tmp_path: Path, *, is_there: bool) -> None:
    home = Home(tmp_path)
    log = ClaudeLog(session=home.path(1).stem, cwd="/home/me/shop/1")
    log.now = 1_700_000_000_000
    home.path(1).write_bytes(log.ask(f"Why {' '.join(_phrases(1))}?").answer(9_000).data)
    for number in range(_CONVERSATIONS):
        changed = 1_700_000_000 if number == 1 else time.time()
        os.utime(home.path(number), (changed, changed))
    assert home.run("search", "walnut", "--json").json["hits"]
    if not is_there:
        home.path(1).unlink()
    home.run("forget", "--older-than", "90d", "--yes")
    assert sorted(home.left()) == sorted(one for n in (0, 2, 3) for one in _phrases(n))
