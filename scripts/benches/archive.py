"""Measures the archive: what files take in it, how fast they are kept, whether they come out as they went in, and how
long it takes to start with a large one.

Each collection (a folder of the given paths, or of the shared transcripts) is kept in an archive of its own.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from benches.follower import PATIENCE, processor_seconds, turn, watch
from benches.report import Report, Row, at_most
from support.log_trees import to_bytes
from support.transcripts import ROOT
from ullage.agents.discovery import origin_in
from ullage.host.side_files import ARCHIVE, beside
from ullage.service.ports.agent_files import Source
from ullage.store.originals.sqlite_originals import SqliteOriginals

_STEP = 4 << 20
# Bytes of transcripts in the archive with which a follower is started again. Five times as many take a quarter of an
# hour to keep.
_LARGE = int(float(os.environ.get("ULLAGE_ARCHIVED_GB", "1")) * 1e9)
# Exchanged for each other in a copy of a file, so that the copy has no line of the file: letters that no escape
# sequence has, and digits.
_LETTERS, _DIGITS = b"hjkqvwxz", b"0123456789"


def run(paths: Sequence[Path]) -> Report:
    """Runs the bench over these files and folders, or over the shared transcripts."""
    roots = list(paths) or sorted(path for path in ROOT.iterdir() if path.is_dir())
    with TemporaryDirectory(prefix="ullage-archive-") as folder:
        rows = [_measure(Path(folder) / str(number), root.name, _files(root)) for number, root in enumerate(roots)]
        restart = _measure_restart(Path(folder) / "large", [path for root in roots for path in _files(root)])
    stored, raw = sum(row["stored_kb"] for row in rows), sum(row["raw_kb"] for row in rows)
    return Report(
        bench="archive",
        rows=[*rows, restart],
        aims=[
            at_most("stored / raw", stored / raw, 0.25),
            at_most("files that come out differently", sum(row["wrong"] for row in rows), 0),
            at_most("a large archive: stored / raw", restart["ratio"], 0.25),
            at_most("a large archive: restart to the first figure, s", restart["first_figure_s"], 1.0),
        ],
    )


def _files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file()) if root.is_dir() else iter([root])


def _keep(originals: SqliteOriginals, path: str, data: bytes) -> int:
    kept = originals.begin(Source(path=path, agent="", origin_id=origin_in(path)))
    for start in range(0, len(data), _STEP):
        kept = originals.append(kept.version_id, start, data[start : start + _STEP], b"", pack=True)
    return kept.version_id


def _measure(archive: Path, name: str, paths: Iterable[Path]) -> Row:
    files = {str(path): path.read_bytes() for path in paths}
    with SqliteOriginals(archive) as originals:
        start = time.process_time()
        kept = {path: _keep(originals, path, data) for path, data in files.items()}
        seconds = time.process_time() - start
        wrong = sum(b"".join(originals.read(kept[path])) != data for path, data in files.items())
        size = originals.size()
    raw = sum(map(len, files.values()))
    return {
        "collection": name,
        "files": len(files),
        "raw_kb": raw / 1000,
        "stored_kb": size / 1000,
        "ratio": size / raw,
        "mb_per_s": raw / 1e6 / seconds,
        "wrong": wrong,
    }


def _measure_restart(home: Path, files: Sequence[Path]) -> Row:
    """Measures the start of a follower whose archive has many copies of these files, each with other words."""
    home.mkdir()
    archive, raw = beside(home / "store.db", ARCHIVE), 0
    begun = time.process_time()
    with SqliteOriginals(archive) as originals:
        for number in count():
            if raw >= _LARGE:
                break
            data = files[number % len(files)].read_bytes().translate(_exchanged(number))
            kept = _keep(originals, f"/project/{number}.jsonl", data)
            originals.settle(kept, (len(data), number, number), sha256(data).digest())
            raw += len(data)
        stored = originals.size()
    kept_s = time.process_time() - begun
    log = home / ".claude" / "projects" / "-home-user-live" / "99999999-0000-0000-0000-000000000000.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(to_bytes(turn(0)))
    starts: list[tuple[float, float]] = []
    for _ in range(2):
        start = time.perf_counter()
        with watch(home) as (process, rows):
            seen, _ = rows.get(timeout=PATIENCE)
            starts.append((seen - start, processor_seconds(process.pid)))
    return {
        "what": f"restart with {raw / 1e9:.1f} GB kept",
        "stored_gb": stored / 1e9,
        "ratio": stored / raw,
        "kept_mb_per_s": raw / 1e6 / kept_s,
        "first_figure_s": starts[-1][0],
        "processor_s": starts[-1][1],
    }


def _exchanged(number: int) -> bytes:
    """Returns a table for `bytes.translate` that exchanges letters and digits, another one for each number."""
    chance = Random(number)
    letters, digits = (bytes(chance.sample(list(known), len(known))) for known in (_LETTERS, _DIGITS))
    return bytes.maketrans(_LETTERS + _DIGITS, letters + digits)
