"""The rooms of `service/` import each other in one direction only."""

import re
from pathlib import Path

import pytest

SERVICE = Path(__file__).resolve().parents[2] / "server" / "ullage" / "service"
# Each room may import those before it. `sessions.py` and `managed.py` are rooms of one file.
ORDER = ["ports", "conversation", "plan", "asking", "summaries", "compact", "managed", "sessions", "archive", "turns"]
MODULES = sorted(path for path in SERVICE.rglob("*.py") if path.name not in {"__init__.py", "memory.py"})


def room_of(path: Path) -> str:
    return path.relative_to(SERVICE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SERVICE).as_posix())
def test_a_room_imports_only_rooms_before_it(path: Path) -> None:
    allowed = set(ORDER[: ORDER.index(room_of(path)) + 1])
    imported = set(re.findall(r"^from ullage\.service\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert imported <= allowed
