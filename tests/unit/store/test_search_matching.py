"""What a text holds of a query: words by their stem, names, neighbours and phrases."""

import pytest

from ullage.store.search.query import read_query
from ullage.store.search.scoring import Held, Matcher, Term, Terms, together


def held(query: str, text: str) -> Held:
    """Returns what a text holds of a query whose words all weigh the same."""
    read = read_query(query)
    terms = Terms(
        stems={one: Term(one, 1, 1.0) for one in read.stems},
        names={one: Term(one, 1, 2.0) for one in read.names},
        beginnings={one: Term(one, 1, 1.0) for one in read.beginnings},
        rarest=1.0,
        total=1,
    )
    return Matcher(read, terms, usual_length=30).read(text)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("walnut", "two Walnuts", {"walnut"}),
        ("walnut oil", "walnutwood is oily", {"oil"}),
        ("config", "parseConfig(x)", {"config"}),
        ("server", "HTTPServer", {"server"}),
        ("256", "sha256", {"256"}),
        ("main", "src/main.py", {"main"}),
        ("a3f9c1e", "at a3f9c1e now", {"a3f9c1e"}),
        ("cafe", "the caf\u00e9s", {"caf"}),
        ("\u672c", "\u65e5\u672c\u8a9e", {"\u672c"}),
        ("art", "start of a party", set[str]()),
    ],
)
def test_words_are_found_by_their_stem_where_a_word_begins(query: str, text: str, found: set[str]) -> None:
    assert set(held(query, text).words) == found


def test_repeated_words_add_less_each_time() -> None:
    once, twice, often = (
        held("walnut", text + "x" * (60 - len(text))).score for text in ("walnut ", "walnut " * 2, "walnut " * 7)
    )
    assert 0 < twice - once < once
    assert often - twice < 5 * (twice - once)


def test_a_whole_name_scores_above_its_words_and_above_a_longer_name() -> None:
    whole, words, longer = (held("run_test", text).score for text in ("run_test!", "run, test", "run_tests"))
    assert whole > words
    assert whole > longer


def test_neighbours_score_above_the_same_words_apart() -> None:
    assert held("walnut tree", "a walnut_tree of").score > held("walnut tree", "tree of a walnut").score


def test_a_message_has_the_best_of_its_parts() -> None:
    parts = [Held({"a": 1.0, "b": 3.0}, 0.5, 1), Held({"a": 2.0}, 0.25, 2)]
    assert together(parts) == Held({"a": 2.0, "b": 3.0}, 0.5, 2)
    assert together([]).score == 0


@pytest.mark.parametrize(
    ("text", "gathered"),
    [
        ("the commit failed", 2),
        ("failed; see the commit", 2),
        ("commit commit commit", 1),
        ("commit " + "x = 1\n" * 30 + " failed", 1),
        ("commit " + "x = 1\n" * 30 + " failed, as the last commit did", 2),
        ("nothing of it", 0),
    ],
)
def test_words_are_gathered_where_they_are_near_each_other(text: str, gathered: int) -> None:
    assert held("commit failed", text).gathered == gathered


def test_the_longer_a_query_the_farther_its_words_may_be_apart() -> None:
    text = "walnut " + "x " * 70 + "harvest"
    assert held("walnut harvest", text).gathered == 1
    assert held("walnut harvest of last autumn", text).gathered == 2
