"""The snippet that a search shows of a text."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.store.search.query import read_query
from ullage.store.search.searcher import make_snippet, without_bare_numbers

FILLER = "so many other words stand here " * 40


def test_the_stretch_with_most_of_the_query_is_shown() -> None:
    text = f"walnut {FILLER} the walnut tree bears hazel {FILLER} tree"
    snippet = make_snippet(text, read_query("does the walnut tree bear hazel?"))
    assert "the **walnut** **tree** **bears** **hazel** so" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")


def test_a_whole_name_is_shown_before_its_words() -> None:
    text = f"parse the config {FILLER} see parse_config in it {FILLER}"
    assert "**parse_config**" in make_snippet(text, read_query("parse_config"))


def test_a_number_that_is_a_tool_calls_argument_is_not_shown_unless_it_is_asked_for() -> None:
    text = "Bash\nmix dialyzer\nRun dialyzer\n300000\n"
    query = read_query("dialyzer")
    assert make_snippet(without_bare_numbers(text, query), query) == "Bash\nmix **dialyzer**\nRun **dialyzer**\n"
    asked = read_query("300000")
    assert "**300000**" in make_snippet(without_bare_numbers(text, asked), asked)


def test_a_text_in_which_nothing_is_seen_is_shown_from_its_beginning() -> None:
    assert make_snippet("only this", read_query("walnut")) == "only this"


@given(st.text(max_size=600), st.text("abcdef _-./", min_size=1, max_size=20).map(lambda text: f"x{text}"))
def test_a_snippet_is_a_piece_of_the_text(text: str, query: str) -> None:
    snippet = make_snippet(text, read_query(query))
    assert snippet.replace("**", "").removeprefix("…").removesuffix("…") in text.replace("**", "")
    assert len(snippet) < 1_500
