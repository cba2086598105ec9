"""The files next to the store in which earlier versions of Ullage had what is in the catalogue now. They are taken over
and removed whenever the catalogue is opened and one of them is there: an earlier version may still run."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.limits import OWN_FILE, read_plain
from ullage.service.ports.agent_files import GivenBack
from ullage.store.sqlite.database import transaction
from ullage.store.sqlite.quick_catalogue import QUICK_TABLES, add_receipt_to

# The tables that are kept when a catalogue of another version is made again; see the README.
NOTES_TABLES = (
    *QUICK_TABLES,
    "CREATE TABLE IF NOT EXISTS forgotten (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL, at INTEGER NOT NULL) "
    "WITHOUT ROWID",
)
_FORGOTTEN, _KEEPING, _TOLD, _GIVEN = "forgotten.json", "keeping.json", "statusline", "given"
# What these two held is read again.
_OLD = (_FORGOTTEN, _KEEPING, _TOLD, _GIVEN, "readings", "read.json")


class _Forgotten(Struct, frozen=True):
    times: dict[str, int]


class _Keeping(Struct, frozen=True):
    keep: bool
    at: int


class _Window(Struct, frozen=True):
    context_window_size: int | None = None


class _Said(Struct, frozen=True):
    context_window: _Window | None = None


def has_old(store: Path) -> bool:
    """Returns whether one of the files is next to the store at `store`."""
    return any(_beside(store, name).exists() for name in _OLD)


def take_over(store: Path, catalogue: sqlite3.Connection) -> None:
    """Takes the files over into the catalogue, as far as they can be read, and removes them. What the catalogue has
    already is newer. Raises `sqlite3.Error`."""
    with transaction(catalogue, "IMMEDIATE"):
        with suppress(OSError, OverflowError, msgspec.MsgspecError):
            known = msgspec.json.decode(read_plain(_beside(store, _FORGOTTEN), OWN_FILE), type=_Forgotten)
            catalogue.executemany("INSERT OR IGNORE INTO forgotten VALUES (?, ?)", known.times.items())
        with suppress(OSError, OverflowError, msgspec.MsgspecError):
            answer = msgspec.json.decode(read_plain(_beside(store, _KEEPING), OWN_FILE), type=_Keeping)
            catalogue.execute("INSERT OR IGNORE INTO facts VALUES ('keep', ?, ?)", (int(answer.keep), answer.at))
        for file in _files(_beside(store, _TOLD), ".json"):
            with suppress(OSError, OverflowError, msgspec.MsgspecError):
                said, at = read_plain(file, OWN_FILE), file.stat().st_mtime_ns // 1_000_000
                window = msgspec.json.decode(said, type=_Said).context_window
                size = window and window.context_window_size
                row = file.stem, at, size if size and size > 0 else None, said
                catalogue.execute("INSERT OR IGNORE INTO told VALUES (?, ?, ?, ?)", row)
        for file in _files(_beside(store, _GIVEN), ".jsonl"):
            held = "SELECT 1 FROM receipts WHERE agent_session_id = ? AND receipt = ?"
            for line in read_plain(file, OWN_FILE).splitlines():
                with suppress(OverflowError, msgspec.MsgspecError):
                    at = msgspec.json.decode(line, type=GivenBack).at
                    # Another process may take them over at the same time.
                    if not catalogue.execute(held, (file.stem, line)).fetchone():
                        add_receipt_to(catalogue, file.stem, at, line)
    for name in _OLD:
        old = _beside(store, name)
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
        else:
            with suppress(OSError):
                old.unlink()


def _beside(store: Path, name: str) -> Path:
    return store.with_name(f"{store.name}.{name}")


def _files(folder: Path, ending: str) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(file for file in folder.iterdir() if file.name.endswith(ending) and file.is_file())
