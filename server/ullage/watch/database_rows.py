"""Reads the rows of an agent's SQLite database. No file is ever written in its folder."""

import base64
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ullage.formats.parsing import Line
from ullage.model.errors import InvalidRequest

# No limit of the rows of a table.
_ALL = -1


def read_rows(path: Path, tables: Collection[str], session_id: str = "", most: int = _ALL) -> tuple[Line, ...]:
    """Returns the rows of the named tables that the database has, ordered by the tables' names: all, or with
    `session_id` the rows of one session, of each table at most the last `most` that were added. These are the rows that
    name it in a column `session_id`, and in a table without that column the row whose `id` it is. If no table has that
    column, the database holds one session, and all are.

    Each line has as its value `{"table": name, "row": {column: value}}`, and is numbered from 1. Bytes that are not
    UTF-8 become `{"base64": text}`. Raises `InvalidRequest` if the database can't be read.
    """
    try:
        return tuple(_rows(path, tables, session_id, most))
    except sqlite3.Error as error:
        if most != _ALL and "rowid" in str(error):
            # A table without row ids does not say which rows are the last.
            return read_rows(path, tables, session_id)
        raise InvalidRequest(f"cannot read the database {path}: {error}") from error


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _rows(path: Path, tables: Collection[str], session_id: str, most: int) -> Iterator[Line]:
    number = 0
    with _opened(path) as database:
        database.text_factory = _decode
        database.row_factory = sqlite3.Row
        held = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        if not any(_has_column(database, table, "session_id") for table in held if table in tables):
            # The database holds one conversation.
            session_id = ""
        for table in held:
            if table not in tables:
                continue
            # The names are two of ours and one of `tables`, so nothing foreign becomes part of the query.
            columns = {row["name"] for row in database.execute(f'PRAGMA table_info("{table}")')}
            key = "session_id" if "session_id" in columns else "id"
            condition = f' WHERE "{key}" = ?' if session_id else ""
            given = (session_id,) if session_id else ()
            rows = f'SELECT * FROM "{table}"{condition}'
            if most != _ALL:
                # Without its order, SQLite may read all of them to find the last.
                newest = f'SELECT rowid FROM "{table}"{condition} ORDER BY rowid DESC LIMIT ?'
                rows, given = f'SELECT * FROM "{table}" WHERE rowid IN ({newest}) ORDER BY rowid', (*given, most)
            for row in database.execute(rows, given):
                number += 1
                values = {column: _value(row[column]) for column in row.keys()}  # noqa: SIM118
                yield Line(number=number, value={"table": table, "row": values})


def _has_column(database: sqlite3.Connection, table: str, name: str) -> bool:
    return any(row["name"] == name for row in database.execute(f'PRAGMA table_info("{table}")'))


@contextmanager
def _opened(path: Path) -> Generator[sqlite3.Connection]:
    """Opens a database for reading only, so that no file is created in its folder. Closes it after the block.

    To read a database with a write-ahead log, SQLite needs an index of that log. If the agent runs, it has made one;
    otherwise a copy of the database is read.
    """
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    if log.exists() and not index.exists():
        with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
            for file in (path, log):
                shutil.copyfile(file, Path(folder) / file.name)
            with closing(sqlite3.connect(Path(folder) / path.name)) as database:
                yield database
        return
    access = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{access}", uri=True)) as database:
        yield database


def _value(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
