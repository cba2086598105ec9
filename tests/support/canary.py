"""A tree of files that must not be touched, next to a memory with links that lead out of it."""

from pathlib import Path

Picture = dict[str, tuple[int, int, int, bytes]]


def plant(root: Path) -> Path:
    """Creates in `root/outside` the files that an escaping path would reach, and returns that folder."""
    outside = root / "outside"
    (outside / "folder" / "deeper").mkdir(parents=True)
    for name in ("canary.txt", "notes.md", "folder/canary.txt", "folder/notes.md", "folder/deeper/notes.md"):
        (outside / name).write_text("must stay, must not be read: CANARY\n")
    return outside


def picture(folder: Path) -> Picture:
    """Returns a whole tree: for each path its mode, size (or number of entries), modification time and content."""
    found: Picture = {}
    for path in sorted((folder, *folder.rglob("*"))):
        info = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        size = info.st_size if path.is_file() else len([*path.iterdir()])
        found[str(path)] = (info.st_mode, size, info.st_mtime_ns, data)
    return found
