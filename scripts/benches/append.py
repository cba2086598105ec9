"""What one small append costs, and one compaction by hand, in CPU time and calls of the store.

Each figure is compared with a floor of the same run: for an append one token count and one insert of its row, for a
compaction one decoding of the session's texts. With `--against SERVER_FOLDER` another checkout is measured in turns
with this one, each turn in a process of its own, so that both meet the same machine.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.report import Aim, Report, at_most, median

ROUNDS = 5
_WORKER = Path(__file__).with_name("append_worker.py")
_OURS = Path(__file__).resolve().parents[2] / "server"
# An append may cost this multiple of its floor, and this share of what it cost before the conversation was redesigned;
# a compaction may not cost more than before.
_RATIO, _SHARES = 6.0, {"append": 0.5, "answer": 0.5, "compact": 1.0}


def run(_: Sequence[Path], against: Path | None = None) -> Report:
    """A row per case and checkout; the aims hold this checkout, to its floor and to the other checkout."""
    folders = [_OURS, *([against.resolve()] if against else [])]
    rounds = [[_measure(folder) for folder in folders] for _ in range(ROUNDS)]
    rows = {
        (case, folder): _row(case, folder, [measured[number][case] for measured in rounds])
        for number, folder in enumerate(folders)
        for case in _SHARES
    }
    aims = [at_most(f"{case}: ratio to its floor", rows[case, _OURS]["ratio"], _RATIO) for case in ("append", "answer")]
    if against:
        aims += [_compare(case, rows[case, _OURS], rows[case, folders[1]]) for case in _SHARES]
    return Report(bench="append", rows=list(rows.values()), aims=aims)


def _measure(folder: Path) -> dict[str, Any]:
    """One process's figures of a checkout."""
    # `-P`, because the worker's own folder has a `redact_secrets.py`, which is not Python's.
    command, env = [sys.executable, "-P", _WORKER], os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _row(case: str, folder: Path, measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median over the processes of each one's median."""
    ours = median(median(one["micros"]) for one in measured)
    floor = median(median(one["floor"]) for one in measured)
    calls = ", ".join(f"{name} {count:g}" for name, count in sorted(measured[0]["calls"].items()))
    what = {"case": case, "server": str(folder)}
    return what | {"floor_us": floor, "ours_us": ours, "ratio": ours / floor, "store calls": calls}


def _compare(case: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Aim:
    return at_most(f"{case}: share of the other checkout", ours["ours_us"] / theirs["ours_us"], _SHARES[case])
