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
    """Returns the event that `encode_event` encoded. Raises `msgspec.DecodeError` if the payload is not an event."""
    try:
        return _DECODER.decode(payload)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return decode_json(payload, cast("type[Event]", Event))


def event_name(event: Event | type[Event]) -> str:
    """Returns the name of an event or of a class of events in the store, for example `message_appended`."""
    return str(event.__struct_config__.tag)


def storable(text: str) -> str:
    r"""Returns the text as SQLite accepts it: half surrogate pairs are written as escapes (`\ud83d`)."""
    return text.encode("utf-8", "backslashreplace").decode()
