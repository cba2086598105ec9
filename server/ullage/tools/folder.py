"""A session's folder as tools may see it: paths that stay inside it, and the files worth listing."""

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ullage.model.errors import InvalidRequest

# Folders that other programs make: their thousands of files say nothing about the project.
SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"}
)

# Characters: Linux's PATH_MAX, the longest of any system. It also keeps an error that repeats the path short.
_LONGEST_PATH = 4_096


def resolve_inside(cwd: str, path: str) -> Path:
    """Returns the absolute path of `path`, which is relative to the folder `cwd`, with links followed. The file need
    not exist. Raises `InvalidRequest` if the result is not inside `cwd`, if the system cannot follow the path, or if
    `cwd` is not a folder."""
    if "\0" in path:
        raise InvalidRequest("a path cannot hold a NUL character")
    if len(path) > _LONGEST_PATH:
        raise InvalidRequest(f"a path of {len(path):,} characters is too long; at most {_LONGEST_PATH:,} are possible")
    try:
        if not cwd or not Path(cwd).is_dir():
            raise InvalidRequest("this session has no folder, so there are no files to look at")
        root = Path(cwd).resolve()
        found = (root / path).resolve()
        # Asks the system, which may refuse the path, for example because a name in it is too long.
        found.exists()
    # RuntimeError: links that lead to each other, before Python 3.13.
    except (OSError, RuntimeError) as error:
        raise InvalidRequest(f"{path!r} cannot be followed: {getattr(error, 'strerror', None) or error}") from error
    if not found.is_relative_to(root):
        raise InvalidRequest(f"{path!r} is outside the session's folder {root}; only what is inside can be read")
    return found


def walk_files(root: Path, cwd: str) -> Iterator[Path]:
    """Yields the plain files in a folder and its subfolders, sorted by name, without the folders of `SKIPPED`. Pipes,
    devices and sockets are left out, because reading one may never end. Files whose link leads out of `cwd` or nowhere
    are left out, and folders that are links are not entered."""
    inside = Path(cwd).resolve()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            path = Path(folder, name)
            if _is_plain(path, inside):
                yield path


def _is_plain(path: Path, inside: Path) -> bool:
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            return stat.S_ISREG(mode)
        target = path.resolve(strict=True)
        return target.is_relative_to(inside) and target.is_file()
    # RuntimeError: links that lead to each other, before Python 3.13.
    except (OSError, RuntimeError):
        return False


_MOST = 500


class ListFilesInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Input of the tool `list_files`. `path` is a folder, relative to the session's folder. `pattern` is a glob
    (`fnmatch`) on each file's path relative to the session's folder, not to `path`; `*` also matches `/`."""

    path: str = "."
    pattern: str = "*"


def list_files(cwd: str, given: ListFilesInput) -> str:
    """Returns the paths of the matching files in the folder and its subfolders, relative to the session's folder `cwd`,
    one per line. At most 500 are listed, with a last line that says that there are more. If no file matches, a line
    says so. Raises `InvalidRequest` if the path is not a folder inside the session's folder."""
    folder = resolve_inside(cwd, given.path)
    if not folder.is_dir():
        raise InvalidRequest(f"{given.path!r} is not a folder")
    root = Path(cwd).resolve()
    names = (path.relative_to(root).as_posix() for path in walk_files(folder, cwd))
    found = list(islice((name for name in names if fnmatch(name, given.pattern)), _MOST + 1))
    more = f"\n[more than {_MOST} files; narrow it with pattern]" if len(found) > _MOST else ""
    return "\n".join(found[:_MOST]) + more or "[No file matches.]"
