"""A store whose server is away: the copy on this machine is continued, and is sent when the server is back."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from support.logs import conversation, fork, message, records
from support.machines import Machine
from ullage.model.errors import StoreUnavailable
from ullage.model.events import MessageAppended
from ullage.store import SqliteStore, open_store
from ullage.store.offline.local_copy import catch_up, open_copy
from ullage.store.offline.offline_store import CopyOptions, Upkeep


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path / "server.db") as store:
        yield store


@pytest.fixture
def here(tmp_path: Path, server: SqliteStore) -> Iterator[Machine]:
    yield from machine(tmp_path / "here", server)


@pytest.fixture
def there(tmp_path: Path, server: SqliteStore) -> Iterator[Machine]:
    yield from machine(tmp_path / "there", server)


def machine(folder: Path, server: SqliteStore) -> Iterator[Machine]:
    folder.mkdir()
    made = Machine(folder, server.path)
    yield made
    made.close()


def texts(store: Any, session_id: str) -> list[str]:
    """Returns the ids of a session's messages."""
    return [r.event.message.id for r in store.read(session_id) if isinstance(r.event, MessageAppended)]


def told(of: Machine) -> list[str]:
    return [news.kind for news in of.store.take_news()]


def test_a_session_goes_on_without_its_server_and_is_there_when_the_server_is_back(
    server: SqliteStore, here: Machine
) -> None:
    here.store.create("s", conversation("one"))
    here.line.is_cut = True
    here.add("s", message("two"))
    here.store.create("new", conversation("other"))
    here.store.save_snapshot("s", 2, b"folded")
    assert texts(here.store, "s") == ["m0", "two"]
    assert [hit.message_id for hit in here.store.search("other", "new")] == ["m0"]
    assert told(here) == ["offline"]
    assert texts(server, "s") == ["m0"]
    here.mend()
    assert texts(server, "s") == ["m0", "two"]
    assert server.open("s").snapshot == b"folded"
    assert server.info("new").messages == 1
    assert told(here) == ["caught_up"]
    here.add("s", message("three"))
    assert texts(server, "s") == ["m0", "two", "three"]


def test_what_was_not_sent_is_sent_by_the_next_program(server: SqliteStore, here: Machine) -> None:
    here.store.create("s", conversation("one"))
    here.line.is_cut = True
    here.add("s", message("two"))
    here.restart()
    assert texts(here.store, "s") == ["m0", "two"]
    here.add("s", message("three"))
    here.line.is_cut = False
    here.restart()
    assert texts(server, "s") == ["m0", "two", "three"]
    assert told(here) == ["caught_up"]
    here.restart()
    assert told(here) == []


def test_a_write_whose_answer_was_lost_is_not_made_twice(server: SqliteStore, here: Machine) -> None:
    here.line.loses_answer = True
    here.store.create("s", conversation("one"))
    here.mend()
    assert texts(server, "s") == ["m0"]
    here.line.loses_answer = True
    here.store.append("s", records(message("two"), start=2))
    here.add("s", message("three"))
    here.mend()
    assert texts(server, "s") == ["m0", "two", "three"]
    assert server.find_ids("") == ("s",)


def test_a_session_that_another_machine_continued_too_becomes_a_fork(
    server: SqliteStore, here: Machine, there: Machine
) -> None:
    here.store.create("s", conversation("one", title="Walnut"))
    there.store.open("s")
    here.line.is_cut = True
    here.add("s", message("mine"))
    here.add("s", message("mine too"))
    here.store.create("f", fork("s", 3, message("forked")))
    here.store.create("g", fork("f", 3, message("forked again")))
    there.add("s", message("theirs"))
    here.mend()
    assert texts(server, "s") == ["m0", "theirs"]
    (mine,) = set(server.find_ids("")) - {"s", "f", "g"}
    assert texts(server, mine) == ["m0", "mine", "mine too"]
    assert (server.info(mine).parent_id, server.info(mine).title) == ("s", "Walnut (offline)")
    assert texts(server, "f") == ["m0", "mine", "mine too", "forked"]
    assert texts(server, "g") == ["m0", "mine", "mine too", "forked again"]
    caught_up, *forked = list(here.store.take_news())[-2:]
    assert caught_up.moved == {"s": mine, "f": "f", "g": "g"}
    assert [mine in news.text for news in forked] == [True]
    # Both are continued, here and there.
    for name in (mine, "s", "f", "g"):
        here.add(name, message(f"more of {name}"))
    here.line.is_cut = True
    assert texts(here.store, "s") == ["m0", "theirs", "more of s"]
    assert texts(here.store, "g")[-1] == "more of g"


def test_a_session_that_was_deleted_meanwhile_becomes_one_of_its_own(
    server: SqliteStore, here: Machine, there: Machine
) -> None:
    here.store.create("s", conversation("one"))
    here.store.create("f", fork("s", 1, message("forked")))
    here.line.is_cut = True
    here.add("s", message("mine"))
    here.add("f", message("mine too"))
    there.store.delete("f")
    there.store.delete("s")
    here.mend()
    kept = sorted(texts(server, name) for name in server.find_ids(""))
    assert kept == [["m0", "forked", "mine too"], ["m0", "mine"]]


