"""The simplest possible `MemoryFiles`, without a disk: a dict from path to text, and a set of folders."""

from collections.abc import Callable, Iterator

from ullage.memory.memory_tool import DEPTH, LEVELS, MemoryEntry, MemoryPath, TextEdit, folded
from ullage.model.errors import Conflict, InvalidRequest, NotFound

Parts = tuple[str, ...]


class MemoryTwin:
    """One memory, in a dict of texts and a set of folders."""

    def __init__(self) -> None:
        self.files: dict[Parts, str] = {}
        self.folders: set[Parts] = {()}

    def look(self, path: MemoryPath) -> str | tuple[MemoryEntry, ...]:
        if path.parts in self.files:
            return self.files[path.parts]
        self._must_exist(path)
        return tuple(self._entries(path.parts))

    def create(self, path: MemoryPath, text: str) -> None:
        self._make(path.parts[:-1])
        self._must_be_free(path.parts)
        self.files[path.parts] = text

    def edit(self, path: MemoryPath, change: Callable[[str], TextEdit]) -> TextEdit:
        if path.parts not in self.files:
            raise NotFound(str(path))
        edit = change(self.files[path.parts])
        self.files[path.parts] = edit.text
        return edit

    def delete(self, path: MemoryPath) -> None:
        if not path.parts:
            raise InvalidRequest(str(path))
        self._must_exist(path)
        self.files = {parts: text for parts, text in self.files.items() if not _under(parts, path.parts)}
        self.folders = {parts for parts in self.folders if not _under(parts, path.parts)}

    def rename(self, old: MemoryPath, new: MemoryPath) -> None:
        if not old.parts or (new != old and _under(new.parts, old.parts)):
            raise InvalidRequest(str(new))
        if not new.parts:
            raise Conflict(str(new))
        self._must_exist(old)
        depth = max(len(parts) for parts in (*self.files, *self.folders) if _under(parts, old.parts))
        if depth - len(old.parts) + len(new.parts) > DEPTH:
            raise InvalidRequest(str(new))
        self._make(new.parts[:-1])
        self._must_be_free(new.parts, old.parts if old != new else ())
        self.files = {_moved(parts, old.parts, new.parts): text for parts, text in self.files.items()}
        self.folders = {_moved(parts, old.parts, new.parts) for parts in self.folders}

    def _entries(self, top: Parts) -> Iterator[MemoryEntry]:
        yield MemoryEntry(path=MemoryPath(parts=top), size=self._size(top), is_folder=True)
        for parts in sorted((*self.files, *(self.folders - {top}))):
            if _under(parts, top) and len(parts) <= len(top) + LEVELS:
                is_folder = parts in self.folders
                yield MemoryEntry(path=MemoryPath(parts=parts), size=self._size(parts), is_folder=is_folder)

    def _size(self, top: Parts) -> int:
        return sum(len(text.encode()) for parts, text in self.files.items() if _under(parts, top))

    def _must_exist(self, path: MemoryPath) -> None:
        if path.parts not in self.files and path.parts not in self.folders:
            raise NotFound(str(path))

    def _make(self, parts: Parts) -> None:
        for depth in range(1, len(parts) + 1):
            here = parts[:depth]
            if here not in self.folders:
                self._must_be_free(here)
                self.folders.add(here)

    def _must_be_free(self, parts: Parts, itself: Parts = ()) -> None:
        beside = {other for other in (*self.files, *self.folders) if other and other[:-1] == parts[:-1]} - {itself}
        if not parts or folded(parts[-1]) in {folded(other[-1]) for other in beside}:
            raise Conflict("/".join(parts))


def _under(parts: Parts, top: Parts) -> bool:
    return parts[: len(top)] == top


def _moved(parts: Parts, old: Parts, new: Parts) -> Parts:
    return new + parts[len(old) :] if _under(parts, old) else parts
