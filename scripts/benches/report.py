"""The result of a bench: rows of figures, and aims that are met or missed. All figures are measured in the same run.

Work is timed next to a floor that takes turns with it, so that other load of the machine slows both equally.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from ullage.agents.transcripts import read_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import UllageError
from ullage.system.growing_files import read_transcript_file

# Where recorded transcripts are if none are named (tests/support/transcripts.py looks there, too).
TRANSCRIPTS = Path(
    os.environ.get("ULLAGE_TRANSCRIPTS") or Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
)
# Recordings of a protocol, of programs that asked a made-up model, and files that were written as fixtures.
_LEFT_OUT = {"acp_logs", "lsp_logs", "live", "agent_fixtures"}


Row = dict[str, Any]


class Aim(Struct, frozen=True, kw_only=True):
    """A figure and its bound."""

    what: str
    value: float
    aim: str
    met: bool


class Report(Struct, frozen=True, kw_only=True):
    """The result of one bench."""

    bench: str
    rows: list[Row]
    aims: list[Aim]


def at_most(what: str, value: float, bound: float) -> Aim:
    """Returns an aim that a larger value misses."""
    return Aim(what=what, value=round(value, 4), aim=f"<= {bound:g}", met=value <= bound)


def at_least(what: str, value: float, bound: float) -> Aim:
    """Returns an aim that a smaller value misses."""
    return Aim(what=what, value=round(value, 4), aim=f">= {bound:g}", met=value >= bound)


# Rows with the aims that hold for them.
Part = tuple[list[Row], list[Aim]]


def report_of(bench: str, parts: Iterable[Part]) -> Report:
    """Returns the report of a bench with several parts."""
    found = [*parts]
    return Report(
        bench=bench, rows=[row for rows, _ in found for row in rows], aims=[aim for _, aims in found for aim in aims]
    )


def seconds(work: Callable[[], object]) -> float:
    """Returns the seconds that the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turns(rounds: int, *works: Callable[[int], object]) -> list[list[float]]:
    """Returns for each kind of work the seconds of its rounds. All take turns; each gets the number of the round."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds):
        for work, into in zip(works, times, strict=True):
            into.append(seconds(lambda work=work, number=number: work(number)))
    return times


def compared(what: str, floor: float, ours: float, aim: float | None = None) -> Part:
    """Returns the row of seconds beside those of a floor, and the aim for their ratio if there is one."""
    row = {"what": what, "floor_ms": 1000 * floor, "ours_ms": 1000 * ours, "ratio": ours / floor}
    return [row], [] if aim is None else [at_most(f"{what}: ratio", ours / floor, aim)]


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


def read_file(path: Path) -> ImportedTranscript:
    """Reads a transcript with the files that belong to it."""
    return read_document(read_transcript_file(path))
