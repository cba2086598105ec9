"""Laws of the archive search: the same messages give the same hits, however and whenever they were indexed."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from support.logs import message, records
from ullage.model.events import SessionCreated
from ullage.service.ports.store import SearchHit
from ullage.store import open_store

WORDS = ("harbour", "ferry", "walnut", "parse_config", "closed", "since", "I", "you")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=12)
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


def search(texts: Sequence[str], query: str, indexed_after: Sequence[int]) -> tuple[SearchHit, ...]:
    """Returns the hits in a new store to which the texts were appended one by one, and which indexed what it had after
    each of the given numbers of texts."""
    with TemporaryDirectory() as folder, open_store(Path(folder) / "s.db") as store:
        store.create("s", records(SessionCreated()))
        for number, text in enumerate(texts, 1):
            store.append("s", records(message(f"m{number}", text), start=number))
            while number in indexed_after and store.index_some("s"):
                pass
        return store.search(query, "s")


@settings(max_examples=25, deadline=None)
@given(TEXTS, QUERIES, st.sets(st.integers(1, 12)))
def test_an_index_made_step_by_step_finds_what_one_made_at_once_finds(
    texts: list[str], query: str, indexed_after: set[int]
) -> None:
    at_once = search(texts, query, ())
    assert search(texts, query, sorted(indexed_after)) == at_once
    assert search(texts, query, ()) == at_once


@settings(max_examples=25, deadline=None)
@given(TEXTS, QUERIES)
def test_hits_come_best_first_and_each_message_once(texts: list[str], query: str) -> None:
    hits = search(texts, query, ())
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.message_id for hit in hits}) == len(hits)
    assert all(hit.score > 0 for hit in hits)