def test_a_fork_goes_on_whose_parent_was_deleted_meanwhile(server: SqliteStore, here: Machine, there: Machine) -> None:
    here.store.create("s", conversation("one"))
    here.store.create("f", fork("s", 1, message("forked")))
    here.line.is_cut = True
    here.add("s", message("mine"))
    here.add("f", message("mine too"))
    here.store.create("g", fork("s", 2, message("new")))
    there.store.delete("s")
    here.mend()
    kept = sorted(texts(server, name) for name in server.find_ids(""))
    assert kept == [["m0", "forked", "mine too"], ["m0", "mine"], ["m0", "mine", "new"]]
    assert texts(server, "f") == ["m0", "forked", "mine too"]


def test_a_session_deleted_without_the_server_is_deleted_unless_it_was_continued(
    server: SqliteStore, here: Machine, there: Machine
) -> None:
    for name in ("s", "t", "new"):
        if name == "new":
            here.line.is_cut = True
        here.store.create(name, conversation("one"))
    for name in ("s", "t", "new"):
        here.store.delete(name)
    there.add("t", message("theirs"))
    here.mend()
    assert server.find_ids("") == ("t",)
    assert "still there: t" in here.store.take_news()[-1].text


def test_a_server_that_was_restored_from_a_backup_gets_what_it_lacks(
    server: SqliteStore, here: Machine, tmp_path: Path
) -> None:
    here.store.create("s", conversation("one"))
    here.add("s", message("two"))
    here.add("s", message("three"))
    here.line.is_cut = True
    here.add("s", message("four"))
    here.close()
    with open_store(tmp_path / "backup.db") as backup, open_copy(here.file) as local:
        backup.create("s", conversation("one"))
        catch_up(local, backup)
        assert texts(backup, "s") == ["m0", "two", "three", "four"]
    here.restart()


def test_a_session_that_is_not_here_is_not_continued_at_a_wrong_place(server: SqliteStore, here: Machine) -> None:
    here.store.create("s", conversation("one"))
    server.create("other", conversation("one"))
    server.append("s", records(message("two"), start=2))
    here.line.is_cut = True
    for call in (
        lambda: here.store.open("other"),
        lambda: here.store.append("other", records(message("x"), start=2)),
        lambda: here.store.append("s", records(message("x"), start=3)),
    ):
        with pytest.raises(StoreUnavailable, match="server can't be reached"):
            call()
    here.mend()
    assert texts(server, "s") == ["m0", "two"]


LIMIT = 400_000


def large(*names: str) -> list[MessageAppended]:
    """Returns messages whose rows have about 20 kB, compressed."""
    return [message(name, Random(name).randbytes(20_000).hex()) for name in names]


@pytest.fixture
def small(tmp_path: Path, server: SqliteStore) -> Iterator[Machine]:
    """A machine with a copy of at most 400 kB."""
    (tmp_path / "small").mkdir()
    made = Machine(tmp_path / "small", server.path, LIMIT)
    yield made
    made.close()


def test_a_full_copy_drops_what_was_not_used_for_longest_and_gets_it_again_when_it_is_used(
    server: SqliteStore, small: Machine
) -> None:
    names = [f"s{number}" for number in range(12)]
    for name in names:
        server.create(name, [*conversation("one"), *records(*large("m1", "m2"), start=2)])
    for name in names:
        small.store.open(name)
        with open_copy(small.file) as local:
            assert local.size() <= LIMIT
    small.line.is_cut = True
    assert texts(small.store, "s11") == ["m0", "m1", "m2"]
    # It is listed, and says that it is not whole here; the figures of half a conversation would be wrong.
    assert {info.session_id for info in small.store.list()} == set(names)
    for use in (lambda: small.store.open("s0"), lambda: small.add("s0", message("x"))):
        with pytest.raises(StoreUnavailable, match="not whole on this machine"):
            use()
    small.mend()
    small.store.open("s0")
    small.line.is_cut = True
    assert texts(small.store, "s0") == ["m0", "m1", "m2"]


def test_no_room_is_made_by_what_the_server_lacks_or_what_a_fork_here_begins_with(
    server: SqliteStore, small: Machine
) -> None:
    server.create("unsent", [*conversation("one"), *records(*large("m1"), start=2)])
    server.create("parent", [*conversation("one"), *records(*large("p1"), start=2)])
    small.store.open("unsent")
    small.store.open("parent")
    small.line.is_cut = True
    small.add("unsent", message("mine"))
    small.store.create("fork", fork("parent", 2, message("f1")))
    with open_copy(small.file) as local:
        assert local.make_room(0) == 0
    small.mend()
    assert texts(server, "unsent") == ["m0", "m1", "mine"]
    assert texts(server, "fork") == ["m0", "p1", "f1"]
    with open_copy(small.file) as local:
        # The fork, then what it begins with; what was used last stays.
        assert local.make_room(0) == 2


def test_without_room_only_the_beginning_of_a_conversation_that_has_a_file_is_copied(
    server: SqliteStore, small: Machine
) -> None:
    server.create("used", [*conversation("one"), *records(*large(*(f"m{n}" for n in range(30))), start=2)])
    server.create("filed", [*conversation("one"), *records(*(message(f"f{n}") for n in range(9)), start=2)])
    small.store.open("used")
    with open_copy(small.file) as local, open_store(server.path) as remote:
        Upkeep(small.file, lambda _: False, CopyOptions(limit=LIMIT)).copy_now(remote, local, "filed", is_used=False)
        assert (local.is_cut("filed"), len(local.copied_records("filed", -1, 99))) == (True, 1)
