"""Anthropic's memory tool `memory_20250818`: its six commands, the definition that other providers' models are offered,
and what the commands do to notes: the paths that are allowed, listings of a folder, and changes of a file's text.

This module alone decides which names a path under `/memories` may have. They are an allow-list, not a list of known
tricks. An allowed name can be a file's name on every system, means the same in each Unicode form, hides nothing from a
reader, and is no syntax anywhere, neither for a shell nor in a URL. This is not the only guard against leaving the base
folder: the store never follows a link (`store/memories/memory_files.py`).

Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.message import ToolDefinition


class View(Struct, frozen=True, kw_only=True, tag_field="command", tag="view"):
    """The command that shows a folder's listing or a file's lines. `view_range` is the numbers of the first and the
    last line, counted from 1; -1 means the end of the file. None means the whole file."""

    path: str
    view_range: tuple[int, int] | None = None


class Create(Struct, frozen=True, kw_only=True, tag_field="command", tag="create"):
    """The command that writes a new file and makes the folders it needs. It fails if the path exists."""

    path: str
    file_text: str


class StrReplace(Struct, frozen=True, kw_only=True, tag_field="command", tag="str_replace"):
    """The command that replaces `old_str` by `new_str` in a file. It fails if `old_str` does not occur exactly once."""

    path: str
    old_str: str
    new_str: str = ""


class Insert(Struct, frozen=True, kw_only=True, tag_field="command", tag="insert"):
    """The command that inserts text, as whole lines, after line `insert_line` of a file; 0 is the beginning. It fails
    if the file has no such line."""

    path: str
    insert_line: int
    insert_text: str


class Delete(Struct, frozen=True, kw_only=True, tag_field="command", tag="delete"):
    """The command that deletes a file, or a folder with everything in it. It fails for the memory's own folder and for
    a path that does not exist."""

    path: str


class Rename(Struct, frozen=True, kw_only=True, tag_field="command", tag="rename"):
    """The command that renames or moves a file or folder. It fails if the new path exists."""

    old_path: str
    new_path: str


Command = View | Create | StrReplace | Insert | Delete | Rename


def read_command(arguments: dict[str, Any]) -> Command:
    """Returns the command that a call of the memory tool means. Raises `InvalidRequest` if the command is unknown, or a
    field is missing or of another type.

    Fields that are null count as left out, and numbers may be strings: models that must fill every field of a flat
    schema send both.
    """
    given = {key: value for key, value in arguments.items() if value is not None}
    try:
        return msgspec.convert(given, Command, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"Error: The memory command cannot be read: {error}") from error


NAME = "memory"
# Anthropic's API is sent this type instead of a schema, because it knows the tool.
NATIVE_TYPE = "memory_20250818"

_PATH = "A path below /memories, for instance /memories/notes.md."
_FIELDS: dict[str, dict[str, Any]] = {
    "command": {
        "type": "string",
        "enum": ["view", "create", "str_replace", "insert", "delete", "rename"],
        "description": "What to do.",
    },
    "path": {"type": "string", "description": f"{_PATH} For every command but rename."},
    "view_range": {
        "type": "array",
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
        "description": "view of a file: first and last line to show, counted from 1; -1 as last for the end.",
    },
    "file_text": {"type": "string", "description": "create: the text of the new file."},
    "old_str": {"type": "string", "description": "str_replace: the text to replace; it must occur exactly once."},
    "new_str": {"type": "string", "description": "str_replace: what to put in its place."},
    "insert_line": {"type": "integer", "minimum": 0, "description": "insert: the line to insert after; 0 for the top."},
    "insert_text": {"type": "string", "description": "insert: the text to insert."},
    "old_path": {"type": "string", "description": "rename: the file or folder to rename or move."},
    "new_path": {"type": "string", "description": "rename: its new path, which must be free."},
}

DEFINITION = ToolDefinition(
    name=NAME,
    description=(
        "Keeps notes in files under /memories that outlast this conversation. Look there before starting work (view "
        "/memories), write down progress, decisions and what must not be forgotten, and keep the files short and in "
        "order: the context may be compacted at any time, the memory stays. view shows a folder or a file with line "
        "numbers; create writes a new file; str_replace and insert change one; delete and rename do what they say."
    ),
    input_schema={"type": "object", "properties": _FIELDS, "required": ["command"]},
)


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
    """Returns the path that a model wrote, such as `/memories/notes.md`. Raises `InvalidRequest` with the reason."""
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


LEVELS = 2
_UNITS = "BKMG"
MAX_LINES = 999_999
# About 15,000 tokens: more at once would crowd out the work that the memory should help with.
VIEW_CHARACTERS = 60_000
# Lines shown before and after a replacement.
_AROUND = 2


class MemoryEntry(Struct, frozen=True, kw_only=True):
    """A file or folder in the listing of a memory. `size` is in bytes; a folder's is that of all files in it."""

    path: MemoryPath
    size: int
    is_folder: bool = False


def is_listed(name: str) -> bool:
    """Returns whether a listing shows a file or folder named `name`. A listing leaves out hidden files, `node_modules`,
    and names that a memory path may not contain."""
    return not fault_of(name) and name != "node_modules"


