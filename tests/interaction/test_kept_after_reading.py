"""The archive keeps files once they were read: a user waits for the sessions, and not for the archive."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from support.follower_ports import follower_ports
from support.log_trees import to_bytes
from support.memory_store import MemoryStore
from support.session_log import line
from support.workspace import PATIENCE, build_test_client
from ullage.model.usage import FollowedRow
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.follow.keep_originals import OriginalsKeeper
from ullage.service.ports.agent_files import FoundFile, KeptPorts
from ullage.store.originals.sqlite_originals import SqliteOriginals
from ullage.system.growing_files import AgentOriginals, GrowingFiles

_MESSAGES = 60


class _Noting(OriginalsKeeper):
    """A keeper that notes how many messages the store has when it begins."""

    def __init__(self, folder: Path, store: MemoryStore) -> None:
        opening = lambda: SqliteOriginals(folder / "archive.db")  # noqa: E731
        super().__init__(KeptPorts(open=opening, files=AgentOriginals(), find=list), None)
        self._store = store
        self.began_with = list[int]()
        self.has_begun = asyncio.Event()

    async def run(self) -> None:
        self.began_with += [info.messages for info in self._store.list()]
        self.has_begun.set()


async def test_the_archive_begins_when_large_files_were_read_to_their_ends(tmp_path: Path) -> None:
    logs = [tmp_path / f"{name}.jsonl" for name in ("one", "two", "three")]
    for log in logs:
        common = {"sessionId": log.stem, "cwd": "/home/user/project"}
        ids = [f"{log.stem}-{number}" for number in range(_MESSAGES)]
        prompts = [
            line("user", own, parent, f"{own}?", **common) for own, parent in zip(ids, [None, *ids], strict=False)
        ]
        log.write_bytes(to_bytes(prompts))

    def find(seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
        return [FoundFile(path=log, agent="Claude Code", origin_id=log.stem) for log in logs]

    store = MemoryStore()
    keeper, rows = _Noting(tmp_path, store), list[FollowedRow]()
    # A piece has a few lines, and of three files two are read on at a time.
    ports = follower_ports(tmp_path, find, files=GrowingFiles(2_000))
    follower = AgentFollower(build_test_client(store=store).workspace, ports, rows.append, 3600, keeper)
    task = asyncio.create_task(follower.run())
    try:
        await asyncio.wait_for(keeper.has_begun.wait(), PATIENCE)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert keeper.began_with == [_MESSAGES] * 3
