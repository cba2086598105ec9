"""The archive of agents' files in one SQLite file: adding bytes to a version, reading them, and removing conversations
with all that only they have in its blocks.

The archive is a file of its own next to the session store. So the store stays small and quick to copy, the archive's
writes never wait for the store's, the room that a prune frees goes back to the disk without rewriting the store, and
damage to one of them leaves the other whole.

Pieces that occur again in other files are kept in compressed blocks. A fork repeats the lines of its parent. Claude
Code writes the id of the fork into each of them, and after `/branch` also where the line comes from (`forkedFrom`). So
both are taken out of a line before it is compared; what is left is the line's core. Files without line ends, and
records that repeat a whole conversation, are divided between the objects of a list.

A block is compressed when it is full or when its file is quiet. LZMA's fastest preset makes the shared transcripts 25
% smaller than zlib does, at two thirds of its speed."""

import lzma
import re
import sqlite3
import time
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from hashlib import blake2b
from pathlib import Path
from threading import RLock
from typing import Self

from msgspec import Struct

from ullage.service.ports.agent_files import Kept, KeptConversation, Original, Room, Source, Version
from ullage.store.sqlite.database import connected, make_file, overwrite_deleted, reporting, transaction

# Bytes of a line from which it is divided between objects, and bytes of each part at least.
_LONG, _PART = 32 << 10, 2 << 10
_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
# Stands for the session id. JSON has no such byte.
_ID = b"\0"
_FORKED = re.compile(rb',"forkedFrom":\{"sessionId":"([^"]+)","messageUuid":"([^"]+)"\}\}(\r?\n)$')
_PARENT = re.compile(rb'"forkedFrom":\{"sessionId":"([^"]+)"')
_UUID = re.compile(rb'"uuid":"([^"]+)"')


class Shape(IntEnum):
    """How a core becomes the piece again. PLAIN: the session id is put back. FORKED: and so is where each line
    comes from. AS_IS: the core is the piece."""

    PLAIN = 0
    FORKED = 1
    AS_IS = 2


class Template(Struct, frozen=True, kw_only=True):
    """What is taken out of a file's lines. `session` is the id of the file's conversation, `parent` that of the one
    from which it was forked; b"" if unknown."""

    session: bytes = b""
    parent: bytes = b""

    def core_of(self, piece: bytes) -> tuple[bytes, Shape]:
        """Returns the core of a piece, and how the piece is made from it."""
        if _ID in piece:
            return piece, Shape.AS_IS
        if self.parent and (forked := _FORKED.search(piece)) and forked[1] == self.parent:
            core = self._without_id(piece[: forked.start()] + b"}" + forked[3])
            if self.restore(core, Shape.FORKED) == piece:
                return core, Shape.FORKED
        return self._without_id(piece), Shape.PLAIN

    def restore(self, cores: bytes, shape: Shape) -> bytes:
        """Returns the pieces that have these cores, one after the other. All have the same shape."""
        match shape:
            case Shape.AS_IS:
                return cores
            case Shape.PLAIN:
                return cores.replace(_ID, self.session) if self.session else cores
            case Shape.FORKED:
                lines = cores.replace(_ID, self.session).splitlines(keepends=True)
                return b"".join(map(self._forked, lines))

    def _without_id(self, piece: bytes) -> bytes:
        return piece.replace(self.session, _ID) if self.session else piece

    def _forked(self, line: bytes) -> bytes:
        body = line.rstrip(b"\r\n")
        uuid = _UUID.search(body)
        origin = b',"forkedFrom":{"sessionId":"%b","messageUuid":"%b"}}' % (self.parent, uuid[1] if uuid else b"")
        return body[:-1] + origin + line[len(body) :]


def find_parent(data: bytes) -> bytes:
    """Returns the id of the conversation that these lines were forked from, or b""."""
    found = _PARENT.search(data)
    return found[1] if found else b""


def divide(data: bytes) -> Iterator[bytes]:
    """Yields the pieces of a file's bytes: its lines, and parts of long ones. Joined, they are `data`."""
    for line in data.splitlines(keepends=True):
        if len(line) < _LONG:
            yield line
        else:
            yield from _parts(line)


def _parts(line: bytes) -> Iterator[bytes]:
    start = 0
    for between in _BETWEEN.finditer(line):
        if between.end() - start >= _PART:
            yield line[start : between.end()]
            start = between.end()
    if start < len(line):
        yield line[start:]


