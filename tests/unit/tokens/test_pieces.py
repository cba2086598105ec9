"""Cutting text into pieces and caching their counts."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.tokens.counter import LONGEST, TARGET, PieceCache, cut, key_of


def test_appending_leaves_earlier_pieces_as_they_were() -> None:
    text = "a line of text\n" * 1_000
    assert list(cut(text + "more\n" * 500))[: len(list(cut(text))) - 1] == list(cut(text))[:-1]


def test_pieces_are_never_longer_than_the_tokenizer_stands() -> None:
    assert max(map(len, cut("x" * 10 * LONGEST))) <= LONGEST
    assert LONGEST * 4 <= 128_000


def test_no_cut_before_whitespace_or_a_slash() -> None:
    text = ("x" * TARGET + "\n/") * 3 + ("y" * TARGET + "\n ") * 3
    assert len(list(cut(text))) == 1


def test_cache_forgets_what_was_used_longest_ago() -> None:
    cache: PieceCache[int] = PieceCache(entries=2)
    cache.put(1, 10)
    cache.put(2, 20)
    assert cache.get(1) == 10
    cache.put(3, 30)
    assert (cache.get(1), cache.get(2), cache.get(3), len(cache)) == (10, None, 30, 2)


@given(st.lists(st.text(), unique=True), st.lists(st.integers(0, 2**60), min_size=1, max_size=2, unique=True))
def test_each_text_has_a_key_of_its_own_for_each_salt(texts: list[str], salts: list[int]) -> None:
    keys = [key_of(text, salt) for text in texts for salt in salts if text]
    assert len(set(keys)) == len(keys)
    assert keys == [key_of(text, salt) for text in texts for salt in salts if text]
