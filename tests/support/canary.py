"""A tree of files that nothing may touch, and a memory beside it that links lead out of."""

from pathlib import Path

Picture = dict[str, tuple[int, int, int, bytes]]


def plant(root: Path) -> Path:
    """Fills `root/outside` with what a path that escapes would reach, and gives it back."""
    outside = root / "outside"
    (outside / "folder" / "deeper").mkdir(parents=True)
    for name in ("canary.txt", "notes.md", "folder/canary.txt", "folder/notes.md", "folder/deeper/notes.md"):
        (outside / name).write_text("must stay, must not be read: CANARY\n")
    return outside


def picture(folder: Path) -> Picture:
    """All of a tree: for each path its mode, size (or number of entries), time of change and content."""
    found: Picture = {}
    for path in sorted((folder, *folder.rglob("*"))):
        info = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        size = info.st_size if path.is_file() else len([*path.iterdir()])
        found[str(path)] = (info.st_mode, size, info.st_mtime_ns, data)
    return found
