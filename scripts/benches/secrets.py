"""Measures how many secrets survive redaction, and how many lines without one are redacted.

Fourteen kinds of random secrets, among them passwords of people, are put into the forms of `secret_forms.py`. That the
tokens of each known issuer are found is tested (`tests/unit/redaction/test_secrets.py`).

The lines without secrets are those of the named files and folders; if none is named, the lines of this repository
and of the packages that it is installed with. A line that `redact` changes is counted and shown.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benches.report import Report, at_most
from benches.secret_forms import samples
from generators import ROOT
from ullage.redaction.clean import clean, redact

_SEEDS = (5, 6, 7)
_TEXTS = {".py", ".pyi", ".ts", ".js", ".lua", ".md", ".json", ".toml", ".txt", ".yaml", ".yml", ".lock", ".log", ".go",
          ".rs", ".c", ".h", ".java", ".sh", ".cfg", ".ini", ".html", ".css", ".sql"}  # fmt: skip
_MOST_LINES, _MOST_SHOWN, _LARGEST_FILE = 300_000, 40, 2_000_000


def run(paths: Sequence[Path]) -> Report:
    """Returns rows of surviving secrets and of redacted lines."""
    lines, changed = _redacted_lines(paths or _own_folders())
    forms = _surviving_forms()
    share = len(changed) / max(1, lines)
    shown = [{"redacted without need": line[:160]} for line in changed[:_MOST_SHOWN]]
    aims = [
        at_most("share of lines without secrets that are redacted", share, 0.0001),
        at_most("share of secrets in the forms of logs that survive", forms[0]["survive %"] / 100, 0.03),
    ]
    return Report(
        bench="secrets",
        rows=[*forms, {"lines": lines, "redacted": len(changed)}, *shown],
        aims=aims,
    )


def _surviving_forms() -> list[dict[str, Any]]:
    """Returns the shares that survive: of all, of each kind, and of each form of which any do."""
    tried: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for one in (one for seed in _SEEDS for one in samples(seed)):
        survives = any(piece in clean(one.text) for piece in one.pieces)
        for which in ("all forms", one.kind, repr(one.form)):
            tried[which] += 1
            left[which] += survives
    shown = [which for which in tried if left[which] or not which.startswith(("'", '"'))]
    return [{"form or kind": which, "survive %": round(100 * left[which] / tried[which], 2)} for which in shown]


def _redacted_lines(paths: Sequence[Path]) -> tuple[int, list[str]]:
    lines, changed = 0, list[str]()
    for line in islice((line for path in paths for line in _lines(path)), _MOST_LINES):
        lines += 1
        if redact(line) != line:
            changed.append(redact(line).strip())
    return lines, changed


def _lines(path: Path) -> Iterator[str]:
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and (file.suffix in _TEXTS or not path.is_dir()) and file.stat().st_size < _LARGEST_FILE:
            yield from file.read_text(encoding="utf-8", errors="replace").splitlines()


def _own_folders() -> list[Path]:
    return [ROOT / "server", ROOT / "editors", ROOT / "scripts", *sorted((ROOT / ".venv" / "lib").glob("*"))]
