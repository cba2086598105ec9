"""The result of a bench: rows of figures, and aims that are met or missed. All figures are measured in the same run."""

import os
import statistics
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from ullage.agents.transcripts import read_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import UllageError
from ullage.system.transcript_files import read_transcript_file

# Where recorded transcripts are if none are named (tests/support/transcripts.py looks there, too).
TRANSCRIPTS = Path(
    os.environ.get("ULLAGE_TRANSCRIPTS") or Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
)
# Recordings of a protocol, of programs that asked a made-up model, and files that were written as fixtures.
_LEFT_OUT = {"acp_logs", "lsp_logs", "live", "agent_fixtures"}


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


def recorded(paths: Sequence[Path]) -> list[tuple[Path, ImportedTranscript]]:
    """Returns the named conversations and all conversations in the named folders.

    If nothing is named, returns the recorded ones whose usage a real model reported. Files in folders that hold no
    conversation are left out. Raises `UllageError` for a named file that can't be read.
    """
    found = [(path, read_file(path)) for path in paths if not path.is_dir()]
    for folder in [path for path in paths if path.is_dir()] if paths else [TRANSCRIPTS]:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            if paths or not _LEFT_OUT & set(file.relative_to(folder).parts):
                with suppress(UllageError):
                    found.append((file, read_file(file)))
    return found


def transcript_files(paths: Sequence[Path]) -> list[Path]:
    """Returns the files of `recorded`."""
    return [path for path, _ in recorded(paths)]


def read_file(path: Path) -> ImportedTranscript:
    """Reads a transcript with the files that belong to it."""
    return read_document(read_transcript_file(path))
