"""Adds bytes to a version: pieces that the archive has are referred to, the others go into a block."""

import sqlite3
from hashlib import blake2b

from ullage.store.originals.line_cores import Shape, Template, divide
from ullage.store.originals.packed_blocks import FULL, Blocks

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
