"""What earlier versions had in files of their own is in the catalogue once it is opened."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ullage.cli.statusline.files import read_told
from ullage.store.sqlite.catalogue_notes import ForgottenList, Keeping, Receipts, SqliteTold
from ullage.store.sqlite.known_catalogue import SqliteCatalogue, SqliteReadFiles, catalogue_path

RECEIPT = {"at": 2**41, "why": "compact", "counts": {"name": 1}, "characters": 4, "tokens": 1, "text": "text"}


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / f"store.db.{name}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def put_all(folder: Path) -> None:
    put(folder, "forgotten.json", '{"version": 1, "times": {"/a.jsonl": 5, "/b.db\\nid": 6}}')
    put(folder, "keeping.json", '{"version": 1, "keep": false, "at": 7}')
    said = put(folder, "statusline/s-1.json", '{"context_window": {"context_window_size": 300}, "cwd": "/home"}')
    os.utime(said, (1_700_000_000, 1_700_000_000))
    put(folder, "given/s-1.jsonl", f"{json.dumps(RECEIPT)}\nno receipt\n{json.dumps(RECEIPT | {'text': 'more'})}\n")
    put(folder, "readings/0a1b", "a reading")
    put(folder, "read.json", "{}")


def left(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if "catalogue" not in file.name]


def check_all(store: Path) -> None:
    assert Keeping(store).wanted is False
    assert ForgottenList(store).read() == {"/a.jsonl": 5, "/b.db\nid": 6}
    assert SqliteTold(store)("s-1") == 300
    assert [(at, said["cwd"]) for at, said in read_told(str(store))] == [(1_700_000_000, "/home")]
    assert [receipt.text for receipt in Receipts(store)("s-1")] == ["text", "more"]


USES: dict[str, Callable[[Path], object]] = {
    "keeping": lambda store: Keeping(store).wanted,
    "forgotten": lambda store: ForgottenList(store).read(),
    "receipts": lambda store: Receipts(store)("other"),
    "told": lambda store: SqliteTold(store)("other"),
    "conversations": lambda store: SqliteCatalogue(store).read(),
    "read": lambda store: SqliteReadFiles(store).read(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_whatever_is_read_first_takes_all_over_and_removes_it(tmp_path: Path, use: Callable[[Path], object]) -> None:
    put_all(tmp_path)
    use(tmp_path / "store.db")
    assert left(tmp_path) == []
    check_all(tmp_path / "store.db")


def test_what_is_in_the_catalogue_is_newer_than_what_an_earlier_version_writes_beside_it(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    Keeping(store).answer(keep=True)
    ForgottenList(store).add("/a.jsonl", "", 50)
    for _ in range(2):
        put_all(tmp_path)
        assert Keeping(store).wanted is True
    assert ForgottenList(store).read() == {"/a.jsonl": 50, "/b.db\nid": 6}
    assert [receipt.text for receipt in Receipts(store)("s-1")] == ["text", "more"]


def test_what_is_kept_stays_when_another_version_has_made_the_other_tables(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    put_all(tmp_path)
    SqliteCatalogue(store).read()
    with closing(sqlite3.connect(catalogue_path(store), isolation_level=None)) as catalogue:
        catalogue.execute("PRAGMA user_version = 2")
    check_all(store)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"times": 3, "keep": "?"}', '{"times": {"/a": 1e99}}', "\0"])
def test_what_cannot_be_read_is_removed(tmp_path: Path, text: str) -> None:
    for name in ("forgotten.json", "keeping.json", "statusline/s.json", "given/s.jsonl"):
        put(tmp_path, name, text)
    store = tmp_path / "store.db"
    assert (Keeping(store).wanted, ForgottenList(store).read(), Receipts(store)("s")) == (None, {}, ())
    assert left(tmp_path) == []
