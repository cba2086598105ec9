"""Reads the rows of an agent's SQLite database. No file is ever written in its folder."""

import base64
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from ullage.bounds import LARGEST_TRANSCRIPT, LARGEST_VALUE, LONGEST_LINE
from ullage.formats.parsing import Line
from ullage.model.errors import InvalidRequest

# No limit of the rows of a table.
_ALL = -1
# Rows at the end of a table whose messages are read again with those that are new: the last answer still changes.
_LAST = 16
# By a table's name, its rows in their order: each with the id of its message, and a hash.
RowsKnown = Mapping[str, Sequence[tuple[object, int]]]


class RowsOn(Struct, frozen=True, kw_only=True):
    """Rows of a session, and `known` for the next call of `read_rows_on`, None if there is none. If `is_part`, only the
    session's own rows and all those of its last messages are there: no other row has changed or is gone. If `is_same`,
    none has."""

    lines: tuple[Line, ...]
    known: RowsKnown | None
    is_part: bool = False
    is_same: bool = False


def read_rows(path: Path, tables: Collection[str], session_id: str = "", most: int = _ALL) -> tuple[Line, ...]:
    """Returns the rows of the named tables that the database has, ordered by the tables' names: all, or with
    `session_id` the rows of one session, of each table at most the last `most` that were added. These are the rows that
    name it in a column `session_id`, and in a table without that column the row whose `id` it is. If no table has that
    column, the database holds one session, and all are.

    Each line has as its value `{"table": name, "row": {column: value}}`, and is numbered from 1. Bytes that are not
    UTF-8 become `{"base64": text}`. Raises `InvalidRequest` if the database can't be read.
    """
    try:
        with _opened(path) as database:
            found = ((table, row) for table, _, rows in _tables(database, tables, session_id, most) for row in rows)
            return _lines(found)
    except sqlite3.Error as error:
        if most != _ALL and "rowid" in str(error):
            # A table without row ids does not say which rows are the last.
            return read_rows(path, tables, session_id)
        raise InvalidRequest(f"cannot read the database {path}: {error}") from error


def has_one_of(path: Path, tables: Collection[str]) -> bool:
    """Returns whether a database has one of these tables. Raises `InvalidRequest` if it can't be read."""
    try:
        with _opened(path) as database:
            return any(row[0] in tables for row in database.execute("SELECT name FROM sqlite_schema"))
    except sqlite3.Error as error:
        raise InvalidRequest(f"cannot read the database {path}: {error}") from error


def newest_in(path: Path, table: str, column: str) -> dict[str, Any]:
    """Returns the largest value of a column in a table's rows of each session, by `session_id`; nothing without that
    table. Raises `InvalidRequest` if the database can't be read."""
    try:
        with _opened(path) as database:
            held = {row[1] for row in database.execute(f'PRAGMA table_info("{table}")')}
            # The names are an agent's, so nothing foreign becomes part of a query.
            query = f'SELECT session_id, MAX("{column}") FROM "{table}" GROUP BY session_id'
            return dict(database.execute(query)) if {"session_id", column} <= held else {}
    except sqlite3.Error as error:
        raise InvalidRequest(f"cannot read the database {path}: {error}") from error


def read_rows_on(path: Path, tables: Collection[str], session_id: str, known: RowsKnown | None) -> RowsOn:
    """Returns the rows of a session as `read_rows` does or, if only its last messages have changed since `known`, the
    rows of those. Every row is compared: any may have been edited, deleted or put elsewhere. Raises `InvalidRequest`
    if the database can't be read."""
    try:
        with _opened(path) as database:
            return _rows_on(database, tables, session_id, known)
    except sqlite3.Error as error:
        raise InvalidRequest(f"cannot read the database {path}: {error}") from error


