"""What hooks gave back is read from the lines that they wrote."""

import sys
from pathlib import Path

import pytest

from ullage.cli.hooks.hook_output import note_receipt
from ullage.system.next_to_store import Receipts

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
def test_without_a_file_there_are_no_receipts(tmp_path: Path, name: str) -> None:
    given(tmp_path / "store.db", "text")
    assert Receipts(tmp_path / "store.db")(name) == ()


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    given(tmp_path / "store.db", "first")
    with (tmp_path / "store.db.given" / "s-1.jsonl").open("ab") as file:
        file.write(b'{"at":1}\nnot json\n\xff\n')
    given(tmp_path / "store.db", "second")
    assert [receipt.text for receipt in Receipts(tmp_path / "store.db")("s-1")] == ["first", "second"]


def test_a_long_list_keeps_its_newer_half(tmp_path: Path) -> None:
    for number in range(70):
        given(tmp_path / "store.db", f"{number} {'x' * 10_000}")
    texts = [receipt.text.partition(" ")[0] for receipt in Receipts(tmp_path / "store.db")("s-1")]
    assert 25 < len(texts) < 60
    assert texts == [str(number) for number in range(70 - len(texts), 70)]


def test_the_oldest_receipts_go_and_only_the_user_may_read_the_others(tmp_path: Path) -> None:
    for number in range(90):
        given(tmp_path / "store.db", f"{number} {'word ' * 2_000}")
    (file,) = (tmp_path / "store.db.given").iterdir()
    assert file.stat().st_size <= 600_000
    kept = [int(receipt.text.partition(" ")[0]) for receipt in Receipts(tmp_path / "store.db")("s-1")]
    assert kept == [*range(kept[0], 90)]
    assert kept[0] > 0
    if sys.platform != "win32":
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
