"""Paths under `/memories`: this module alone decides which names are allowed.

The names are an allow-list, not a list of known tricks. An allowed name can be a file's name on every system, means the
same in each Unicode form, hides nothing from a reader, and is no syntax anywhere, neither for a shell nor in a URL.
This is not the only guard against leaving the base folder: the store never follows a link
(`store/memories/memory_descriptors.py`).
"""

import unicodedata
from collections.abc import Iterator

from msgspec import Struct

from ullage.model.errors import InvalidRequest

ROOT = "/memories"
# Some systems allow names of up to 143 bytes (eCryptfs), most up to 255.
NAME_BYTES = 140
DEPTH = 8
_LONGEST = len(ROOT) + DEPTH * (NAME_BYTES + 1) + 1
_PUNCTUATION = frozenset(" ._-+=@#,()&'!")
# Letters, marks and digits by their Unicode category. Format characters (zero width, direction), symbols, private and
# unassigned characters are excluded.
_CATEGORIES = ("L", "Mn", "Mc", "Nd")
# Letters of Lisu that look like one or two dots.
_DOT_LETTERS = frozenset("ꓸꓹꓺꓻ")
# Letters and marks that are invisible (Unicode's Default_Ignorable_Code_Point): joiner, fillers, variation selectors.
_INVISIBLE = frozenset(
    (847, 4447, 4448, 6068, 6069, 12644, 65440, *range(6155, 6160), *range(65024, 65040), *range(917760, 918000))
)
_FIRST = ("L", "Nd")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin", "conout", "clock"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)]
)


class MemoryPath(Struct, frozen=True, kw_only=True):
    """A path under `/memories`, as the tuple of its names. An empty tuple is the memory's own folder."""

    parts: tuple[str, ...] = ()

    @property
    def parent(self) -> "MemoryPath":
        """The folder that contains the path. The memory's own folder is its own parent."""
        return MemoryPath(parts=self.parts[:-1])

    @property
    def name(self) -> str:
        """The last name of the path; empty for the memory's own folder."""
        return self.parts[-1] if self.parts else ""

    def __str__(self) -> str:
        return "/".join((ROOT, *self.parts))


def parse_path(text: str) -> MemoryPath:
    """Returns the path that a model wrote, such as `/memories/notes.md`. Raises `InvalidRequest` with the reason if the
    path is not allowed."""
    if len(text) > _LONGEST:
        raise InvalidRequest(f"Error: The path {text[:60]!r}… is too long; use at most {_LONGEST} characters")
    if text != ROOT and not text.startswith(ROOT + "/"):
        raise InvalidRequest(f"Error: The path {text!r} is not in the memory; it must start with {ROOT}")
    rest = text.removeprefix(ROOT).removeprefix("/").removesuffix("/")
    if not rest:
        if text.removeprefix(ROOT) in ("", "/"):
            return MemoryPath()
        raise InvalidRequest(f"Error: The path {text!r} has an empty name in it")
    parts = tuple(rest.split("/"))
    for name in parts:
        fault = fault_of(name)
        if fault:
            raise InvalidRequest(f"Error: The path {text!r} cannot be used: {fault}")
    if len(parts) > DEPTH:
        raise InvalidRequest(f"Error: The path {text!r} is too deep; use at most {DEPTH} names below {ROOT}")
    return MemoryPath(parts=parts)


def fault_of(name: str) -> str:
    """Returns the reason why a file or folder of a memory may not have this name, or an empty string if it may."""
    return next(_faults(name), "")


def folded(name: str) -> str:
    """Returns a form of the name that is the same for all names which some file system considers equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _allowed(char: str) -> bool:
    if char.isascii():
        return char.isalnum() or char in _PUNCTUATION
    shown = ord(char) not in _INVISIBLE and char not in _DOT_LETTERS
    return shown and unicodedata.category(char).startswith(_CATEGORIES)


def _faults(name: str) -> Iterator[str]:
    if not name:
        yield "a name is empty"
        return
    if name[0] == ".":
        yield f"the name {name!r} begins with a dot"
    strange = next((char for char in name if not _allowed(char)), "")
    if strange:
        yield f"U+{ord(strange):04X} is not allowed in a name; use letters, digits and . _ -"
    if not unicodedata.category(name[0]).startswith(_FIRST) and name[0] != "_":
        yield f"the name {name!r} must begin with a letter, a digit or _"
    if name[-1] in " .":
        yield f"the name {name!r} ends in a dot or a space"
    if unicodedata.normalize("NFKC", name) != name:
        yield f"the name {name!r} is not in Unicode's normal form NFKC; write it with plain characters"
    if len(name.encode("utf-8", "replace")) > NAME_BYTES:
        yield f"a name takes more than {NAME_BYTES} bytes"
    if name.split(".", 1)[0].strip().casefold() in _DEVICES:
        yield f"the name {name!r} is a device on some systems"