def render_listing(folder: MemoryPath, entries: Sequence[MemoryEntry]) -> str:
    """Returns the text that a model gets for the listing of `folder`: a heading, then one line per entry with its size.
    `entries` begin with the folder itself, and each folder precedes its contents."""
    head = f"Here're the files and directories up to {LEVELS} levels deep in {folder}, excluding hidden items"
    lines = [f"{head} and node_modules:"]
    lines += [
        f"{human_size(entry.size)}\t{entry.path}" + "/" * (entry.is_folder and entry.path != folder)
        for entry in entries
    ]
    return "\n".join(lines)


def human_size(size: int) -> str:
    """Returns a number of bytes in short form, with at most one decimal: `0B`, `5.5K`, `1.2M`."""
    unit = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{size / 1024**unit:.1f}".removesuffix(".0") + _UNITS[unit]


class TextEdit(Struct, frozen=True, kw_only=True):
    """A memory file's new text, and the answer for the model that changed it."""

    text: str
    answer: str


def lines_of(text: str) -> list[str]:
    r"""Returns the lines of a text without their ends, `\\n` alone. One at the end begins no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def view_text(path: MemoryPath, text: str, view_range: tuple[int, int] | None) -> str:
    """Returns the lines of a file with their numbers, under a heading. `view_range` is as in `View`. Of more than
    60,000 characters the rest is cut, and a last line says so. Raises `InvalidRequest` if the range is outside the
    file, or the file has more than 999,999 lines."""
    lines = lines_of(text)
    if len(lines) > MAX_LINES:
        raise InvalidRequest(f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines.")
    first, last = _range(lines, view_range)
    shown = _numbered(lines, first, last)
    answer = f"Here's the content of {path} with line numbers:\n{shown}"
    if len(shown) <= VIEW_CHARACTERS:
        return answer
    cut = answer[:VIEW_CHARACTERS].rsplit("\n", 1)[0] if "\n" in shown[:VIEW_CHARACTERS] else answer[:VIEW_CHARACTERS]
    through = first + max(cut.count("\n"), 1) - 1
    return f"{cut}\n[Shown up to line {through} of {len(lines)}; give a view_range to see more.]"


def replace_text(path: MemoryPath, text: str, old: str, new: str) -> TextEdit:
    """Returns the edit that replaces the one occurrence of `old` in `text` by `new`: the new text, and an answer that
    shows the lines around the change. Raises `InvalidRequest` if `old` is empty or does not occur exactly once."""
    if not old:
        raise InvalidRequest("Error: No replacement was performed, old_str is empty.")
    at = text.find(old)
    if at < 0:
        raise InvalidRequest(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if text.find(old, at + 1) >= 0:
        numbers = ", ".join(map(str, _lines_with(text, old)))
        raise InvalidRequest(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}. "
            "Please ensure it is unique"
        )
    edited = text[:at] + new + text[at + len(old) :]
    line = text.count("\n", 0, at) + 1
    lines = lines_of(edited)
    snippet = _numbered(lines, max(line - _AROUND, 1), min(line + new.count("\n") + _AROUND, len(lines)))
    return TextEdit(text=edited, answer=f"The memory file has been edited. The lines around the change:\n{snippet}")


def insert_text(path: MemoryPath, text: str, line: int, inserted: str) -> TextEdit:
    """Returns the edit that adds `inserted` as whole lines after line number `line` of `text`; 0 is the beginning.
    Raises `InvalidRequest` if the file has no such line."""
    lines = lines_of(text)
    if not 0 <= line <= len(lines):
        raise InvalidRequest(
            f"Error: Invalid `insert_line` parameter: {line}. "
            f"It should be within the range of lines of the file: [0, {len(lines)}]"
        )
    head = "".join(f"{before}\n" for before in lines[:line])
    tail = text[len(head) :]
    whole = inserted if inserted.endswith("\n") else inserted + "\n"
    return TextEdit(text=head + whole + tail, answer=f"The file {path} has been edited.")


def _range(lines: list[str], view_range: tuple[int, int] | None) -> tuple[int, int]:
    if view_range is None:
        return 1, len(lines)
    first, last = max(view_range[0], 1), view_range[1]
    last = len(lines) if last == -1 else min(last, len(lines))
    if first > last:
        raise InvalidRequest(
            f"Error: Invalid `view_range` parameter: {list(view_range)}. "
            f"It should be within the range of lines of the file: [1, {len(lines)}]"
        )
    return first, last


def _numbered(lines: list[str], first: int, last: int) -> str:
    """Returns the lines with the numbers `first` to `last`, counted from 1, both included, joined by newlines. Each
    begins with its number, right-aligned in six columns, and a tab."""
    return "\n".join(f"{number:6}\t{lines[number - 1]}" for number in range(first, last + 1))


def _lines_with(text: str, part: str) -> list[int]:
    """Returns the numbers, from 1, of the lines in which an occurrence of `part` begins. Occurrences may overlap."""
    found: dict[int, None] = {}
    line, start, at = 1, 0, text.find(part)
    while at >= 0:
        line += text.count("\n", start, at)
        found[line] = None
        start, at = at, text.find(part, at + 1)
    return [*found]
