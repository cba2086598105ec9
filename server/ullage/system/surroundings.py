"""What this machine says about a session's folder: the system, the date, the Git branch and files of the project."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path

from ullage.bounds import open_plain
from ullage.service.ports.models import ProjectFile, Surroundings

# Git's own files are shorter; a longer one is not Git's.
_MOST_CHARS = 4_096
# A branch's name may be longer, but then it says no more.
_LONGEST_BRANCH = 200
_BRANCH = "ref: refs/heads/"
_LINK = "gitdir: "


def look_around(folder: str) -> Surroundings:
    """Returns what there is to say of machine and folder now. Blocks on the disk; leaves out the unreadable."""
    path = Path(folder)
    repository = _repository(path)
    return Surroundings(
        platform=f"{platform.system()} {platform.release()}".strip(),
        date=datetime.now(UTC).astimezone().date().isoformat(),
        branch="" if repository is None else _branch(repository),
        folders=(folder,) if repository is None else (*_below(path, repository), str(repository)),
    )


def _repository(path: Path) -> Path | None:
    """Returns the nearest folder, from `path` on upwards, that holds a `.git`. Returns None if there is none."""
    try:
        return next((folder for folder in (path, *path.parents) if (folder / ".git").exists()), None)
    except OSError:
        return None


def _below(path: Path, repository: Path) -> tuple[str, ...]:
    return tuple(map(str, takewhile(lambda folder: folder != repository, (path, *path.parents))))


def _branch(repository: Path) -> str:
    git = repository / ".git"
    if git.is_file():
        # A worktree or a submodule: the file names the folder with its HEAD.
        link = _read(git)
        if not link.startswith(_LINK):
            return ""
        git = repository / link.removeprefix(_LINK)
    head = _read(git / "HEAD")
    name = head.removeprefix(_BRANCH)
    return name[:_LONGEST_BRANCH] if head.startswith(_BRANCH) and name.isprintable() else ""


def _read(path: Path) -> str:
    """Returns the first characters of a plain file, without white space around them; empty if it cannot be read."""
    try:
        return _beginning(path, _MOST_CHARS).strip()
    except (OSError, ValueError):
        return ""


class LocalProjectFiles:
    """The files of projects on this machine's disk, for the port `ProjectFiles`. Unreadable files, and links that lead
    out of the project's folder, count as missing."""

    def find(self, folder: str, names: Sequence[str], trusted: Sequence[str], most: int) -> tuple[ProjectFile, ...]:
        root = Path(folder)
        if not folder or not root.is_absolute():
            return ()
        try:
            root = root.resolve(strict=True)
            reads = any(root.is_relative_to(Path(one).expanduser().resolve()) for one in trusted)
            return tuple(file for name in names if (file := _look(root, name, most if reads else 0)))
        except (OSError, RuntimeError, ValueError):
            return ()


def _look(root: Path, name: str, most: int) -> ProjectFile | None:
    path = (root / name).resolve()
    # A symbolic link may point anywhere, for example to a key.
    if not path.is_relative_to(root) or not path.is_file():
        return None
    if not most:
        return ProjectFile(path=name)
    return ProjectFile(path=name, text=_beginning(path, most))


def _beginning(path: Path, most: int) -> str:
    """Returns the first characters of a plain file. Raises `OSError`."""
    with TextIOWrapper(open_plain(path), encoding="utf-8", errors="replace") as file:
        return file.read(most)
