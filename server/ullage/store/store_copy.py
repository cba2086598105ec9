"""Copies the sessions of one store into another: each record as it is, read back and compared.

A copy that was interrupted continues where it ended, and one that is made again adds only what is new. What the target
has is never changed: a session that was continued differently in both stays as it is there.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256

from msgspec import Struct

from ullage.model.errors import StoreUnavailable
from ullage.store.table_store import RecordRow, SessionRow, TableStore

# Records of one transaction. A message is a few kB, seldom a MB.
_BATCH = 200
# Called with the number of sessions that are done, their number, and the number of records that were written.
Tell = Callable[[int, int, int], object]


class CopiedStore(Struct, frozen=True, kw_only=True):
    """What a copy found and did, by ids of sessions.

    - `new` were not in the target, `grown` were continued there, `unchanged` were there whole or have more there.
    - `differing` were continued differently in both stores, or are forks of such sessions that the target doesn't have.
      `deleted` were deleted in the target. Both are left as they are.
    - `written` counts the records that were written, and `records` those that the target has now of the sessions that
      are equal in both. `digest` is the SHA-256 of these, as read from the target.
    """

    new: tuple[str, ...]
    grown: tuple[str, ...]
    unchanged: tuple[str, ...]
    differing: tuple[str, ...]
    deleted: tuple[str, ...]
    written: int
    records: int
    digest: str


def copy_store(source: TableStore, target: TableStore, tell: Tell) -> CopiedStore:
    """Copies all sessions with their records, snapshots and names, and the calibrations. Forks refer to their parents
    as before. The index of the search is made in the target by itself.

    Raises `StoreUnavailable` if a store can't be used, or if what was written is not what is read back.
    """
    copying = _Copying(source, target, tell)
    rows = source.copied_sessions()
    copying.total = len(rows)
    outcomes: dict[str, list[str]] = {name: [] for name in ("new", "grown", "unchanged", "differing", "deleted")}
    for row in rows:
        outcomes[copying.copy(row)].append(row.session_id)
    for model, calibration in source.calibrations():
        if target.load_calibration(model) is None:
            target.save_calibration(model, calibration)
    return CopiedStore(
        **{name: tuple(ids) for name, ids in outcomes.items()},
        written=copying.written,
        records=copying.records,
        digest=copying.digest.hexdigest(),
    )


class _Copying:
    """A copy that is being made."""

    def __init__(self, source: TableStore, target: TableStore, tell: Tell) -> None:
        self._source, self._target, self._tell = source, target, tell
        self.total = self._done = self.written = self.records = 0
        self.digest = sha256()
        # The sessions that the target has otherwise, or not at all.
        self._left = set[str]()

    def copy(self, row: SessionRow) -> str:
        """Copies a session and returns what became of it: the name of a field of `CopiedStore`."""
        before, known = self.written, self._target.copied_session(row.session_id)
        if known is not None and known.deleted and not row.deleted:
            outcome = "deleted"
        elif known is not None and (known.parent_id, known.fork_position) != (row.parent_id, row.fork_position):
            outcome = "differing"
        elif known is None and row.parent_id in self._left:
            # What it inherits is not what the target has.
            outcome = "differing"
        else:
            digest = self._copy_records(row, is_known=known is not None)
            outcome = self._outcome(row, digest, before, is_known=known is not None)
        if outcome in ("deleted", "differing"):
            self._left.add(row.session_id)
        self._done += 1
        self._tell(self._done, self.total, self.written)
        return outcome

    def _outcome(self, row: SessionRow, digest: bytes | None, before: int, *, is_known: bool) -> str:
        if digest is None:
            return "differing"
        self.digest.update(row.session_id.encode("utf-8", "surrogatepass") + b"\0" + digest)
        if not is_known:
            return "new"
        return "grown" if self.written > before else "unchanged"

    def _copy_records(self, row: SessionRow, *, is_known: bool) -> bytes | None:
        """Copies the records that the target lacks. Returns the SHA-256 of those that both stores have now, as read
        from the target; None if the stores differ."""
        if not is_known:
            self._target.receive(row, -1, ())
        digest, after, count, before = sha256(), -1, 0, self.written
        while rows := self._source.copied_records(row.session_id, after, _BATCH):
            there = self._target.copied_records(row.session_id, after, len(rows))
            if not same_records(rows[: len(there)], there):
                return None
            if len(there) < len(rows):
                end = there[-1][0] if there else after
                write_checked(self._target, row, end, rows[len(there) :])
                self.written += len(rows) - len(there)
                there = rows
                self._tell(self._done, self.total, self.written)
            for position, at, *_, payload in there:
                digest.update(f"{position} {at} {len(payload)}\n".encode() + payload)
            after, count = rows[-1][0], count + len(rows)
        self.records += count
        if self.written > before:
            # An undo after the records were read would have deleted the snapshot.
            saved = None if row.deleted else self._source.saved_snapshot(row.session_id)
            if saved is not None and saved[0] <= after:
                self._target.save_snapshot(row.session_id, *saved)
        return digest.digest()


def write_checked(target: TableStore, row: SessionRow, after: int, records: Sequence[RecordRow]) -> None:
    """Writes records of a session after the position of its own last one, reads them back, and compares them. Raises
    `ConcurrentAppend` if the session ends elsewhere, and `StoreUnavailable` if other records come back."""
    target.receive(row, after, records)
    if not same_records(records, target.copied_records(row.session_id, after, len(records))):
        raise StoreUnavailable(
            f"session {row.session_id} was not copied as it is: the target gives back other records than were "
            "written to it; check its disk, and copy again"
        )


def same_records(rows: Sequence[RecordRow], others: Sequence[RecordRow]) -> bool:
    """Returns whether records are the same. Their message's ids are not compared: each database escapes what it can't
    hold in one, and the payload has it as it is."""
    return [(at, time, load) for at, time, *_, load in rows] == [(at, time, load) for at, time, *_, load in others]
