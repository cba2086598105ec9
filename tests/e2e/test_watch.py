"""`ullage watch` as a real process: what agents write appears, once, whatever becomes of the watchers."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from random import Random
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.command_line import ullage
from support.log_trees import to_bytes
from support.panes import wait_until
from support.systems import needs_signals
from support.watcher import KILLS, PATIENCE, Watcher, archived, log_in, turns, wait_for
from ullage.store import open_store
from ullage.store.originals.sqlite_originals import SqliteOriginals


def said_in(home: Path) -> Sequence[str]:
    """Returns the ids of the messages of the only session."""
    with open_store(home / "store.db") as store:
        (session,) = store.list()
        return [record.event.message.id for record in store.read_messages(session.session_id, 0, 10_000)]  # type: ignore[union-attr]


def test_a_conversation_that_goes_on_is_printed_at_each_change(tmp_path: Path) -> None:
    path, lines, rows = log_in(tmp_path), turns(3), Queue[dict[str, Any]]()
    watcher = Watcher(tmp_path, rows)
    try:
        path.write_bytes(to_bytes(lines[:3]))
        row = wait_for(rows, 3)
        assert (row["agent"], row["used_source"], row["window"]) == ("Claude Code", "stale", 200_000)
        with path.open("ab") as file:
            file.write(to_bytes(lines[3:]))
        later = wait_for(rows, 5)
        assert later["session_id"] == row["session_id"]
        # The row has an answer at once; the session gets it when the file has been quiet for a second.
        wait_until(lambda: len(said_in(tmp_path)) == later["messages"])
    finally:
        watcher.kill()
    shown = ullage("context", row["session_id"], "--store", tmp_path / "store.db", "--json").json
    assert (shown["used"], shown["percent"]) == (later["used"], later["percent"])


@needs_signals
@pytest.mark.parametrize(
    "ends", [os.pipe, lambda: [one.detach() for one in socket.socketpair()]], ids=["pipe", "socket"]
)
def test_a_watcher_ends_with_its_reader_though_nothing_changes(
    tmp_path: Path, ends: Callable[[], Sequence[int]]
) -> None:
    log_in(tmp_path).write_bytes(to_bytes(turns(1)))
    read, written = ends()
    environment = {**os.environ, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    command = [sys.executable, "-m", "ullage", "--store", str(tmp_path / "store.db"), "watch", "--json"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=written) as watcher:
        os.close(written)
        try:
            assert os.read(read, 1)
        finally:
            os.close(read)
        try:
            watcher.wait(PATIENCE)
        finally:
            watcher.kill()


def test_a_compaction_is_printed_when_a_hook_says_that_it_begins_and_when_the_agent_writes_that_it_has_ended(
    tmp_path: Path,
) -> None:
    path, rows = log_in(tmp_path), Queue[dict[str, Any]]()
    log = ClaudeLog(session=path.stem)
    log.now = time.time_ns() // 1_000_000 - 180_000
    path.write_bytes(log.ask("Why?").answer(9_000).data)
    watcher = Watcher(tmp_path, rows)
    try:
        assert wait_for(rows, 2)["nearness"] == "far"
        told = {"hook_event_name": "PreCompact", "session_id": path.stem, "transcript_path": str(path)}
        ullage("hook", "claude-code", "--store", tmp_path / "store.db", stdin=json.dumps(told).encode())
        while rows.get(timeout=PATIENCE)["nearness"] != "compacting":
            pass
        log.now += 180_000
        path.write_bytes(log.compact(9_000).data)
        while rows.get(timeout=PATIENCE)["nearness"] != "far":
            pass
    finally:
        watcher.kill()


def test_a_list_says_that_an_agent_compacts_until_it_writes_although_nobody_follows(tmp_path: Path) -> None:
    path, store = log_in(tmp_path), tmp_path / "store.db"
    log = ClaudeLog(session=path.stem)
    log.now = time.time_ns() // 1_000_000 - 180_000
    path.write_bytes(log.ask("Why?").answer(9_000).data)
    home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}

    def nearness() -> str | None:
        (row,) = ullage("--store", store, "--json", env=home).json["elsewhere"]
        return row["nearness"]

    told = {"hook_event_name": "PreCompact", "session_id": path.stem, "transcript_path": str(path)}
    ullage("hook", "claude-code", "--store", store, stdin=json.dumps(told).encode())
    assert nearness() == "compacting"
    path.write_bytes(log.compact(9_000).data)
    assert nearness() is None


def test_watchers_that_are_killed_lose_and_double_nothing_and_keep_every_byte_once(tmp_path: Path) -> None:
    random, rows = Random(7), Queue[dict[str, Any]]()
    path, lines = log_in(tmp_path), turns(KILLS * 3)
    whole, at = to_bytes(lines), 0
    path.touch()
    watchers = [Watcher(tmp_path, rows) for _ in range(2)]
    try:
        for _ in range(KILLS):
            with path.open("ab") as file:
                at += file.write(whole[at : at + random.randrange(len(whole) // KILLS)])
            with suppress(Empty):
                rows.get(timeout=random.random())
            watchers.pop(random.randrange(2)).kill()
            watchers.append(Watcher(tmp_path, rows))
        with path.open("ab") as file:
            file.write(whole[at:])
        wait_for(rows, len(lines))
        # The row has an answer at once; the session gets it when the file has been quiet for a second.
        wait_until(lambda: len(said_in(tmp_path)) == len(lines))
        wait_until(lambda: archived(tmp_path, origin_id=path.stem) == {path: len(whole)})
    finally:
        for watcher in watchers:
            watcher.kill()
    assert said_in(tmp_path) == [f"u{number}" for number in range(len(lines))]
    with SqliteOriginals(tmp_path / "store.db.archive") as originals:
        (original,) = originals.find(path=str(path))
        assert [version.size for version in original.versions] == [len(whole)]
        assert b"".join(originals.read(original.versions[0].version_id)) == whole
    assert path.read_bytes() == whole


def test_a_second_watcher_shows_what_the_first_one_follows(tmp_path: Path) -> None:
    path, lines = log_in(tmp_path), turns(3)
    path.write_bytes(to_bytes(lines[:3]))
    watchers: list[Watcher] = []
    shown: list[Queue[dict[str, Any]]] = [Queue(), Queue()]
    try:
        for rows in shown:
            watchers.append(Watcher(tmp_path, rows))
            wait_for(rows, 3)
        with path.open("ab") as file:
            file.write(to_bytes(lines[3:]))
        first, second = (wait_for(rows, 5) for rows in shown)
    finally:
        for watcher in watchers:
            watcher.kill()
    assert first == second
