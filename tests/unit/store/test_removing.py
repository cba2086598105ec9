"""Removing conversations from the archive frees their room, and takes nothing that another one needs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

from ullage.service.ports.agent_files import Source
from ullage.store.originals.packed_blocks import Blocks
from ullage.store.originals.sqlite_originals import SqliteOriginals


def keep(originals: SqliteOriginals, path: str, data: bytes, owner: str = "") -> int:
    kept = originals.begin(Source(path=path, agent="Codex", owner=owner))
    originals.append(kept.version_id, 0, data, b"", pack=True)
    originals.settle(kept.version_id, (len(data), 1, 2), b"")
    return kept.version_id


def noise(seed: int, size: int = 200_000) -> bytes:
    random = Random(seed)
    return b"".join(random.randbytes(500).hex().encode() + b"\n" for _ in range(size // 1_000))


def paths(originals: SqliteOriginals) -> list[str]:
    return sorted(originals.stats())


def test_the_oldest_are_listed_first_with_what_they_free(tmp_path: Path) -> None:
    with SqliteOriginals(tmp_path / "a") as originals:
        for number in range(5):
            keep(originals, f"/{number}.jsonl", noise(number))
        before, listed = originals.size(), originals.conversations()
        assert [one.path for one in listed] == [f"/{number}.jsonl" for number in range(5)]
        originals.remove(["/0.jsonl", "/1.jsonl", "/2.jsonl"])
        freed = sum(one.frees for one in listed[:3])
        assert abs(before - originals.size() - freed) < before // 10
        assert [one for n in range(5) for one in originals.find(path=f"/{n}.jsonl") if one.source.path < "/3"] == []
        (left,) = originals.find(path="/4.jsonl")
        assert b"".join(originals.read(left.versions[0].version_id)) == noise(4)
    assert (tmp_path / "a").stat().st_size <= before // 2


def test_files_that_belong_to_a_conversation_go_with_it(tmp_path: Path) -> None:
    with SqliteOriginals(tmp_path / "a") as originals:
        keep(originals, "/main.jsonl", b"1\n")
        keep(originals, "/main/agent.jsonl", b"2\n", owner="/main.jsonl")
        (one,) = originals.conversations()
        assert (one.path, one.files, one.size) == ("/main.jsonl", 2, 4)
        originals.remove([one.path])
        assert originals.find(path="/main/agent.jsonl") == ()
        assert originals.rooms() == ()


def test_what_a_fork_needs_stays_and_no_more(tmp_path: Path) -> None:
    with SqliteOriginals(tmp_path / "a") as originals:
        keep(originals, "/parent.jsonl", noise(1) + noise(3))
        fork = keep(originals, "/fork.jsonl", noise(1) + noise(2))
        originals.remove(["/parent.jsonl"])
        assert b"".join(originals.read(fork)) == noise(1) + noise(2)
        again = keep(originals, "/again.jsonl", noise(3))
        assert b"".join(originals.read(again)) == noise(3)
    with closing(sqlite3.connect(tmp_path / "a")) as connection:
        blocks = Blocks(connection)
        held = b"".join(blocks.content(number) for (number,) in connection.execute("SELECT block_id FROM blocks"))
    assert held.count(noise(3)[:900]) == 1
