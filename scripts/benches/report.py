"""The result of a bench: rows of figures, and aims that are met or missed. All figures are measured in the same run."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

# Where recorded transcripts are if none are named (tests/support/transcripts.py looks there, too).
TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
_PROTOCOL_LOGS = {"acp_logs", "lsp_logs"}
_NOT_DATA = {".md", ""}


class Aim(Struct, frozen=True, kw_only=True):
    """A figure and its bound."""

    what: str
    value: float
    aim: str
    met: bool


class Report(Struct, frozen=True, kw_only=True):
    """The result of one bench."""

    bench: str
    rows: list[dict[str, Any]]
    aims: list[Aim]


def at_most(what: str, value: float, bound: float) -> Aim:
    """Returns an aim that a larger value misses."""
    return Aim(what=what, value=round(value, 4), aim=f"<= {bound:g}", met=value <= bound)


def at_least(what: str, value: float, bound: float) -> Aim:
    """Returns an aim that a smaller value misses."""
    return Aim(what=what, value=round(value, 4), aim=f">= {bound:g}", met=value >= bound)


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the value below which this share of the values is (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def median(values: Iterable[float]) -> float:
    """Returns the median, or 0 if there are no values."""
    return statistics.median(list(values) or [0.0])


def transcript_files(paths: Sequence[Path]) -> list[Path]:
    """Returns the named files and all conversations in the named folders, or the recorded ones if nothing is named."""
    found: list[Path] = []
    for path in paths or [TRANSCRIPTS]:
        found += sorted(file for file in path.rglob("*") if _is_conversation(file)) if path.is_dir() else [path]
    return found


def _is_conversation(file: Path) -> bool:
    return (
        file.is_file()
        and file.suffix not in _NOT_DATA
        and not _PROTOCOL_LOGS & set(file.parts)
        and (not file.name.startswith("LICENSE"))
    )
