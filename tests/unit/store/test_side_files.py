"""What agents say to their status lines is known to whoever follows them."""

import ast
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.receipts import receipts_of
from ullage.cli.commands.hook import note_receipt
from ullage.cli.statusline.files import as_object, keep, parse, read_told
from ullage.cli.statusline.line import window_of
from ullage.host import side_files
from ullage.host.side_files import CATALOGUE, beside
from ullage.model.usage import RateLimit
from ullage.service.ports.agent_files import ToldWindow
from ullage.store.sqlite.catalogue import (
    ForgottenList,
    Keeping,
    Receipts,
    SqliteCatalogue,
    SqliteReadFiles,
    SqliteTold,
    ToldOnce,
)
from ullage.store.sqlite.quick_catalogue import add_receipt


def size_of(told: ToldWindow | None) -> int | None:
    return told and told.size


def tell(store: Path, name: str, text: str) -> None:
    keep(str(store), name, text.encode(), window_of(as_object(parse(text.encode()))))


def test_the_window_that_an_agent_has_said_is_known_until_it_says_another(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    told = SqliteTold(store)
    assert told("id") is None
    tell(store, "id", '{"context_window": {"context_window_size": 200000}, "more": 1}')
    tell(store, "other", '{"context_window": {"context_window_size": 3}}')
    assert size_of(told("id")) == size_of(told("id")) == 200_000
    tell(store, "id", '{"context_window": {"context_window_size": 1000000}}')
    assert size_of(told("id")) == 1_000_000
    # Another catalogue is noticed, too.
    for file in tmp_path.iterdir():
        file.unlink()
    tell(store, "id", '{"context_window": {"context_window_size": 5}}')
    assert size_of(told("id")) == 5
    assert told("other") is None


@pytest.mark.parametrize(
    "text",
    [
        *("{}", '{"context_window": null}', '{"context_window": {"context_window_size": -1}}', "[]"),
        '{"context_window": {"context_window_size": 99999999999999999999}}',
    ],
)
def test_what_says_no_window_is_none(tmp_path: Path, text: str) -> None:
    tell(tmp_path / "s.db", "id", text)
    told = SqliteTold(tmp_path / "s.db")
    assert told("id") is None
    assert told("a\0b") is None


@pytest.mark.parametrize("name", ["a8f1-22", "a.b_c", "Ä", "x" * 128])
def test_what_was_said_last_comes_first(tmp_path: Path, name: str) -> None:
    tell(tmp_path / "s.db", "before", '{"number": 1}')
    tell(tmp_path / "s.db", name, '{"number": 2}')
    assert [said["number"] for _, said in read_told(str(tmp_path / "s.db"))][:2] in ([2, 1], [1, 2])
    tell(tmp_path / "s.db", name, '{"number": 3}')
    assert sorted(said["number"] for _, said in read_told(str(tmp_path / "s.db"))) == [1, 3]


def test_rate_limits_that_an_agent_has_said_are_known_until_it_says_others(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    told = SqliteTold(store)
    assert told.rate_limits("id") == ()
    tell(store, "id", '{"rate_limits": {"five_hour": {"used_percentage": 41.6, "resets_at": 1795000000}}}')
    tell(store, "other", '{"rate_limits": {"seven_day": {"used_percentage": 8}}}')
    assert told.rate_limits("id") == (RateLimit(name="5h", percent=42, until=1_795_000_000_000),)
    assert told.rate_limits("other") == (RateLimit(name="7d", percent=8),)
    tell(store, "id", '{"rate_limits": "none"}')
    assert told.rate_limits("id") == ()


def test_a_thing_is_told_once_whichever_process_asks(tmp_path: Path) -> None:
    first, second = ToldOnce(tmp_path / "s.db"), ToldOnce(tmp_path / "s.db")
    assert [first("moment a 1"), second("moment a 1"), first("moment a 1"), second("moment a 2")] == [
        *(True, False, False, True)
    ]


# What hooks gave back is read from the catalogue, where they wrote it


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
        assert beside(tmp_path / "store.db", CATALOGUE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["store.db", "missing/store.db"])
def test_hooks_that_come_first_make_the_catalogue_that_others_use(tmp_path: Path, name: str) -> None:
    store = tmp_path / name
    given(store, "text")
    assert SqliteCatalogue(store).read() == {}
    ForgottenList(store).add("/a", "", 5)
    given(store, "more")
    assert [receipt.text for receipt in Receipts(store)("s-1")] == ["text", "more"]
    assert ForgottenList(store).read() == {"/a": 5}
    with closing(sqlite3.connect(beside(store, CATALOGUE))) as catalogue:
        assert catalogue.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# What earlier versions had in files of their own is in the catalogue once it is opened


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
    assert size_of(SqliteTold(store)("s-1")) == 300
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
    with closing(sqlite3.connect(beside(store, CATALOGUE), isolation_level=None)) as catalogue:
        catalogue.execute("PRAGMA user_version = 2")
    check_all(store)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"times": 3, "keep": "?"}', '{"times": {"/a": 1e99}}', "\0"])
def test_what_cannot_be_read_is_removed(tmp_path: Path, text: str) -> None:
    for name in ("forgotten.json", "keeping.json", "statusline/s.json", "given/s.jsonl"):
        put(tmp_path, name, text)
    store = tmp_path / "store.db"
    assert (Keeping(store).wanted, ForgottenList(store).read(), Receipts(store)("s")) == (None, {}, ())
    assert left(tmp_path) == []


def test_only_one_module_names_the_files_next_to_a_store() -> None:
    names = {value for name, value in vars(side_files).items() if name.isupper() and isinstance(value, str)}
    # Stores in folders of tests and demos have its name, too.
    names.remove(side_files.STORE)
    assert len(names) >= 14
    package = Path(side_files.__file__).parents[1]
    named = {
        (path.name, node.value)
        for path in package.rglob("*.py")
        if path.name != "side_files.py" and any(f'{name}"' in (text := path.read_text()) for name in names)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    }
    assert named == set()