def _rows_on(database: sqlite3.Connection, tables: Collection[str], session_id: str, known: RowsKnown | None) -> RowsOn:
    now, kept, changed = dict[str, list[tuple[object, int]]](), list[tuple[str, sqlite3.Row]](), set[object]()
    heads = list[tuple[object, int]]()
    last = {message for rows in (known or {}).values() for message, _ in rows[-_LAST:]}
    for table, name, rows in _tables(database, tables, session_id, _ALL):
        if not name:
            own = list(rows)
            kept += ((table, row) for row in own)
            heads += ((table, hash(row)) for row in own)
            continue
        before, read, is_same = (known or {}).get(table, ()), now.setdefault(table, []), True
        for at, row in enumerate(rows):
            one = row[name], hash(row)
            read.append(one)
            is_same = is_same and at < len(before) and before[at] == one
            if not is_same:
                changed.add(one[0])
            if known is None or not is_same or one[0] in last:
                kept.append((table, row))
    if now:
        # The session's own rows, under the name of no table.
        now[""] = heads
    if known is None or known == now:
        is_same = known is not None
        return RowsOn(lines=() if is_same else _lines(kept), known=now or None, is_part=is_same, is_same=is_same)
    for table, before in known.items():
        pairs = zip(before, now.get(table, ()), strict=False)
        same = next((at for at, (one, other) in enumerate(pairs) if one != other), len(now.get(table, ())))
        changed.update(message for message, _ in before[same:])
    before = _count(known, changed)
    if all(message in last for _, message in before) and not before - _count(now, changed):
        return RowsOn(lines=_lines(kept), known=now, is_part=True)
    return _rows_on(database, tables, session_id, None)


def _count(rows: RowsKnown, messages: Collection[object]) -> Counter[tuple[str, object]]:
    """Returns how many rows each of these messages has in each table."""
    return Counter((table, message) for table, own in rows.items() for message, _ in own if message in messages)


def _lines(rows: Iterable[tuple[str, sqlite3.Row]]) -> tuple[Line, ...]:
    return tuple(
        Line(number=number, value={"table": table, "row": {column: _value(row[column]) for column in row.keys()}})  # noqa: SIM118
        for number, (table, row) in enumerate(rows, start=1)
    )


def _tables(
    database: sqlite3.Connection, tables: Collection[str], session_id: str, most: int
) -> Iterator[tuple[str, str, Iterator[sqlite3.Row]]]:
    """Yields each table with its rows, and the column of the message's id, "" for the session itself."""
    database.text_factory = _decode
    database.row_factory = sqlite3.Row
    held = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    # The names are two of ours and those of `tables`, so nothing foreign becomes part of a query.
    known = {
        table: {row["name"] for row in database.execute(f'PRAGMA table_info("{table}")')}
        for table in held
        if table in tables
    }
    if not any("session_id" in columns for columns in known.values()):
        # The database holds one conversation.
        session_id = ""
    for table, columns in known.items():
        key = "session_id" if "session_id" in columns else "id"
        condition = f' WHERE "{key}" = ?' if session_id else ""
        given = (session_id,) if session_id else ()
        rows = f'SELECT * FROM "{table}"{condition}'
        if most != _ALL:
            # Without its order, SQLite may read all of them to find the last.
            newest = f'SELECT rowid FROM "{table}"{condition} ORDER BY rowid DESC LIMIT ?'
            rows, given = f'SELECT * FROM "{table}" WHERE rowid IN ({newest}) ORDER BY rowid', (*given, most)
        # A message may have its parts in another table.
        of = next((name for name in ("message_id", "id") if name in columns and session_id and key != "id"), "")
        yield table, of, _bounded(database.execute(rows, given))


def _bounded(rows: Iterable[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """Yields the rows. Raises `InvalidRequest` if they have more characters than a conversation."""
    left = LARGEST_VALUE
    for row in rows:
        left -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if left < 0:
            raise InvalidRequest(f"the rows of one session have over {LARGEST_VALUE >> 20} MiB")
        yield row


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    """Opens a database for reading only, so that no file is created in its folder. Closes it after the block.

    To read a database with a write-ahead log, SQLite needs an index of that log. If the agent runs, it has made one;
    otherwise a copy of the database is read. A text that is longer than a line may be is an error of SQLite.
    """
    size = path.stat().st_size
    if size > LARGEST_TRANSCRIPT:
        raise InvalidRequest(f"{path} has {size >> 30} GiB, over {LARGEST_TRANSCRIPT >> 30} GiB: it is not read")
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    if log.exists() and not index.exists():
        with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
            for file in (path, log):
                shutil.copyfile(file, Path(folder) / file.name)
            with closing(sqlite3.connect(Path(folder) / path.name)) as database:
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
                yield database
        return
    access = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{access}", uri=True)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_LINE)
        yield database


def _value(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
