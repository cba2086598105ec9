"""The notes of the memory tool as values: listings of a folder, and what the commands do to the text of a file."""

from collections.abc import Sequence

from msgspec import Struct

from ullage.memory.paths import MemoryPath, fault_of
from ullage.model.errors import InvalidRequest

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
    r"""Returns the lines of a text without their ends. Only `\n` ends a line, and a `\n` at the end begins no further
    line."""
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
