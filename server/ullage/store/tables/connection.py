"""What the store's tables need of a database (both SQLite's connections and PostgreSQL's have it), and how values are
encoded in them.

The statements in `session_table.py` are SQL that both understand. SQLite's placeholders (`?`) and index hints
(`INDEXED BY`) are the only parts that `postgres/text_index.py` rewrites.

Events are JSON, and what SQLite keeps is compressed. A kept value says by its first byte what it is: JSON begins with
`{`, a stream of zlib with 0x78 (RFC 1950, section 2.2: deflate with a window of 32 KiB). Rows that an earlier version
wrote are JSON and stay so.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any, Protocol, cast

import msgspec

from ullage.model.events import Event
from ullage.model.json_values import decode_json, encode_json


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement changed."""
        ...

    def fetchone(self) -> Any:
        """Returns the next row as a tuple, or None after the last one."""
        ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the remaining rows."""
        ...


class Stream(Protocol):
    """The rows of a statement, one after the other."""

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the rows."""
        ...

    def close(self) -> object:
        """Ends the statement."""
        ...


class Connection(Protocol):
    """A connection to a database, with a transaction open."""

    def kept(self, value: bytes, /) -> bytes:
        """Returns a payload or a snapshot as the database is to keep it: `packed`, unless it compresses by itself."""
        ...

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Rows:
        """Runs a statement with a value for each placeholder, and returns its rows."""
        ...

    def stream(self, statement: str, values: Sequence[Any], /) -> Stream:
        """Runs a statement and yields its rows as they are taken. The connection is in use until the last row is taken
        or the stream is closed."""
        ...

    def executemany(self, statement: str, values: Iterable[Sequence[Any]], /) -> Any:
        """Runs a statement once for each sequence of values."""
        ...


def marks(values: Sized, mark: str = "?") -> str:
    """Returns a placeholder for each of the values, separated by commas. Many values in one statement take a server
    less time than many statements."""
    return ", ".join([mark] * len(values))


# Bytes. Shorter values are many and have a twentieth of the size that longer ones save.
_PACKED_FROM = 512
_ZLIB = b"\x78"

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """Returns an event as UTF-8 JSON, half surrogate pairs included."""
    return encode_json(event)


def decode_event(payload: bytes) -> Event:
    """Returns the event that `encode_event` encoded, also from a packed payload. Raises `msgspec.DecodeError` if the
    payload is not an event."""
    payload = unpacked(payload)
    try:
        return _DECODER.decode(payload)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode_json(payload, cast("type[Event]", Event))


def packed(value: bytes, least: float = _PACKED_FROM) -> bytes:
    """Returns a payload or a snapshot compressed if it has at least `least` bytes, otherwise as it is."""
    # What begins as a stream would be taken for one.
    return zlib.compress(value) if len(value) >= least or value[:1] == _ZLIB else value


def unpacked(value: bytes) -> bytes:
    """Returns what was given to `packed`. Raises `msgspec.DecodeError` if a compressed value is damaged."""
    if value[:1] != _ZLIB:
        return value
    try:
        return zlib.decompress(value)
    except zlib.error as error:
        raise msgspec.DecodeError(str(error)) from error


def event_name(event: Event | type[Event]) -> str:
    """Returns the name of an event or of a class of events in the store, for example `message_appended`."""
    return str(event.__struct_config__.tag)


def storable(text: str) -> str:
    r"""Returns the text as SQLite accepts it: half surrogate pairs are written as escapes (`\ud83d`)."""
    return text.encode("utf-8", "backslashreplace").decode()
