"""Values of arguments, from text: numbers, ages, sizes and ports."""

import re
from argparse import ArgumentTypeError

# 8000, 8,000, 8_000, 8k, 1.5m. The factors are decimal, as in the names of models and windows ("200K", "1M").
_DIGITS = re.compile(r"(?P<digits>\d[\d_,]*(?:\.\d+)?)(?P<factor>[km]?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_LARGEST_PORT = (1 << 16) - 1


def number(text: str) -> int:
    """Returns a positive whole number that is written as `8000`, `8,000`, `8k` or `1.5m`. Raises `ArgumentTypeError`
    for any other text."""
    # Imported on use: most commands are given no number.
    from decimal import Decimal  # noqa: PLC0415

    match = _DIGITS.fullmatch(text.strip())
    value = Decimal(match["digits"].replace(",", "").replace("_", "")) if match else Decimal(0)
    value *= _FACTORS[match["factor"].lower()] if match else 1
    if value <= 0 or value != int(value):
        raise ArgumentTypeError(f"{text!r} is not a positive whole number such as 8000, 8k or 1m")
    return int(value)


def days(text: str) -> int:
    """Returns an age in days, written as `90`, `90d`, `12w` or `1y`. Raises `ArgumentTypeError` for any other text."""
    match = re.fullmatch(r"(\d+)\s*([dwy]?)", text.strip(), re.IGNORECASE)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not an age such as 90d, 12w or 1y")
    return int(match[1]) * {"": 1, "d": 1, "w": 7, "y": 365}[match[2].lower()]


def size(text: str) -> int:
    """Returns a size in bytes, written as `2GB`, `500 MB` or `1.5g`. Raises `ArgumentTypeError` for any other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a size such as 2GB or 500MB")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))


def port(text: str) -> int:
    """Returns a TCP port, 1 to 65535. Raises `ArgumentTypeError` for any other text."""
    if not text.isdecimal() or not 0 < int(text) <= _LARGEST_PORT:
        raise ArgumentTypeError(f"{text!r} is not a port")
    return int(text)
