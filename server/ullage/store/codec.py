"""Encodes events as the JSON that the store holds."""

from typing import cast

import msgspec

from ullage.model.events import Event
from ullage.model.json_values import decode_json, encode_json

_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """Returns an event as UTF-8 JSON, half surrogate pairs included."""
    return encode_json(event)


def decode_event(payload: bytes) -> Event:
    """Returns the event of a payload. Raises `msgspec.DecodeError` if the payload is not one."""
    try:
        return _DECODER.decode(payload)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode_json(payload, cast("type[Event]", Event))


def event_name(event: Event | type[Event]) -> str:
    """Returns the event's tag."""
    return str(event.__struct_config__.tag)


def storable(text: str) -> str:
    """Returns the text with half surrogate pairs, which SQLite refuses, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