# Bytes in a block before it is compressed. Smaller ones compress worse; larger ones take longer to read a piece from.
FULL = 1 << 20
# A compressed block of fewer bytes is opened again when its file continues to grow.
SMALL = 256 << 10
# Blocks that are kept unpacked: a fork's pieces are in few blocks of its parent.
_UNPACKED = 8
_STORED, _LZMA = 0, 1
_FILTERS = [{"id": lzma.FILTER_LZMA1, "preset": 1, "pb": 0}]


class Blocks:
    """The blocks of an archive. Every method but `content` needs a write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._unpacked: OrderedDict[int, bytes] = OrderedDict()

    def content(self, block_id: int) -> bytes:
        known = self._unpacked.get(block_id)
        if known is not None:
            self._unpacked.move_to_end(block_id)
            return known
        found = self._connection.execute("SELECT codec, data FROM blocks WHERE block_id = ?", (block_id,)).fetchone()
        codec, data = found or (_STORED, b"")
        if data is None:
            return self._loose(block_id)
        content = lzma.decompress(data, format=lzma.FORMAT_RAW, filters=_FILTERS) if codec == _LZMA else data
        self._unpacked[block_id] = content
        if len(self._unpacked) > _UNPACKED:
            self._unpacked.popitem(last=False)
        return content

    def new(self, original_id: int) -> int:
        """Makes an empty block. Returns its id."""
        made = self._connection.execute("INSERT INTO blocks (original_id) VALUES (?)", (original_id,)).lastrowid
        return made or 0

    def reopen(self, block_id: int | None) -> tuple[int, int] | None:
        """Returns the id and size of a block to add to, unpacked if it was small; None if missing or full."""
        row = self._connection.execute(
            "SELECT size, data IS NULL FROM blocks WHERE block_id = ?", (block_id,)
        ).fetchone()
        if block_id is None or row is None:
            return None
        size, is_open = row
        if is_open:
            return (block_id, size) if size < FULL else None
        if size >= SMALL:
            return None
        self.add(block_id, self.content(block_id), 0)
        self._connection.execute("UPDATE blocks SET data = NULL, codec = 0 WHERE block_id = ?", (block_id,))
        self._unpacked.pop(block_id, None)
        return block_id, size

    def add(self, block_id: int, data: bytes, size: int) -> None:
        """Adds bytes to a block that is not compressed and has `size` bytes."""
        self._connection.execute("INSERT INTO loose (block_id, data) VALUES (?, ?)", (block_id, data))
        self._connection.execute("UPDATE blocks SET size = ? WHERE block_id = ?", (size + len(data), block_id))

    def pack(self, block_id: int, more: bytes = b"") -> None:
        """Compresses a block that is not compressed yet, with `more` at its end."""
        content = self._loose(block_id) + more
        codec, data = _pack(content)
        self._connection.execute(
            "UPDATE blocks SET size = ?, codec = ?, data = ? WHERE block_id = ?", (len(content), codec, data, block_id)
        )
        self._connection.execute("DELETE FROM loose WHERE block_id = ?", (block_id,))

    def keep_only(self, block_id: int, used: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Overwrites all of a block but the used parts, each with its start and its length, in the order of their
        starts. Returns the overwritten parts, each with its start and its end."""
        content = bytearray(self.content(block_id))
        gaps: list[tuple[int, int]] = []
        end = 0
        for start, length in [*used, (len(content), 0)]:
            if start > end:
                gaps.append((end, start))
            end = max(end, start + length)
        if any(any(content[start:stop]) for start, stop in gaps):
            for start, stop in gaps:
                content[start:stop] = bytes(stop - start)
            codec, data = _pack(bytes(content))
            self._connection.execute(
                "UPDATE blocks SET size = ?, codec = ?, data = ? WHERE block_id = ?",
                (len(content), codec, data, block_id),
            )
            self._connection.execute("DELETE FROM loose WHERE block_id = ?", (block_id,))
            self._unpacked.pop(block_id, None)
        return gaps

    def open_ones(self, path: str) -> list[int]:
        """Returns the ids of the blocks of one file, or of all if `path` is "", that are not compressed yet."""
        query = (
            "SELECT blocks.block_id FROM blocks JOIN originals USING (original_id) "
            "WHERE data IS NULL AND ? IN (path, '')"
        )
        return [row[0] for row in self._connection.execute(query, (path,))]

    def forget(self) -> None:
        """Forgets what is kept unpacked, because it may have changed."""
        self._unpacked.clear()

    def _loose(self, block_id: int) -> bytes:
        rows = self._connection.execute("SELECT data FROM loose WHERE block_id = ? ORDER BY loose_id", (block_id,))
        return b"".join(row[0] for row in rows)


