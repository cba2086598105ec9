"""Generates files from the server's code. Each module has functions that return a file's whole text."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def as_json(document: Mapping[str, Any]) -> str:
    """Returns a document in the form in which it is committed."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def settle(files: Mapping[Path, str], script: str, *, check: bool) -> int:
    """Writes the files that differ from their texts, or with `check` names them. Returns 1 if `check` found any."""
    changed = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        if check:
            print(f"{path.relative_to(ROOT)} has drifted; run scripts/{script}", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8", newline="\n")
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if check and changed else 0
