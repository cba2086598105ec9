"""What hooks gave back is read from the catalogue, where they wrote it."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from support.receipts import receipts_of
from ullage.cli.commands.hook import note_receipt
from ullage.store.sqlite.catalogue_notes import ForgottenList, Receipts
from ullage.store.sqlite.known_catalogue import SqliteCatalogue, catalogue_path
from ullage.store.sqlite.quick_catalogue import add_receipt

NUMBERS = {"characters": 9, "tokens": 3}


def given(store: Path, text: str, why: str = "compact") -> None:
    told = {"agent": "some-agent", "session": "s-1", "transcript": "/t.jsonl", "why": why, "text": text}
    note_receipt(str(store), told, NUMBERS, {"path": 2})


def test_receipts_are_read_as_they_were_written_the_oldest_first(tmp_path: Path) -> None:
    text = 'line\n> "quoted" \\ \x00 𝔫'
    given(tmp_path / "store.db", text)
    given(tmp_path / "store.db", "again", "resume")
    first, second = Receipts(tmp_path / "store.db")("s-1")
    assert (first.why, first.characters, first.tokens, first.counts) == ("compact", 9, 3, {"path": 2})
    assert first.text == text
    assert (second.why, second.text) == ("resume", "again")
    assert first.at <= second.at


@pytest.mark.parametrize("name", ["", "s-2", "../store.db", "a/b", "a\0b", ".."])
def test_a_session_that_nothing_was_given_to_has_no_receipts(tmp_path: Path, name: str) -> None:
    given(tmp_path / "store.db", "text")
    assert Receipts(tmp_path / "store.db")(name) == ()


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    given(tmp_path / "store.db", "first")
    for data in (b'{"at":1}', b"not json", b"\xff"):
        add_receipt(str(tmp_path / "store.db"), "s-1", 2**50, data)
    given(tmp_path / "store.db", "second")
    assert [receipt.text for receipt in Receipts(tmp_path / "store.db")("s-1")] == ["first", "second"]


def test_receipts_of_long_ago_go(tmp_path: Path) -> None:
    add_receipt(str(tmp_path / "store.db"), "s-2", 1_000, b'{"at":1000}')
    given(tmp_path / "store.db", "text")
    assert [receipt["text"] for receipt in receipts_of(tmp_path / "store.db")] == ["text"]


def test_a_long_list_keeps_its_newer_half(tmp_path: Path) -> None:
    for number in range(70):
        given(tmp_path / "store.db", f"{number} {'x' * 10_000}")
    texts = [receipt.text.partition(" ")[0] for receipt in Receipts(tmp_path / "store.db")("s-1")]
    assert 25 < len(texts) < 60
    assert texts == [str(number) for number in range(70 - len(texts), 70)]


def test_the_oldest_receipts_go_and_only_the_user_may_read_the_others(tmp_path: Path) -> None:
    for number in range(90):
        given(tmp_path / "store.db", f"{number} {'word ' * 2_000}")
    assert sum(len(json.dumps(receipt)) for receipt in receipts_of(tmp_path / "store.db")) <= 620_000
    kept = [int(receipt.text.partition(" ")[0]) for receipt in Receipts(tmp_path / "store.db")("s-1")]
    assert kept == [*range(kept[0], 90)]
    assert kept[0] > 0
    if sys.platform != "win32":
        assert catalogue_path(tmp_path / "store.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["store.db", "missing/store.db"])
def test_hooks_that_come_first_make_the_catalogue_that_others_use(tmp_path: Path, name: str) -> None:
    store = tmp_path / name
    given(store, "text")
    assert SqliteCatalogue(store).read() == {}
    ForgottenList(store).add("/a", "", 5)
    given(store, "more")
    assert [receipt.text for receipt in Receipts(store)("s-1")] == ["text", "more"]
    assert ForgottenList(store).read() == {"/a": 5}
    with closing(sqlite3.connect(catalogue_path(store))) as catalogue:
        assert catalogue.execute("PRAGMA journal_mode").fetchone() == ("wal",)
