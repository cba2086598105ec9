"""A process that appends to a session and prints what is safe: `appender.py PLACE SESSION NAME [COUNT [WORDS]]`.

The process prints `starting` before it opens the store, then `NAME-0`, `NAME-1`, … after each append has returned.
Every second append has three records, so that a half-written one would be noticed, and the others have one, which
PostgreSQL's store appends in another way. Without COUNT it runs until it is killed.
WORDS is the length of each message.
"""

import contextlib
import itertools
import sys
from importlib import import_module

from support.logs import message, records
from ullage.model.errors import ConcurrentAppend, Conflict, StoreUnavailable
from ullage.model.events import SessionCreated
from ullage.model.store_address import is_address
from ullage.service.ports.store import SessionStore
from ullage.store.store_place import open_store_at
from ullage.store.table_store import TableStore

_BATCH = 3
# With this much text an append is a few pages, and the write-ahead log is checkpointed every few dozen appends.
_WORDS = 4_000


def ids_of(name: str) -> list[str]:
    """Returns the ids of the messages in the append of this name."""
    return [f"{name}/{index}" for index in range(1 if name[-1] in "13579" else _BATCH)]


def append_batch(
    store: SessionStore, session_id: str, name: str, *, words: int = _WORDS, is_patient: bool = False
) -> None:
    """Appends `NAME/0`, `NAME/1`, … after the records that other processes appended meanwhile. A patient process tries
    again as long as the store cannot be used."""
    worth_another_try = (ConcurrentAppend, StoreUnavailable) if is_patient else (ConcurrentAppend,)
    while True:
        with contextlib.suppress(*worth_another_try):
            if store.find_message(session_id, f"{name}/0"):
                return
            opened = store.open(session_id)
            position = opened.records[-1].position if opened.records else opened.snapshot_position
            batch = (message(one, "walnut " * words) for one in ids_of(name))
            store.append(session_id, records(*batch, start=position + 1))
            # The next opening of the session need not fold the archived part.
            store.save_snapshot(session_id, position, b"state")
            return


def say(line: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(  # noqa: PLR0917  (the words of a command line)
    place: str, session_id: str, name: str, count: str = "", words: str = "", patience: str = ""
) -> None:
    """Runs the appender. With a word for `patience` it waits for a file that others use for longer than the store
    waits, as eight processes do on a busy machine where there is no write-ahead log."""
    is_patient = bool(patience)
    if is_address(place):
        # Else the test would wait after each death of the server.
        vars(import_module("ullage.store.postgres.server"))["PAUSE"] = 1
    say("starting")
    with _opened(place, is_patient=is_patient) as store:
        _create(store, session_id, is_patient=is_patient)
        # A server that is killed comes back.
        is_patient = is_patient or is_address(place)
        for number in range(int(count)) if count else itertools.count():
            append_batch(store, session_id, f"{name}-{number}", words=int(words or _WORDS), is_patient=is_patient)
            say(f"{name}-{number}")


def _opened(place: str, *, is_patient: bool) -> TableStore:
    while True:
        try:
            return open_store_at(place)
        except StoreUnavailable:
            if not is_patient:
                raise


def _create(store: SessionStore, session_id: str, *, is_patient: bool) -> None:
    while True:
        try:
            store.create(session_id, records(SessionCreated()))
            return
        except Conflict:
            return
        except StoreUnavailable:
            if not is_patient:
                raise


if __name__ == "__main__":
    main(*sys.argv[1:])
