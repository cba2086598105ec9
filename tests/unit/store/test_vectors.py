"""Vectors of chunks: kept per model, replaced, bounded, and gone with their messages."""

from contextlib import closing

from support.logs import conversation
from ullage.model.events import Record, SessionConfigured
from ullage.service.ports.store import SessionStore
from ullage.store import SqliteStore
from ullage.store.search.word_index import load_vectors, save_vectors
from ullage.store.sqlite.database import reconnect
from ullage.store.sqlite.sqlite_store import Fts5Index


def test_vectors_are_kept_for_each_model_and_replaced(store: SessionStore) -> None:
    store.create("s", conversation("a walnut", "another walnut"))
    store.search("walnut")
    one, two = sorted(passage.id for passage in store.find_passages("walnut"))
    store.save_vectors("m", {one: b"\x01\x80", two: b"\x02\x7f"})
    store.save_vectors("n", {one: b"\x05"})
    store.save_vectors("m", {two: b"\x03\x03"})
    assert store.load_vectors("m", [one, two]) == {one: b"\x01\x80", two: b"\x03\x03"}
    assert store.load_vectors("n", [one, two]) == {one: b"\x05"}
    assert store.load_vectors("m", []) == {}


def test_what_is_found_comes_with_the_text_that_matches(store: SessionStore) -> None:
    store.create("s", conversation("a walnut", "an almond"))
    store.search("walnut")
    assert [(one.hit.index, one.text, one.chunk) for one in store.find_passages("walnut")] == [(0, "a walnut", 0)]


def test_settings_that_sessions_have_of_their_own_are_told(store: SessionStore) -> None:
    store.create("s", conversation("a walnut"))
    assert store.own_settings() == ()
    own = {"privatePatterns": ["wal"]}
    store.append("s", [Record(position=2, timestamp=9, event=SessionConfigured(context=own))])
    assert store.own_settings() == (own,)


def test_vectors_go_with_their_session_and_none_comes_later(store: SessionStore) -> None:
    store.create("s", conversation("a walnut"))
    store.search("walnut")
    (passage,) = store.find_passages("walnut")
    store.save_vectors("m", {passage.id: b"\x01"})
    store.delete("s")
    assert store.load_vectors("m", [passage.id]) == {}
    store.save_vectors("m", {passage.id: b"\x01"})
    assert store.load_vectors("m", [passage.id]) == {}


def test_the_oldest_vectors_go_above_the_bound(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation(*(f"walnut {number}" for number in range(6))))
    sqlite_store.search("walnut")
    ids = sorted(passage.id for passage in sqlite_store.find_passages("walnut"))
    with closing(reconnect(sqlite_store.path)) as connection:
        index = Fts5Index(connection)
        for number, chunk in enumerate(ids):
            save_vectors(index, "m", {chunk: bytes([number])}, most=4)
        assert sorted(load_vectors(index, "m", ids).values()) == [b"\x02", b"\x03", b"\x04", b"\x05"]
