"""What psycopg's pool logs about a server that is away, as one line of our own.

The pool writes a warning for each connection that it loses and for each try to make one, so a minute without the server
would be a page of them. They become details for `--debug`, and the first one says once what is wrong.
"""

import logging
from threading import Lock

import psycopg

log = logging.getLogger(__name__)


class PoolLog(logging.Filter):
    """Takes over the warnings about connections of `kind`, and about pools with the names that it was given. Warnings
    about other pools, which a program may have, stay as they are."""

    def __init__(self, kind: type[psycopg.Connection]) -> None:
        super().__init__()
        self._kind = kind
        self._lock = Lock()
        # Whether each server was said to be away.
        self._away: dict[str, bool] = {}

    def add(self, server: str) -> None:
        """Takes over the warnings of the pool with this name, which is also its server's."""
        self._away.setdefault(server, False)

    def is_back(self, server: str) -> None:
        """Says that a server answers again, if it was said to be away."""
        if self._away[server] and self._change(server, is_away=False):
            log.warning("%s answers again", server)

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether a message of the pool is to be written as it is."""
        values = record.args if isinstance(record.args, tuple) else ()
        server = next((value for value in values if isinstance(value, str) and value in self._away), None)
        if server is None and not any(isinstance(value, self._kind) for value in values):
            return True
        log.debug(record.getMessage())
        error = next((value for value in values if isinstance(value, Exception)), None)
        if server is not None and error is not None and self._change(server, is_away=True):
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)
            log.warning("%s can't be reached (%s): trying again", server, why)
        return False

    def _change(self, server: str, *, is_away: bool) -> bool:
        """Returns whether it was otherwise before."""
        with self._lock:
            was, self._away[server] = self._away[server], is_away
        return was is not is_away
