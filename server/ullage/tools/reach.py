"""Where the tools on files may look: a session's folder, the further folders that its client has opened, and what the
user has just permitted outside of them."""

from pathlib import Path

from msgspec import Struct


class Reach(Struct, frozen=True, kw_only=True):
    """What one session's tools may look at without asking: its folder `cwd`, and the folders `further`."""

    cwd: str
    further: tuple[str, ...] = ()


class Spot(Struct, frozen=True, kw_only=True):
    """Where a call looks: `path`, in the folder `folder` that it may not leave."""

    folder: str
    path: str


def open_spot(reach: Reach, path: str) -> Spot | None:
    """Returns where a call with this path looks, if that is inside one of the folders, with links followed. `path` is
    relative to the session's folder, or absolute. Returns None if it is outside, or cannot be followed."""
    found = resolved(reach.cwd, path)
    if found is None:
        return None
    if _holds(reach.cwd, found):
        return Spot(folder=reach.cwd, path=path)
    return next((Spot(folder=one, path=str(found)) for one in reach.further if _holds(one, found)), None)


def permitted_spot(found: Path) -> Spot:
    """Returns where a call looks that the user has permitted for `found`, a file or folder outside: only there."""
    folder = found if found.is_dir() else found.parent
    return Spot(folder=str(folder), path=str(found))


def resolved(cwd: str, path: str) -> Path | None:
    """Returns the absolute path, with links followed, or None if the system cannot follow it or there is no file."""
    try:
        return (Path(cwd) / path).resolve(strict=True) if cwd else None
    # RuntimeError: links that lead to each other, before Python 3.13. ValueError: a NUL character.
    except (OSError, RuntimeError, ValueError):
        return None


def _holds(folder: str, found: Path) -> bool:
    root = resolved(folder, ".")
    return root is not None and found.is_relative_to(root)
