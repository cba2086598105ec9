"""`ullage watch` as a real process, where following is hardest: nothing is lost or doubled, and agents' files stay."""

import asyncio
import hashlib
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from support.log_trees import to_bytes
from support.panes import wait_until
from support.session_log import JsonObject, line, say
from support.systems import needs_linux
from support.watching import PATIENCE, watching
from ullage.model.events import MessageAppended
from ullage.store import open_store

# Sessions that grow at once. All 200 take half a minute on two processors.
AT_ONCE = int(os.environ.get("ULLAGE_AT_ONCE", "40"))

# Seconds between two looks whether the disk is full, while a row is waited for.
_LOOK_EVERY = 0.5


def turns(name: str, count: int) -> list[JsonObject]:
    """Returns the lines of so many turns. Their messages have the ids `NAME-0`, `NAME-1` and so on."""
    lines: list[JsonObject] = []
    for number in range(0, 2 * count, 2):
        ids = f"{name}-{number}", f"{name}-{number + 1}"
        parent = f"{name}-{number - 1}" if number else None
        usage = {"input_tokens": 1_000 + 100 * number, "output_tokens": 5}
        common: JsonObject = {"sessionId": name, "cwd": "/home/user/project"}
        lines.append(line("user", ids[0], parent, f"Question {number} of {name}?", **common))
        answer = [say(f"Answer {number}. " + "It is so. " * 40)]
        lines.append(
            line("assistant", ids[1], ids[0], answer, id=ids[1], usage=usage, stop_reason="end_turn", **common)
        )
    return lines


class Home:
    """A home folder with conversations of Claude Code that a test makes grow."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        # What is stored comes into this file first.
        self.log_ahead = folder / "store.db-wal"
        self.logs = folder / ".claude" / "projects" / "-home-user-project"
        self.logs.mkdir(parents=True)
        self.environment = {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / ".claude")}

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.jsonl"

    def add(self, name: str, lines: list[JsonObject]) -> None:
        with self.log(name).open("ab") as file:
            file.write(to_bytes(lines))

    def kept(self) -> Mapping[str, tuple[str, int]]:
        """Returns the hash and the time of the last change of each file in the agent's folder."""
        files = (file for file in self.logs.rglob("*") if file.is_file())
        return {file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in files}

    def said(self) -> dict[str, list[str]]:
        """Returns the ids of the messages of each session, by the name in them."""
        found: dict[str, list[str]] = {}
        with open_store(self.store) as store:
            for info in store.list(limit=1_000):
                events = (record.event for record in store.read(info.session_id))
                ids = [event.message.id for event in events if isinstance(event, MessageAppended)]
                # A second session of the same conversation would have its messages twice.
                found.setdefault(ids[0].rpartition("-")[0], []).extend(ids)
        return found


def all_of(name: str, count: int) -> list[str]:
    return [f"{name}-{number}" for number in range(2 * count)]


async def test_many_conversations_that_grow_at_once_all_come_once(tmp_path: Path) -> None:
    home, count = Home(tmp_path), 4
    names = [f"{number:08d}-0000-0000-0000-000000000000" for number in range(AT_ONCE)]
    lines = {name: turns(name, count) for name in names}
    with watching(home.store, home.environment) as rows:
        waiting = set(names)
        for at in range(0, 2 * count, 2):
            for name in names:
                home.add(name, lines[name][at : at + 2])
        last = 1_000 + 100 * 2 * (count - 1) + 5
        while waiting:
            row = await rows.until(lambda row: row["used"] == last and row["messages"] is not None)
            waiting.discard(row["agent_session_id"])
        # The row has an answer at once; the session gets it when the file has been quiet for a second.
        wait_until(lambda: home.said() == {name: all_of(name, count) for name in names})
    kept = home.kept()
    assert home.said() == {name: all_of(name, count) for name in names}
    assert home.kept() == kept
    assert {file.name for file in home.logs.iterdir()} == {f"{name}.jsonl" for name in names}


@needs_linux
async def test_what_does_not_fit_on_a_full_disk_is_stored_as_soon_as_there_is_room(tmp_path: Path) -> None:
    home, name = Home(tmp_path), "11111111-2222-3333-4444-555555555555"
    count = 100
    lines = turns(name, count)
    home.add(name, lines[:2])
    with watching(home.store, home.environment) as rows:
        await rows.until(lambda row: row["used"] == 1_005)
    # SQLite's write-ahead log has grown to this size at least; a page more can't be written.
    full = max(file.stat().st_size for file in tmp_path.glob("store.db*")) + 100_000
    with watching(home.store, home.environment, [f"--fsize={full}:unlimited"]) as rows:

        async def comes(used: int) -> bool:
            """Waits for the row with this size. Returns False if there is none because the disk is full."""
            async with asyncio.timeout(PATIENCE):
                while home.log_ahead.stat().st_size < full:
                    with suppress(AssertionError):
                        await rows.until(lambda row: row["used"] == used, _LOOK_EVERY)
                        return True
            return False

        stored = 0
        for at in range(2, 2 * count, 2):
            home.add(name, lines[at : at + 2])
            if not await comes(1_005 + 100 * at):
                break
            stored = at
        assert 0 < stored < 2 * count - 2, "the disk was never full"
        home.add(name, lines[stored + 4 :])
        kept = home.kept()
        subprocess.run(["prlimit", "--pid", str(rows.process_id), "--fsize=unlimited"], check=True)
        last = 1_000 + 100 * (2 * count - 2) + 5
        await rows.until(lambda row: row["used"] == last and row["messages"] is not None)
        # The row shows the last answer at once; the session gets it when the file has been quiet for a second.
        async with asyncio.timeout(PATIENCE):
            while home.said() != {name: all_of(name, count)}:
                with suppress(AssertionError):
                    await rows.until(lambda _: False, _LOOK_EVERY)
    assert home.said() == {name: all_of(name, count)}
    assert home.kept() == kept
