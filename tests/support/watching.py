"""A running `ullage watch --json`, whose rows a test waits for."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

Row = dict[str, Any]
# Seconds. A busy machine may take long to start a process.
PATIENCE = 180.0
_LOOK_EVERY = 0.05


class Watching:
    """The rows that the program has printed and the test has not taken."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._rows: Queue[Row] = Queue()
        Thread(target=self._read, daemon=True).start()

    @property
    def process_id(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for row in out:
                self._rows.put(json.loads(row))

    async def until(self, accept: Callable[[Row], bool], patience: float = PATIENCE) -> Row:
        """Waits for a row, at most `patience` seconds. Raises `AssertionError` with the rows that came instead."""
        passed: list[Row] = []
        try:
            async with asyncio.timeout(patience):
                while True:
                    try:
                        row = self._rows.get_nowait()
                    except Empty:
                        await asyncio.sleep(_LOOK_EVERY)
                        continue
                    if accept(row):
                        return row
                    passed.append(row)
        except TimeoutError:
            raise AssertionError(f"the row never came; instead: {passed}") from None


@contextmanager
def watching(store: Path, environment: Mapping[str, str], limits: Sequence[str] = ()) -> Generator[Watching]:
    """Runs `ullage watch --json` on a store while the block runs. `limits` are options of the program `prlimit`."""
    process = subprocess.Popen(
        [
            *(["prlimit", *limits] if limits else ()),
            sys.executable,
            "-m",
            "ullage",
            "--store",
            str(store),
            "watch",
            "--json",
        ],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Watching(process)
    finally:
        process.kill()
        process.wait(PATIENCE)
