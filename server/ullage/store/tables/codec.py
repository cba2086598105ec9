"""Encodes events as the JSON that the store holds, and compresses what SQLite keeps.

A kept value says by its first byte what it is: JSON begins with `{`, a stream of zlib with 0x78 (RFC 1950, section 2.2:
deflate with a window of 32 KiB). Rows that an earlier version wrote are JSON and stay so.
"""

import zlib
from typing import cast

import msgspec

from ullage.model.events import Event
from ullage.model.json_values import decode_json, encode_json

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
