"""A prune removes the oldest conversations, and nothing that another one needs."""

from pathlib import Path
from random import Random

from msgspec.structs import replace

from ullage.service.ports.originals import Source
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


def test_the_oldest_are_removed_until_the_archive_is_small_enough(tmp_path: Path) -> None:
    with SqliteOriginals(tmp_path / "a") as originals:
        for number in range(5):
            keep(originals, f"/{number}.jsonl", noise(number))
        before = originals.size()
        pruning = originals.plan_prune(None, before // 2)
        assert pruning.paths == ("/0.jsonl", "/1.jsonl", "/2.jsonl")
        originals.prune(pruning)
        assert originals.size() <= before // 2
        assert abs(before - originals.size() - pruning.freed) < before // 10
        assert [one for n in range(5) for one in originals.find(path=f"/{n}.jsonl") if one.source.path < "/3"] == []
        (left,) = originals.find(path="/4.jsonl")
        assert b"".join(originals.read(left.versions[0].version_id)) == noise(4)
    assert (tmp_path / "a").stat().st_size <= before // 2


def test_files_that_belong_to_a_conversation_go_with_it(tmp_path: Path) -> None:
    with SqliteOriginals(tmp_path / "a") as originals:
        keep(originals, "/main.jsonl", b"1\n")
        keep(originals, "/main/agent.jsonl", b"2\n", owner="/main.jsonl")
        originals.prune(originals.plan_prune(2**60, None))
        assert originals.find(path="/main/agent.jsonl") == ()
        assert originals.rooms() == ()


def test_what_a_fork_needs_stays(tmp_path: Path) -> None:
    with SqliteOriginals(tmp_path / "a") as originals:
        keep(originals, "/parent.jsonl", noise(1))
        fork = keep(originals, "/fork.jsonl", noise(1) + noise(2))
        pruning = originals.plan_prune(None, originals.size() - 1)
        # The parent alone frees nothing, so the fork is needed, too.
        assert pruning.paths == ("/parent.jsonl", "/fork.jsonl")
        originals.prune(replace(pruning, paths=("/parent.jsonl",)))
        assert b"".join(originals.read(fork)) == noise(1) + noise(2)


def test_a_pruned_file_is_known_until_it_changes(tmp_path: Path) -> None:
    with SqliteOriginals(tmp_path / "a") as originals:
        keep(originals, "/a.jsonl", b"1\n")
        originals.prune(originals.plan_prune(2**60, None))
        assert originals.stats() == {"/a.jsonl": (2, 1, 2)}
        assert originals.latest("/a.jsonl") is None
