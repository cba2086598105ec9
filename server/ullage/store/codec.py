"""Events as the JSON that lies in the store."""

import json

import msgspec

from ullage.model.events import Event

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """UTF-8 JSON. Half surrogate pairs, which clients do send and msgspec refuses, go through the standard
    library's slower encoder."""
    try:
        return _ENCODER.encode(event)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(event)).encode()


def decode_event(payload: bytes) -> Event:
    """The event again. Raises `msgspec.DecodeError` for what is not one."""
    try:
        return _DECODER.decode(payload)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        return _decode_slowly(payload, error)


def event_name(event: Event | type[Event]) -> str:
    """The event's tag."""
    return str(event.__struct_config__.tag)


def storable(text: str) -> str:
    """The text with half surrogate pairs, which SQLite refuses in text, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _decode_slowly(payload: bytes, error: msgspec.DecodeError) -> Event:
    try:
        return msgspec.convert(json.loads(payload), Event)
    except ValueError:
        raise error from None
