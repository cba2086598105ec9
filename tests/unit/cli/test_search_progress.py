"""`ullage search` says how much is left while it waits for the index."""

from ullage.cli.commands.search import IndexingShown
from ullage.service.ports.world import Indexing


def test_a_search_that_waits_for_the_index_shows_how_much_is_left() -> None:
    shown: list[str] = []
    listener = IndexingShown(shown.append)
    for left in (4_200, 0):
        listener.indexing(Indexing(id="index", left=left, total=12_000, cancel=lambda: None))
    assert shown == ["Preparing the search, once: 4,200 of 12,000 left", "Searching"]
