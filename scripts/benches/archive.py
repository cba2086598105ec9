"""Measures the archive: what files take in it, how fast they are kept, whether they come out as they went in, and how
long it takes to start with a large one.

Each collection (a folder of the given paths, or of the shared transcripts) is kept in an archive of its own. A fork of
each of Claude Code's transcripts is made up: its ids replaced, each line says where it comes from, as `/branch` writes
it.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from benches.follower import PATIENCE, processor_seconds, turn, watch
from benches.report import Report, at_most
from support.log_trees import to_bytes
from support.transcripts import ROOT
from ullage.agents.discovery import origin_in
from ullage.service.ports.agent_files import Source
from ullage.store.originals.archive_tables import archive_path
from ullage.store.originals.sqlite_originals import SqliteOriginals

_STEP = 4 << 20
_FORK = str(UUID(int=7)).encode()
_UUID = re.compile(rb'"uuid":"([^"]+)"')
# Files in the archive with which the start is measured: as many as 5 GB of transcripts of 500 kB are.
_MANY = 10_000
# Bytes of transcripts in the archive with which a follower is started again. Five times as many take a quarter of an
# hour to keep.
_LARGE = int(float(os.environ.get("ULLAGE_ARCHIVED_GB", "1")) * 1e9)
# Exchanged for each other in a copy of a file, so that the copy has no line of the file: letters that no escape
# sequence has, and digits.
_LETTERS, _DIGITS = b"hjkqvwxz", b"0123456789"


def run(paths: Sequence[Path]) -> Report:
    """Runs the bench over these files and folders, or over the shared transcripts."""
    roots = list(paths) or sorted(path for path in ROOT.iterdir() if path.is_dir())
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory(prefix="ullage-archive-") as folder:
        for number, root in enumerate(roots):
            files = {str(path): path.read_bytes() for path in _files(root)}
            rows.append(_measure(Path(folder) / str(number), root.name, files))
        forks = [_measure_fork(Path(folder) / f"fork{number}", path) for number, path in enumerate(_forkable(roots))]
        start = _measure_start(Path(folder) / "many")
        restart = _measure_restart(Path(folder) / "large", [path for root in roots for path in _files(root)])
    raw, stored = sum(row["raw_kb"] for row in rows), sum(row["stored_kb"] for row in rows)
    wrong = sum(row["wrong"] for row in [*rows, *forks])
    return Report(
        bench="archive",
        rows=[*rows, *forks, {"what": f"start with {_MANY:,} files kept", "seconds": start}, restart],
        aims=[
            at_most("stored / raw", stored / raw, 0.25),
            at_most("files that come out differently", wrong, 0),
            *(
                [at_most("most that a fork adds, of its size", max(row["ratio"] for row in forks), 0.1)]
                if forks
                else []
            ),
            at_most("seconds to start with many files kept", start, 1.0),
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


def _measure(archive: Path, name: str, files: dict[str, bytes]) -> dict[str, Any]:
    with SqliteOriginals(archive) as originals:
        start = time.process_time()
        kept = {path: _keep(originals, path, data) for path, data in files.items()}
        seconds = time.process_time() - start
        wrong = sum(_digest(originals, kept[path]) != sha256(data).digest() for path, data in files.items())
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


def _digest(originals: SqliteOriginals, version_id: int) -> bytes:
    return sha256(b"".join(originals.read(version_id))).digest()


def _forkable(roots: Sequence[Path]) -> Iterator[Path]:
    """Yields transcripts of Claude Code of which a fork is worth measuring."""
    for path in (path for root in roots for path in _files(root)):
        if path.suffix == ".jsonl" and path.stat().st_size > 1_000_000 and path.stem.encode() in path.read_bytes():
            yield path


def _measure_fork(archive: Path, path: Path) -> dict[str, Any]:
    data, parent = path.read_bytes(), path.stem.encode()
    forked = b"".join(_branched(line, parent) for line in data.splitlines(keepends=True) if b'"uuid":"' in line)
    with SqliteOriginals(archive) as originals:
        _keep(originals, str(path), data)
        before = originals.size()
        version_id = _keep(originals, f"/{_FORK.decode()}.jsonl", forked)
        added = originals.size() - before
        wrong = _digest(originals, version_id) != sha256(forked).digest()
    return {
        "fork of": path.name,
        "raw_kb": len(forked) / 1000,
        "added_kb": added / 1000,
        "ratio": added / len(forked),
        "wrong": int(wrong),
    }


def _branched(line: bytes, parent: bytes) -> bytes:
    uuid = _UUID.findall(line)[-1]
    body = line.rstrip(b"\n").replace(parent, _FORK)
    origin = b',"forkedFrom":{"sessionId":"%b","messageUuid":"%b"}}' % (parent, uuid)
    return body[:-1] + origin + line[len(line.rstrip(b"\n")) :]


def _measure_start(archive: Path) -> float:
    with SqliteOriginals(archive) as originals:
        for number in range(_MANY):
            kept = originals.begin(Source(path=f"/project/{number}.jsonl", agent="Claude Code"))
            originals.settle(kept.version_id, (number, number, number), b"")
    start = time.perf_counter()
    with SqliteOriginals(archive) as originals:
        originals.pack()
        assert len(originals.stats()) == _MANY
    return time.perf_counter() - start


def _measure_restart(home: Path, files: Sequence[Path]) -> dict[str, Any]:
    """Measures the start of a follower whose archive has many copies of these files, each with other words."""
    home.mkdir()
    archive, raw = archive_path(home / "store.db"), 0
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
