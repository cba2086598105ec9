"""`list_files`: lists the files under a folder."""

from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.tools.folder import resolve_inside, walk_files

_MOST = 500


class ListFilesInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pattern` is a glob on the path relative to the folder."""

    path: str = "."
    pattern: str = "*"


def list_files(cwd: str, given: ListFilesInput) -> str:
    """Returns paths relative to the session's folder, one per line. Raises `InvalidRequest` if the path is not a
    folder inside it."""
    folder = resolve_inside(cwd, given.path)
    if not folder.is_dir():
        raise InvalidRequest(f"{given.path!r} is not a folder")
    root = Path(cwd).resolve()
    names = (path.relative_to(root).as_posix() for path in walk_files(folder, cwd))
    found = list(islice((name for name in names if fnmatch(name, given.pattern)), _MOST + 1))
    more = f"\n[more than {_MOST} files; narrow it with pattern]" if len(found) > _MOST else ""
    return "\n".join(found[:_MOST]) + more or "[No file matches.]"
