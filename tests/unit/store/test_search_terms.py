"""The weights of a query's words: in a large store the rare ones find, and the common ones count in what these find."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.logs import conversation
from ullage.store import SqliteStore, open_store
from ullage.store.search.query import read_query
from ullage.store.search.scoring import Terms, weigh_terms
from ullage.store.search.word_index import Counts
from ullage.store.sqlite.database import reconnect
from ullage.store.sqlite.fts5_index import Fts5Index

MESSAGES = 9_000


@pytest.fixture(scope="module")
def orchard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store in which one word is in every third message, one in every fourth, and one in every fiftieth."""
    texts = [
        f"month {number}" + " pear" * (number % 3 == 0) + " plum" * (number % 4 == 0) + " walnut" * (number % 50 == 0)
        for number in range(MESSAGES)
    ]
    with open_store(tmp_path_factory.mktemp("orchard") / "s.db") as store:
        store.create("s", conversation(*texts))
        while store.index_some():
            pass
        yield store


def terms_of(path: Path, query: str) -> Terms:
    with closing(reconnect(path)) as connection:
        index = Fts5Index(connection)
        return weigh_terms(index, read_query(query), Counts(index))


def test_a_rare_word_weighs_more_than_a_common_one(orchard: SqliteStore) -> None:
    terms = terms_of(orchard.path, "walnut month")
    assert terms.stems["walnut"].weight > terms.stems["month"].weight
    assert terms.stems["walnut"].rows == MESSAGES // 50
    assert [term.expression for term in terms.all()] == ['"walnut"', '"month"']


def test_a_word_that_is_nowhere_finds_no_rows(orchard: SqliteStore) -> None:
    assert [term.rows for term in terms_of(orchard.path, "walnut zebra").all()] == [MESSAGES // 50]


def test_of_messages_with_a_rare_word_those_with_the_common_words_come_first(orchard: SqliteStore) -> None:
    hits = orchard.search("walnut pear plum", limit=10)
    assert all(hit.index % 50 == hit.index % 3 == hit.index % 4 == 0 for hit in hits)


def test_common_words_alone_still_find(orchard: SqliteStore) -> None:
    hits = orchard.search("pear plum", limit=10)
    assert len(hits) == 10
    assert all(hit.index % 12 == 0 for hit in hits)


def test_of_many_messages_with_the_same_words_the_short_one_is_found(tmp_path: Path) -> None:
    filler = " ".join(f"tree{number}" for number in range(150))
    with open_store(tmp_path / "s.db") as store:
        store.create("s", conversation("The walnut is ripe", *(f"walnut {filler}" for _ in range(200)), "No fruit"))
        assert [hit.index for hit in store.search("walnut", limit=1)] == [0]
