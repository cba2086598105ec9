"""Where memories lie: one for the user, one for each project."""

import hashlib
import re
from pathlib import Path

_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


def memory_base(cwd: str | None = None, data: Path | None = None) -> Path:
    """The base folder of the memory of the project at `cwd`, or, without one, of the user's own.

    It lies in the user's data folder (`data`), not in the project: a checkout that comes from elsewhere brings no
    memory with it. A project is known by its folder's real path, so that a link to it leads to the same memory.
    """
    root = (data or _user_data()) / "memories"
    if cwd is None:
        return root / "user"
    real = Path(cwd).resolve()
    digest = hashlib.sha256(str(real).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return root / "projects" / f"{_PLAIN.sub('-', real.name)[:40]}-{digest}"


def _user_data() -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415  (a cold import that a given path spares)

    return user_data_path("ullage", appauthor=False)