def _pack(content: bytes) -> tuple[int, bytes]:
    packed = lzma.compress(content, format=lzma.FORMAT_RAW, filters=_FILTERS)
    return (_LZMA, packed) if len(packed) < len(content) else (_STORED, content)


# "ullo": distinguishes an archive from any other SQLite file.
_APPLICATION_ID = 0x756C6C6F

# A version is a list of runs: parts of blocks, one after the other. `runs.shape` says how the bytes of the file are
# made from the block's. A block whose `data` is NULL is not compressed yet; its bytes are in
# `loose`.
# `pruned` has files that an earlier version has removed: they are not kept again until they change.
# `pieces` finds the place of a piece that is stored already, by 12 bytes of its hash.
_TABLES = (
    """
    CREATE TABLE originals (
        original_id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        origin_id TEXT NOT NULL,
        owner TEXT NOT NULL,
        block_id INTEGER
    )
    """,
    "CREATE INDEX owners ON originals (owner) WHERE owner != ''",
    "CREATE INDEX origins ON originals (origin_id)",
    """
    CREATE TABLE versions (
        version_id INTEGER PRIMARY KEY,
        original_id INTEGER NOT NULL,
        size INTEGER NOT NULL DEFAULT 0,
        mark BLOB NOT NULL DEFAULT x'',
        stat TEXT NOT NULL DEFAULT '',
        digest BLOB NOT NULL DEFAULT x'',
        checked INTEGER NOT NULL DEFAULT 0,
        session BLOB NOT NULL,
        parent BLOB NOT NULL DEFAULT x'',
        began_at INTEGER NOT NULL,
        kept_at INTEGER NOT NULL
    )
    """,
    "CREATE INDEX versions_of ON versions (original_id)",
    """
    CREATE TABLE runs (
        version_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        block_id INTEGER NOT NULL,
        start INTEGER NOT NULL,
        length INTEGER NOT NULL,
        shape INTEGER NOT NULL,
        PRIMARY KEY (version_id, number)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX runs_of ON runs (block_id)",
    """
    CREATE TABLE blocks (
        block_id INTEGER PRIMARY KEY,
        original_id INTEGER NOT NULL,
        size INTEGER NOT NULL DEFAULT 0,
        codec INTEGER NOT NULL DEFAULT 0,
        data BLOB
    )
    """,
    "CREATE INDEX open_blocks ON blocks (block_id) WHERE data IS NULL",
    "CREATE INDEX blocks_of ON blocks (original_id)",
    "CREATE TABLE loose (loose_id INTEGER PRIMARY KEY, block_id INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE INDEX loose_of ON loose (block_id)",
    "CREATE TABLE pieces (hash BLOB PRIMARY KEY, block_id INTEGER NOT NULL, start INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, original_id INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE pruned (path TEXT PRIMARY KEY, stat TEXT NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    "PRAGMA user_version = 1",
)


def connect(path: Path) -> sqlite3.Connection:
    """Opens an archive and returns a connection, which any thread may use, one at a time. Makes the file and its
    folders if they are missing. Raises `sqlite3.Error` and `OSError`."""
    make_file(path)
    # Only works before the first table is made.
    return connected(path, _make_tables, "PRAGMA auto_vacuum = INCREMENTAL")


def _make_tables(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone() != (0,):
        return
    with transaction(connection, "IMMEDIATE"):
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            for statement in _TABLES:
                connection.execute(statement)


# When a file, or its database, had last changed when it was kept, in Unix milliseconds: the third number of what the
# system said of it. While it grows, that is not known.
_CHANGED = "iif(stat = '', kept_at, replace(stat, rtrim(stat, replace(stat, ',', '')), '') / 1000000)"
# The conversation that an original belongs to, named by the path of its own file.
_ROOT = "iif(owner = '', path, owner)"


def list_conversations(connection: sqlite3.Connection, size: int) -> tuple[KeptConversation, ...]:
    """Returns all conversations; see `Originals.conversations`. `size` is that of the archive in bytes."""
    groups = connection.execute(
        f"SELECT {_ROOT}, max(agent), max(iif(owner = '', origin_id, '')), count(DISTINCT original_id), sum(size), "
        f"max({_CHANGED}) AS newest FROM originals JOIN versions USING (original_id) GROUP BY 1 ORDER BY newest"
    ).fetchall()
    sessions: dict[str, list[str]] = defaultdict(list)
    for session_id, root in connection.execute(
        f"SELECT session_id, {_ROOT} FROM sessions JOIN originals USING (original_id)"
    ):
        sessions[root].append(session_id)
    stored, freed = _freed(connection, {root: place for place, (root, *_) in enumerate(groups)})
    # What the tables and indexes add to each block.
    share = size / stored if stored else 1.0
    return tuple(
        KeptConversation(
            path=root,
            agent=agent,
            origin_id=origin_id,
            session_ids=tuple(sessions[root]),
            files=files,
            size=raw,
            changed_at=changed_at,
            frees=int(freed[place] * share),
        )
        for place, (root, agent, origin_id, files, raw, changed_at) in enumerate(groups)
    )


def _freed(connection: sqlite3.Connection, places: dict[str, int]) -> tuple[int, dict[int, int]]:
    """Returns the bytes of all blocks, and those that each conversation frees if the conversations are removed in this
    order: a block is freed with the last one that refers to it."""
    last: dict[int, int] = defaultdict(int)
    rows = connection.execute(
        f"SELECT DISTINCT runs.block_id, {_ROOT} FROM runs JOIN versions USING (version_id) "
        "JOIN originals USING (original_id)"
    )
    for block_id, root in rows:
        last[block_id] = max(last[block_id], places[root])
    freed: dict[int, int] = defaultdict(int)
    total = 0
    for block_id, size in connection.execute("SELECT block_id, coalesce(length(data), size) FROM blocks"):
        total += size
        if block_id in last:
            freed[last[block_id]] += size
    return total, freed


def remove(connection: sqlite3.Connection, root: str) -> None:
    """Removes one conversation, in one transaction."""
    mine = f"SELECT original_id FROM originals WHERE {_ROOT} = ?"
    with transaction(connection, "IMMEDIATE"):
        connection.execute(
            f"DELETE FROM runs WHERE version_id IN (SELECT version_id FROM versions WHERE original_id IN ({mine}))",
            (root,),
        )
        for table in ("versions", "sessions", "originals"):
            connection.execute(f"DELETE FROM {table} WHERE original_id IN ({mine})", (root,))


def sweep(connection: sqlite3.Connection, blocks: Blocks) -> None:
    """Deletes and overwrites what no version refers to, and gives the room back to the disk."""
    with transaction(connection, "IMMEDIATE"):
        unused = "block_id NOT IN (SELECT block_id FROM runs)"
        connection.execute(f"DELETE FROM loose WHERE {unused}")
        connection.execute(f"DELETE FROM blocks WHERE {unused}")
        connection.execute("DELETE FROM pieces WHERE block_id NOT IN (SELECT block_id FROM blocks)")
        connection.execute("UPDATE originals SET block_id = NULL WHERE block_id NOT IN (SELECT block_id FROM blocks)")
    # Blocks of conversations that were removed, which a fork of these still needs.
    shared = connection.execute(
        "SELECT block_id FROM blocks WHERE original_id NOT IN (SELECT original_id FROM originals)"
    )
    for (block_id,) in shared.fetchall():
        with transaction(connection, "IMMEDIATE"):
            used = connection.execute("SELECT start, length FROM runs WHERE block_id = ? ORDER BY start", (block_id,))
            for start, end in blocks.keep_only(block_id, used.fetchall()):
                connection.execute(
                    "DELETE FROM pieces WHERE block_id = ? AND start >= ? AND start < ?", (block_id, start, end)
                )
    # A script runs a statement to its end; `execute` would end this one after its first page.
    connection.executescript("PRAGMA incremental_vacuum")


# Bytes of a piece that is looked for. A smaller one takes no more room compressed than a reference to it.
_LEAST = 512
# Bytes of a hash. Among 2^32 pieces, two of them have the same 96 bits with a probability of 10^-10.
_HASHED = 12


class Appending:
    """One addition to a version, in one write transaction. `block_id` is the block to which new pieces are added, None
    before the first one."""

    def __init__(
        self, connection: sqlite3.Connection, blocks: Blocks, version_id: int, original_id: int, block_id: int | None
    ) -> None:
        self._connection = connection
        self._blocks = blocks
        self._version_id = version_id
        self._original_id = original_id
        self.block_id = block_id
        # The bytes of the open block in the archive, loaded when needed, and those that are added to it now.
        self._size = -1
        self._fresh = bytearray()
        last = connection.execute(
            "SELECT number, block_id, start, length, shape FROM runs WHERE version_id = ? ORDER BY number DESC LIMIT 1",
            (version_id,),
        ).fetchone()
        # Each run is [number, block, start, length, shape]; the first may be in the archive already.
        self._runs: list[list[int]] = [list(last)] if last else []

    def take(self, data: bytes, template: Template) -> None:
        """Adds the pieces of `data`."""
        for piece in divide(data):
            core, shape = template.core_of(piece)
            if not self._extends(core, shape):
                self._add(core, shape)

    def finish(self, *, pack: bool) -> None:
        """Stores what was added. If `pack` is true, the block is compressed."""
        if self.block_id is not None and self._size >= 0:
            if pack:
                self._close()
            elif self._fresh:
                self._blocks.add(self.block_id, bytes(self._fresh), self._size)
        self._connection.executemany(
            "INSERT INTO runs (version_id, number, block_id, start, length, shape) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET length = excluded.length",
            [(self._version_id, *run) for run in self._runs],
        )

    def _extends(self, core: bytes, shape: Shape) -> bool:
        """Lengthens the last run if the piece follows it in its block."""
        if not self._runs:
            return False
        run = self._runs[-1]
        _, block_id, start, length, run_shape = run
        end = start + length
        if run_shape != shape:
            return False
        if block_id == self.block_id and self._size >= 0:
            if end >= self._size + len(self._fresh) or end < self._size:
                return False
            same = self._fresh.startswith(core, end - self._size)
        else:
            same = self._blocks.content(block_id).startswith(core, end)
        if same:
            run[3] += len(core)
        return same

    def _add(self, core: bytes, shape: Shape) -> None:
        hashed = blake2b(core, digest_size=_HASHED).digest() if len(core) >= _LEAST else b""
        block_id, start = (hashed and self._find(hashed)) or self._write(core, hashed)
        last = self._runs[-1] if self._runs else None
        if last and last[1:3] == [block_id, start - last[3]] and last[4] == shape:
            last[3] += len(core)
        else:
            self._runs.append([last[0] + 1 if last else 0, block_id, start, len(core), int(shape)])

    def _find(self, hashed: bytes) -> tuple[int, int] | None:
        query = "SELECT block_id, start FROM pieces WHERE hash = ?"
        return self._connection.execute(query, (hashed,)).fetchone()

    def _write(self, core: bytes, hashed: bytes) -> tuple[int, int]:
        """Adds a core to the open block. Returns the block's id and the core's place in it."""
        if self.block_id is None or self._size < 0:
            known = self._blocks.reopen(self.block_id)
            self.block_id, self._size = known or (self._blocks.new(self._original_id), 0)
        elif self._size + len(self._fresh) >= FULL:
            self._close()
            self.block_id, self._size = self._blocks.new(self._original_id), 0
        place = (self.block_id, self._size + len(self._fresh))
        self._fresh += core
        if hashed:
            self._connection.execute("INSERT OR IGNORE INTO pieces VALUES (?, ?, ?)", (hashed, *place))
        return place

    def _close(self) -> None:
        if self.block_id is not None:
            self._blocks.pack(self.block_id, bytes(self._fresh))
        self._fresh.clear()


_KEPT = "version_id, size, mark, stat, digest, checked, began_at"


class SqliteOriginals:
    """The archive (`Originals`) in one SQLite file. One thread uses it at a time, others wait. Any number of processes
    may read it; the one that follows the agents' conversations writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reporting = reporting(path, "archive")
        with self._reporting:
            self._connection = connect(path)
        self._lock = RLock()
        self._blocks = Blocks(self._connection)
        self._seen = (-1,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the archive's file. It cannot be used afterwards."""
        with self._lock, self._reporting:
            self._connection.close()

    def latest(self, path: str) -> Kept | None:
        query = (
            f"SELECT {_KEPT} FROM versions JOIN originals USING (original_id) WHERE path = ? "
            "ORDER BY version_id DESC LIMIT 1"
        )
        with self._lock, self._reporting:
            row = self._connection.execute(query, (path,)).fetchone()
        return _version_of_row(row) if row else None

    def begin(self, source: Source, replaced: int | None = None) -> Kept:
        now = _now()
        with self._writing() as connection:
            (original_id,) = connection.execute(
                "INSERT INTO originals (path, agent, origin_id, owner) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET agent = excluded.agent, origin_id = excluded.origin_id, owner = excluded.owner "
                "RETURNING original_id",
                (source.path, source.agent, source.origin_id, source.owner),
            ).fetchone()
            if replaced is not None:
                connection.execute("DELETE FROM runs WHERE version_id = ?", (replaced,))
                connection.execute("DELETE FROM versions WHERE version_id = ?", (replaced,))
            made = connection.execute(
                "INSERT INTO versions (original_id, session, began_at, kept_at) VALUES (?, ?, ?, ?)",
                (original_id, source.origin_id.encode(), now, now),
            ).lastrowid
        return self._read_kept(made or 0)

    def append(self, version_id: int, start: int, data: bytes, mark: bytes, *, pack: bool) -> Kept:
        with self._writing() as connection:
            original_id, block_id, session, parent, size = connection.execute(
                "SELECT original_id, block_id, session, parent, size FROM versions "
                "JOIN originals USING (original_id) WHERE version_id = ?",
                (version_id,),
            ).fetchone()
            if size != start:
                return self._read_kept(version_id)
            parent = parent or find_parent(data)
            appending = Appending(connection, self._blocks, version_id, original_id, block_id)
            appending.take(data, Template(session=session, parent=parent))
            appending.finish(pack=pack)
            connection.execute(
                "UPDATE originals SET block_id = ? WHERE original_id = ?", (appending.block_id, original_id)
            )
            connection.execute(
                "UPDATE versions SET size = ?, mark = ?, stat = '', parent = ?, kept_at = ? WHERE version_id = ?",
                (size + len(data), mark, parent, _now(), version_id),
            )
        return self._read_kept(version_id)

    def settle(self, version_id: int, stat: tuple[int, ...], digest: bytes) -> Kept:
        with self._writing() as connection:
            connection.execute(
                "UPDATE versions SET stat = ? WHERE version_id = ?", (",".join(map(str, stat)), version_id)
            )
            if digest:
                connection.execute(
                    "UPDATE versions SET digest = ?, checked = size WHERE version_id = ?", (digest, version_id)
                )
        return self._read_kept(version_id)

    def pack(self, path: str = "") -> None:
        with self._lock, self._reporting:
            found = self._blocks.open_ones(path)
        for block_id in found:
            with self._writing():
                self._blocks.pack(block_id)

    def link(self, path: str, session_id: str) -> None:
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO sessions SELECT ?, original_id FROM originals WHERE path = ?",
                (session_id, path),
            )

    def find(self, path: str = "", session_id: str = "", origin_id: str = "") -> tuple[Original, ...]:
        with self._lock, self._reporting:
            if session_id:
                where, value = "original_id IN (SELECT original_id FROM sessions WHERE session_id = ?)", session_id
            elif origin_id:
                where, value = "owner = '' AND substr(origin_id, 1, length(?1)) = ?1", origin_id
            else:
                where, value = "path = ?", path
            mains = self._originals(where, value)
            return tuple(one for main in mains for one in (main, *self._originals("owner = ?", main.source.path)))

    def read(self, version_id: int) -> Iterator[bytes]:
        with self._lock, self._reporting:
            session, parent = self._connection.execute(
                "SELECT session, parent FROM versions WHERE version_id = ?", (version_id,)
            ).fetchone()
            runs = self._connection.execute(
                "SELECT block_id, start, length, shape FROM runs WHERE version_id = ? ORDER BY number", (version_id,)
            ).fetchall()
        template = Template(session=session, parent=parent)
        for block_id, start, length, shape in runs:
            with self._lock, self._reporting:
                cores = self._blocks.content(block_id)[start : start + length]
            yield template.restore(cores, Shape(shape))

    def stats(self) -> Mapping[str, tuple[int, ...]]:
        with self._lock, self._reporting:
            rows = self._connection.execute(
                "SELECT path, stat FROM pruned UNION ALL SELECT path, stat FROM originals AS one JOIN versions ON "
                "version_id = (SELECT max(version_id) FROM versions WHERE original_id = one.original_id) "
                "WHERE stat != ''"
            ).fetchall()
        return {path: _numbers(stat) for path, stat in rows}

    def conversations(self) -> tuple[KeptConversation, ...]:
        # Another process may keep one more between two questions.
        with self._lock, self._reporting, transaction(self._connection, "DEFERRED"):
            return list_conversations(self._connection, self.size())

    def count(self) -> int:
        with self._lock, self._reporting:
            return self._connection.execute("SELECT count(*) FROM originals WHERE owner = ''").fetchone()[0]

    def remove(self, paths: Collection[str]) -> None:
        with self._lock, self._reporting:
            try:
                for path in paths:
                    remove(self._connection, path)
            finally:
                self._blocks.forget()
                sweep(self._connection, self._blocks)
                overwrite_deleted(self._path, "archive", rewrite=True)

    def rooms(self) -> tuple[Room, ...]:
        with self._lock, self._reporting:
            rows = self._connection.execute(
                "SELECT agent, count(DISTINCT original_id), count(version_id), coalesce(sum(size), 0) "
                "FROM originals JOIN versions USING (original_id) GROUP BY agent"
            ).fetchall()
            stored = dict(
                self._connection.execute(
                    "SELECT agent, sum(coalesce(length(data), size)) FROM blocks JOIN originals USING (original_id) "
                    "GROUP BY agent"
                ).fetchall()
            )
        rooms = [
            Room(agent=agent, files=files, versions=versions, size=size, stored=stored.get(agent, 0))
            for agent, files, versions, size in rows
        ]
        return tuple(sorted(rooms, key=lambda room: -room.stored))

    def size(self) -> int:
        with self._lock, self._reporting:
            ((pages,), (free,), (size,)) = (
                self._connection.execute(f"PRAGMA {name}").fetchone()
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size

    def _originals(self, where: str, value: str) -> list[Original]:
        rows = self._connection.execute(
            f"SELECT original_id, path, agent, origin_id, owner FROM originals WHERE {where} ORDER BY original_id",
            (value,),
        ).fetchall()
        return [
            Original(
                source=Source(path=path, agent=agent, origin_id=origin_id, owner=owner),
                versions=self._versions(original_id),
            )
            for original_id, path, agent, origin_id, owner in rows
        ]

    def _versions(self, original_id: int) -> tuple[Version, ...]:
        rows = self._connection.execute(
            "SELECT version_id, size, kept_at, iif(checked = size, digest, x'') FROM versions WHERE original_id = ? "
            "ORDER BY version_id",
            (original_id,),
        )
        return tuple(
            Version(version_id=version_id, number=number, size=size, kept_at=kept_at, digest=digest)
            for number, (version_id, size, kept_at, digest) in enumerate(rows, start=1)
        )

    def _read_kept(self, version_id: int) -> Kept:
        with self._lock, self._reporting:
            query = f"SELECT {_KEPT} FROM versions WHERE version_id = ?"
            return _version_of_row(self._connection.execute(query, (version_id,)).fetchone())

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        """Runs the `with` block as one write transaction."""
        with self._lock, self._reporting:
            try:
                with transaction(self._connection, "IMMEDIATE") as connection:
                    version = connection.execute("PRAGMA data_version").fetchone()
                    if version != self._seen:
                        # Another process may have deleted blocks, and their ids may be given to others.
                        self._seen = version
                        self._blocks.forget()
                    yield connection
            except BaseException:
                self._blocks.forget()
                raise


def _version_of_row(row: tuple[int, int, bytes, str, bytes, int, int]) -> Kept:
    version_id, size, mark, stat, digest, checked, began_at = row
    return Kept(
        version_id=version_id,
        size=size,
        mark=mark,
        stat=_numbers(stat),
        digest=digest,
        checked=checked,
        began_at=began_at,
    )


def _numbers(stat: str) -> tuple[int, ...]:
    return tuple(map(int, stat.split(","))) if stat else ()


def _now() -> int:
    return time.time_ns() // 1_000_000
