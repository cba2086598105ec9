"""Converts failures of PostgreSQL to Ullage's errors, with the server and the remedy."""

import msgspec
import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from ullage.model.errors import InvalidRequest, StoreUnavailable


def unavailable(server: str, remedy: str) -> StoreUnavailable:
    """Returns the error for a store, or a team's archive, that cannot be used. `remedy` continues the sentence that the
    server begins."""
    return StoreUnavailable(f"{server} {remedy}")


class reporting:  # noqa: N801 - a context manager, used like a function
    """Converts failures of PostgreSQL and of decoding in the `with` block to `StoreUnavailable`, and values that
    PostgreSQL cannot hold to `InvalidRequest`. `server` names the server in messages, without a password. A wrong use
    of PostgreSQL is raised unchanged, because it is a bug."""

    __slots__ = ("_server",)

    def __init__(self, server: str) -> None:
        self._server = server

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None and (ours := _our_error(self._server, error)) is not None:
            raise ours from error


def was_lost(error: StoreUnavailable) -> bool:
    """Returns whether the connection was lost while it was used, so that it is not known what the server still did."""
    cause = error.__cause__
    if not isinstance(cause, psycopg.OperationalError) or isinstance(cause, PoolTimeout):
        return False
    return cause.sqlstate is None or cause.sqlstate[:2] in _LOST


# What is wrong with the server, and what to do. The first class that fits counts.
_REMEDIES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (PoolTimeout, "did not answer: check that the server runs and that its address is right"),
    (PoolClosed, "is closed"),
    (
        (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected),
        "was locked by another process for too long: end that one, or try again",
    ),
    (errors.InsufficientPrivilege, "may not be used: have its owner grant the right"),
    (errors.DiskFull, "has no room left on its disk: free some and try again"),
    (errors.ReadOnlySqlTransaction, "is a read-only replica: give the address of the primary server"),
    (psycopg.OperationalError, "can't be reached: check the server, then try again"),
    ((msgspec.DecodeError, UnicodeDecodeError), "is damaged: restore it from a backup"),
)
# Classes of SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html): the connection's own errors, and
# the server's end.
_LOST = ("08", "57")
# An error at connecting has no SQLSTATE. A server's own one says this, in most languages; these are of a server that
# starts, stops or has no room, and come with the others from PostgreSQL's sources.
_REFUSED = "FATAL:"
_SOON = ("the database system is", "too many clients", "connection slots")


def _our_error(server: str, error: BaseException) -> StoreUnavailable | InvalidRequest | None:
    if isinstance(error, psycopg.DataError):
        return InvalidRequest(f"a value cannot be stored: {_line(error)}")
    if isinstance(error, UnicodeEncodeError):
        return InvalidRequest(f"{error.object!r} is not a name: it holds half a surrogate pair")
    remedy = next((text for kinds, text in _REMEDIES if isinstance(error, kinds)), None)
    if remedy is None:
        return None
    what, colon, then = remedy.partition(":")
    return unavailable(server, f"{what} ({_line(error)}){colon}{then}")


def _line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def is_away(error: StoreUnavailable) -> bool:
    """Returns whether the error says that the server can't be reached for now, such as when it or the network is down.
    A server that answers and refuses is reached."""
    cause = error.__cause__
    if isinstance(cause, (PoolTimeout, PoolClosed)):
        return True
    return was_lost(error) and not (_REFUSED in (text := str(cause)) and not any(one in text for one in _SOON))
