"""Search: whether a message fits the query, because it has most of the query's words together."""

import pytest

from support.logs import conversation
from ullage.store import SqliteStore


def test_words_that_are_far_apart_in_a_message_do_not_make_it_fit(sqlite_store: SqliteStore) -> None:
    code = "def commit(self): ...\n" + "    x = self.y\n" * 40 + "stats.failed > 0"
    sqlite_store.create("s", conversation(code, "walnut oil"))
    assert [hit.fits for hit in sqlite_store.search("why did the commit fail")] == [False]
    sqlite_store.create("t", conversation(code, "The commit failed: the hook found a tab."))
    fits = {hit.message_id: hit.fits for hit in sqlite_store.search("why did the commit fail", "t")}
    assert fits == {"m0": False, "m1": True}


@pytest.mark.parametrize("words", [2, 3, 4, 5, 8])
def test_more_than_half_of_a_short_query_and_half_of_a_long_one_must_be_together(
    sqlite_store: SqliteStore, words: int
) -> None:
    asked = ("harbour", "walnut", "granite", "lantern", "copper", "meadow", "thunder", "violin")[:words]
    most = words // 2 + 1 if words <= 4 else (words + 1) // 2
    sqlite_store.create("s", conversation(" ".join(asked[:most]), " ".join(asked[: most - 1])))
    fits = {hit.message_id: hit.fits for hit in sqlite_store.search(" ".join(asked))}
    assert fits == {"m0": True, "m1": False}


def test_a_word_that_is_only_begun_counts_as_well(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("the annotation has a typo"))
    (hit,) = sqlite_store.search("annota typo")
    assert hit.fits
