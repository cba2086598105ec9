"""Measures a server under load: a very long session, a very large result, 1,000 appends a second, and 50 sessions.

All requests go over the wire to the process that editors start. Latencies are the times that a client waits. Memory is
that of the process (`/proc`), compared with an idle server and with the bytes of the data. The token counts are checked
by counting everything again from the log. The environment variable `ULLAGE_LOAD` is a share of the full size, for a
quick try.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from benches import load_cases
from benches.load_server import load_server
from benches.report import Aim, Report

_SHARE = float(os.environ.get("ULLAGE_LOAD", "1"))


def run(_paths: Sequence[Path]) -> Report:
    """Runs all loads, one after the other."""
    began = time.monotonic()
    rows, aims = asyncio.run(_measure())
    load = ", ".join(f"{share:.1f}" for share in os.getloadavg())
    rows.append(load_cases.note(f"took {time.monotonic() - began:,.0f} s; the machine's load at the end: {load}"))
    return Report(bench="load", rows=rows, aims=aims)


async def _measure() -> tuple[list[dict[str, Any]], list[Aim]]:
    rows: list[dict[str, Any]] = []
    aims: list[Aim] = []
    with tempfile.TemporaryDirectory() as folder:
        async with load_server(Path(folder) / "idle.db") as idle:
            await idle.append(await idle.new_session("bench-model"), {"role": "user", "content": "warm"})
            floor = idle.rss()
        for name, case in load_cases.CASES.items():
            found = await case(Path(folder) / f"{name}.db", floor, _SHARE)
            rows += found.rows
            aims += found.aims
    return msgspec.to_builtins(rows), aims
