"""One thing that `ullage doctor` looked at."""

from msgspec import Struct


class Check(Struct, frozen=True, kw_only=True):
    """What was found; `remedy` only where something is wrong."""

    what: str
    found: str
    remedy: str = ""
