"""Anchors: the names in a text that cannot be guessed again once they are lost.

Paths, URLs, qualified and compound identifiers, command-line flags, hashes and ticket ids. Plain words are not
anchors. Texts are expected to be bounded (see `excerpts`); every pattern is linear in its input.
"""

import re
from functools import lru_cache

# What ends a part of a name cannot stand in it, so no part gives back what it took.
_CANDIDATE = re.compile(
    r"https?://[^\s\"'<>`)\]}]{4,200}"
    r"|--[a-z][a-z0-9-]{2,40}"
    r"|(?<![\w@.-])[~\w@.-]{0,80}+(?:/[\w@.+-]{1,80}+){1,16}+"
    r"|[A-Za-z_]\w{0,80}+(?:(?:\.|::)[A-Za-z_]\w{0,80}+){1,8}+"
    r"|[A-Za-z0-9_]{3,80}+(?:-[A-Za-z0-9_]{1,40}+){0,6}+"
)
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,5}$")
_TICKET = re.compile(r"[A-Za-z]{2,}-[A-Za-z]*\d\w*")
# Ends of sentences and brackets that cling to a name.
_CLINGING = ".,:;-/"


def find_anchors(text: str) -> tuple[str, ...]:
    """The anchors of `text` in the order they stand, each once."""
    found: dict[str, None] = {}
    for candidate in dict.fromkeys(_CANDIDATE.findall(text)):
        name = candidate.rstrip(_CLINGING)
        if is_anchor(name):
            found[name] = None
    return tuple(found)


@lru_cache(maxsize=16_384)
def is_anchor(name: str) -> bool:
    """Whether a single candidate is worth remembering. Remembered itself: a text's words are few."""
    if len(name) < 4 or name.isdigit():
        return False
    if "/" in name:
        return _is_path(name)
    if name.startswith("--") or "::" in name:
        return True
    if "." in name:
        return len(name) > 5 and not name[0].isdigit()
    return (
        "_" in name.strip("_")
        or _INNER_CAPITAL.search(name) is not None
        or _HASH.fullmatch(name) is not None
        or _TICKET.fullmatch(name) is not None
    )


def is_path(name: str) -> bool:
    """Whether an anchor names a file or folder rather than a thing in code."""
    return "://" not in name and ("/" in name or _EXTENSION.search(name) is not None)


def _is_path(name: str) -> bool:
    # "and/or" and "1/2" are words; a root, a dot or depth makes a path.
    return name[0] in "/~." or name.count("/") > 1 or _EXTENSION.search(name) is not None or "_" in name
