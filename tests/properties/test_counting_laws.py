"""What holds for counting every text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.tokens.counter import ApproximateCounter, TiktokenCounter, cut, well_formed
from ullage.tokens.families import Family
from ullage.tokens.vocabulary import SPECS, load_encoding

COUNTERS = [TiktokenCounter(Family(name=name, encoding=name)) for name in SPECS]
# Long enough to be cut: a few fragments, joined by characters at which texts are cut, and repeated.
fragments = st.lists(st.sampled_from(["word", " ", "\n", "\r\n", "/", "\t", "été", "漢字", "...", "12345", "'s", "{}"]))


def repeated(parts: list[str], times: int) -> str:
    return ("".join(parts) * times)[:30_000]


texts = st.builds(repeated, fragments, st.integers(1, 2_000))


@settings(max_examples=60, deadline=None)
@given(texts)
def test_pieces_count_like_the_whole(text: str) -> None:
    for counter in COUNTERS:
        assert counter.count(text) == len(load_encoding(counter.name).encode_ordinary(text))


@given(st.text(st.characters(codec=None), max_size=5_000))
def test_pieces_concatenate_to_the_text(text: str) -> None:
    assert "".join(cut(text)) == text


@given(st.text(st.characters(categories=["L", "Z", "Cs", "Cc"]), max_size=200))
def test_any_string_is_counted(text: str) -> None:
    assert len(well_formed(text).encode()) >= len(text)
    for counter in (*COUNTERS, ApproximateCounter()):
        assert counter.count(text) >= (1 if text else 0)
        assert counter.count(text) == counter.count(text)
