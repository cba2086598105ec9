"""Addresses of stores in PostgreSQL: `postgresql://[USER@]HOST[:PORT]/DATABASE[?OPTIONS]`.

Imports nothing: a status line and a hook read this, too, and an agent waits for them.
"""

PASSWORD_REFUSED = (
    "the address of the store contains a password: leave it out, and give it in the environment variable PGPASSWORD or "
    "in the file ~/.pgpass"
)
_SCHEMES = ("postgresql://", "postgres://")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def is_address(place: str) -> bool:
    """Returns whether the place of a store is an address in PostgreSQL, not a file."""
    return place.startswith(_SCHEMES)


def local_name(address: str) -> str:
    """Returns the name with which the files begin that a machine keeps for the store at an address: the address with
    `_` for each byte that not every file system has. The editors have the same rule, to find the live file."""
    return "".join(chr(byte) if byte in _PLAIN else "_" for byte in address.encode("utf-8", "replace"))


def has_password(place: str) -> bool:
    """Returns whether an address contains a password, which others could read in settings and lists of processes."""
    _, _, rest = place.partition("://")
    server, _, options = rest.partition("?")
    return is_address(place) and (":" in server.partition("/")[0].rpartition("@")[0] or "password=" in options)
