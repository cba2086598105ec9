"""Test cases that are kept as data in `tests/data`."""

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data"


def cases(name: str) -> list[dict[str, Any]]:
    """Returns the objects of one file."""
    return json.loads((DATA / name).read_text())
