"""Reads the fields of a Protocol Buffers message whose schema is not at hand."""

from collections.abc import Iterator

# Bits of a variable-length number that one byte holds, and the most bytes of one ("Encoding", Protocol Buffers).
_BITS, _LONGEST = 7, 10
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields_of(data: bytes) -> list[tuple[int, int | bytes]] | None:
    """Returns the fields of a message in order: each number with its value, a number or bytes. Fields of fixed length
    are left out. Returns None if the bytes are no message."""
    try:
        return list(_fields(data))
    except (IndexError, ValueError):
        return None


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _number(data, at)
            yield number, value
        elif kind == _BYTES:
            size, at = _number(data, at)
            if at + size > len(data):
                raise ValueError
            yield number, data[at : at + size]
            at += size
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError
    if at != len(data):
        raise ValueError


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number at a place, and the place after it. Raises `IndexError` or `ValueError` if there is none."""
    value = 0
    for place in range(_LONGEST):
        byte = data[at + place]
        value |= (byte & 0x7F) << (_BITS * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError
