"""The contract of `SessionStore`: forks and deletion."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from support.logs import conversation, events, fork, message, records
from ullage.model.errors import ConcurrentAppend, Conflict, InvalidRequest, SessionNotFound
from ullage.model.events import ContextEdited, ConversationImported, EditReverted, ModelChanged, ShortenEdit
from ullage.service.ports.agent_files import Source
from ullage.service.ports.store import SessionStore
from ullage.store.originals.sqlite_originals import Blocks, SqliteOriginals


def test_a_fork_reads_its_parents_log_up_to_the_fork_and_then_its_own(store: SessionStore) -> None:
    parent = conversation("one", "two", "three")
    branch = fork("parent", 2, message("f0", "elsewhere"))
    store.create("parent", parent)
    store.create("fork", branch)
    store.append("parent", records(message("later"), start=4))
    assert store.read("fork") == parent[:3] + branch
    assert store.open("fork").records == parent[:3] + branch
    assert store.read("fork", 1, 4) == parent[1:3] + branch[:1]
    assert store.read("fork", 4) == branch[1:]


def test_a_fork_goes_on_at_its_own_position(store: SessionStore) -> None:
    store.create("parent", conversation("one", "two"))
    store.create("fork", fork("parent", 1))
    with pytest.raises(ConcurrentAppend):
        store.append("fork", records(message("m"), start=2))
    store.append("fork", records(message("m"), start=3))
    assert store.info("fork").messages == 2


def test_a_fork_of_a_fork_resolves_the_whole_chain(store: SessionStore) -> None:
    parent = conversation("one", "two")
    middle = fork("parent", 1, message("f0"), message("f1"))
    last = fork("middle", 3, message("g0"))
    for session_id, log in (("parent", parent), ("middle", middle), ("last", last)):
        store.create(session_id, log)
    assert store.read("last") == parent[:2] + middle[:2] + last
    assert store.info("last").messages == 3


def test_a_fork_may_branch_off_in_what_its_parent_inherited(store: SessionStore) -> None:
    parent = conversation("one", "two", "three")
    store.create("parent", parent)
    store.create("middle", fork("parent", 3))
    store.create("last", fork("middle", 1, message("g0")))
    assert events(store.read("last"))[:2] == events(parent[:2])
    assert store.info("last").messages == 2


def test_a_fork_inherits_folder_and_model_of_where_it_branched_off_but_no_title(store: SessionStore) -> None:
    store.create("parent", conversation("one", title="parent", cwd="/here", model="m-1"))
    store.append("parent", records(ModelChanged(model="m-2"), message("m1"), ModelChanged(model="m-3"), start=2))
    store.create("fork", fork("parent", 3))
    store.create("named", fork("parent", 1, title="mine"))
    info = store.info("fork")
    assert (info.title, info.cwd, info.model, info.messages, info.parent_id) == ("", "/here", "m-2", 2, "parent")
    assert (store.info("named").title, store.info("named").model) == ("mine", "m-1")


@pytest.mark.parametrize("position", [2, 99, -1])
def test_forking_where_the_parent_has_no_record_is_refused(store: SessionStore, position: int) -> None:
    store.create("parent", conversation("one"))
    with pytest.raises(InvalidRequest, match="no position"):
        store.create("fork", fork("parent", position))


def test_forking_an_unknown_session_is_refused(store: SessionStore) -> None:
    with pytest.raises(SessionNotFound):
        store.create("fork", fork("nobody", 0))


def test_a_fork_starts_right_after_the_fork_position(store: SessionStore) -> None:
    store.create("parent", conversation("one", "two"))
    with pytest.raises(ConcurrentAppend):
        store.create("fork", records(fork("parent", 1)[0].event, start=3))


def test_a_parents_snapshot_is_not_its_forks(store: SessionStore) -> None:
    store.create("parent", conversation("one", "two"))
    store.save_snapshot("parent", 1, b"parent's")
    store.create("fork", fork("parent", 1))
    assert store.open("fork").snapshot is None
    store.save_snapshot("fork", 0, b"fork's")
    assert [record.position for record in store.open("fork").records] == [1, 2]


def test_a_deleted_session_is_gone(store: SessionStore) -> None:
    store.create("s", conversation("one"))
    store.delete("s")
    assert store.list() == ()
    with pytest.raises(SessionNotFound):
        store.read("s")
    store.create("s", conversation("again"))
    assert store.info("s").messages == 1


def test_a_deleted_parent_still_serves_its_forks(store: SessionStore) -> None:
    parent = conversation("one", "two")
    store.create("parent", parent)
    store.create("fork", fork("parent", 1))
    store.delete("parent")
    assert [info.session_id for info in store.list()] == ["fork"]
    assert store.read("fork")[:2] == parent[:2]
    assert store.info("fork").parent_id == "parent"
    with pytest.raises(SessionNotFound):
        store.append("parent", records(message("m"), start=3))
    with pytest.raises(SessionNotFound):
        store.create("other", fork("parent", 1))


def test_the_id_of_a_deleted_parent_is_free_once_its_last_fork_is_gone(store: SessionStore) -> None:
    store.create("parent", conversation("one"))
    store.create("middle", fork("parent", 1))
    store.create("last", fork("middle", 2))
    store.delete("parent")
    store.delete("middle")
    with pytest.raises(Conflict):
        store.create("parent", conversation("new"))
    store.delete("last")
    store.create("parent", conversation("new"))
    assert [info.session_id for info in store.list()] == ["parent"]


def test_a_deleted_fork_leaves_its_parent_alone(store: SessionStore) -> None:
    parent = conversation("one")
    store.create("parent", parent)
    store.create("fork", fork("parent", 1))
    store.delete("fork")
    assert store.read("parent") == parent


def test_a_message_is_found_by_its_id_in_a_forks_own_log_and_in_what_it_inherits(store: SessionStore) -> None:
    parent = conversation("one", "two", "three")
    branch = fork("parent", 2, message("f0", "elsewhere"))
    store.create("parent", parent)
    store.create("fork", branch)
    assert store.find_message("parent", "m2") == parent[3]
    assert store.find_message("fork", "m1") == parent[2]
    assert store.find_message("fork", "f0") == branch[1]
    assert [store.find_index("fork", message_id) for message_id in ("m0", "m1", "f0", "m2")] == [0, 1, 2, None]
    assert store.find_message("fork", "m2") is None
    assert store.find_message("parent", "f0") is None
    with pytest.raises(SessionNotFound):
        store.find_message("nobody", "m1")


def test_messages_are_read_by_their_place_across_a_fork(store: SessionStore) -> None:
    parent = conversation("one", "two", "three")
    branch = fork("parent", 2, message("f0", "elsewhere"), message("f1"))
    store.create("parent", parent)
    store.create("fork", branch)
    assert store.read_messages("parent", 1, 3) == parent[2:4]
    assert store.read_messages("fork", 0, 9) == parent[1:3] + branch[1:]
    assert store.read_messages("fork", 2, 3) == branch[1:2]
    assert store.read_messages("fork", 4, 9) == ()
    with pytest.raises(SessionNotFound):
        store.read_messages("nobody", 0, 1)


def test_edits_and_their_reverts_are_read_alone_across_a_fork(store: SessionStore) -> None:
    edit = ContextEdited(edit=ShortenEdit(id="e1", timestamp=0, replacements=()))
    parent = conversation("one") + records(edit, message("m1"), start=2)
    branch = fork("parent", 3, EditReverted(edit_id="e1"), message("f0"))
    store.create("parent", parent)
    store.create("fork", branch)
    assert store.read_edits("parent") == parent[2:3]
    assert store.read_edits("fork") == parent[2:3] + branch[1:2]
    with pytest.raises(SessionNotFound):
        store.read_edits("nobody")


def test_what_says_from_where_a_session_was_imported_is_read_alone_across_a_fork(store: SessionStore) -> None:
    first, second = (ConversationImported(format="f", origin_id=origin) for origin in ("one", "resumed"))
    parent = conversation("one") + records(first, message("m1"), start=2)
    branch = fork("parent", 3, message("f0"), second)
    store.create("parent", parent)
    store.create("fork", branch)
    assert store.read_imports("parent") == parent[2:3]
    assert store.read_imports("fork") == parent[2:3] + branch[2:]
    with pytest.raises(SessionNotFound):
        store.read_imports("nobody")


# Removing conversations from the archive frees their room, and takes nothing that another one needs


def keep(originals: SqliteOriginals, path: str, data: bytes, owner: str = "") -> int:
    kept = originals.begin(Source(path=path, agent="Codex", owner=owner))
    originals.append(kept.version_id, 0, data, b"", pack=True)
    originals.settle(kept.version_id, (len(data), 1, 2), b"")
    return kept.version_id


def noise(seed: int, size: int = 200_000) -> bytes:
    random = Random(seed)
    return b"".join(random.randbytes(500).hex().encode() + b"\n" for _ in range(size // 1_000))


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
