"""`ullage watch --json` as a process, and the logs that it watches."""

import json
import os
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from support.session_log import JsonObject, line, say
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.store.sqlite.catalogue import Keeping
from ullage.store.store_place import local_path

# Seconds. A busy machine may take long to start a process.
PATIENCE = 180
# How often a test kills a watcher.
KILLS = int(os.environ.get("ULLAGE_KILLS", "12"))


def turns(count: int) -> list[JsonObject]:
    """Returns the lines of so many turns; the prompts and answers have the ids `u0`, `u1`, and so on."""
    lines: list[JsonObject] = []
    for number in range(0, 2 * count, 2):
        parent = f"u{number - 1}" if number else None
        usage = {"input_tokens": 1_000 + 100 * number, "output_tokens": 5}
        lines += [
            line("user", f"u{number}", parent, f"Question {number}?", cwd="/home/user/project"),
            line(
                "assistant",
                f"u{number + 1}",
                f"u{number}",
                [say(f"Answer {number}.")],
                id=f"u{number + 1}",
                usage=usage,
                stop_reason="end_turn",
            ),
        ]
    return lines


class Watcher:
    """A running `ullage watch --json`. Its rows are put into `rows`. `store` is by default a file in the home. Its user
    wants agents' files kept."""

    def __init__(self, home: Path, rows: "Queue[dict[str, Any]]", store: str = "") -> None:
        self._rows = rows
        store = store or str(home / "store.db")
        Keeping(local_path(store)).answer(keep=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ullage", "--store", store, "watch", "--json"],
            env={**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for row in out:
                self._rows.put(json.loads(row))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)


def wait_for(rows: "Queue[dict[str, Any]]", messages: int) -> dict[str, Any]:
    """Returns the first row that says that the conversation has so many messages. Raises `Empty` if none comes. A row
    has no number of messages while the end of a file is not stored yet."""
    while ((row := rows.get(timeout=PATIENCE))["messages"] or 0) < messages:
        pass
    return row


def log_in(home: Path) -> Path:
    path = home / ".claude" / "projects" / "-home-user-project" / "11111111-2222-3333-4444-555555555555.jsonl"
    path.parent.mkdir(parents=True)
    return path


def archived(home: Path, session_id: str = "", origin_id: str = "") -> dict[Path, int]:
    """Returns the files of a conversation that the archive has, with the bytes that it has of each."""
    with SqliteOriginals(home / "store.db.archive") as originals:
        found = originals.find(session_id=session_id) if session_id else originals.find(origin_id=origin_id)
    return {Path(one.source.path): one.versions[-1].size for one in found}
