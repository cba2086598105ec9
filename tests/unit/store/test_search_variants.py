"""Search: other forms of a word are found, and mistyped words of which the archive has none."""

import pytest

from support.logs import conversation
from ullage.store import SqliteStore


def ids(store: SqliteStore, query: str) -> list[str]:
    return [hit.message_id for hit in store.search(query)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("buy", "we bought a licence"),
        ("where did it go", "it went to the cache"),
        ("plan", "planning the release"),
        ("planned", "the plan of the release"),
        ("index", "both indices are stale"),
    ],
)
def test_another_form_of_a_word_is_found(sqlite_store: SqliteStore, query: str, text: str) -> None:
    sqlite_store.create("s", conversation("nothing of that", text))
    assert ids(sqlite_store, query) == ["m1"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("exeption", "an exception in the loop"),
        ("conection pool", "the connection is closed"),
        ("recieve", "we receive two frames"),
        ("databse", "a database is locked"),
        ("xception", "an exception in the loop"),
        ("timeoutt", "the timeout is short"),
        ("middlewere", "a middleware runs first"),
    ],
)
def test_a_mistyped_word_is_found(sqlite_store: SqliteStore, query: str, text: str) -> None:
    sqlite_store.create("s", conversation("nothing of that", text, "other things"))
    assert ids(sqlite_store, query) == ["m1"]


def test_a_mistyped_word_is_marked_in_the_snippet(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("an exception in the loop"))
    (hit,) = sqlite_store.search("exeption")
    assert "an **exception** in" in hit.snippet


def test_a_word_that_the_archive_has_is_not_taken_for_another(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("the casting of types", "the costing of runs"))
    assert ids(sqlite_store, "casting") == ["m0"]


def test_a_word_that_begins_another_is_not_mistyped(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("annotations are kept", "a rotation of keys, an anotat"))
    assert ids(sqlite_store, "annotat") == ["m0"]


def test_short_words_numbers_and_other_scripts_are_not_mistyped(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("port 54321 of the кошка"))
    assert ids(sqlite_store, "sort") == []
    assert ids(sqlite_store, "54322") == []
    assert ids(sqlite_store, "мошка") == []


@pytest.mark.parametrize(
    "query",
    [
        "parse http header",
        "parse_http_header",
        "parse-http-header",
        "parseHttpHeader",
        "http header",
        "where is header?",
    ],
)
def test_a_name_is_found_as_it_is_spoken_and_by_parts(sqlite_store: SqliteStore, query: str) -> None:
    sqlite_store.create("s", conversation("nothing", "see parseHTTPHeader here", "nothing either"))
    assert ids(sqlite_store, query)[0] == "m1"


def test_a_path_is_found_by_its_file(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("nothing", "in server/pool/keep_alive.py:12", "keep it alive"))
    assert ids(sqlite_store, "keep_alive.py")[0] == "m1"
    assert ids(sqlite_store, "keep alive")[0] == "m1"
