"""Cutting text into pieces and caching their counts."""

from ullage.tokens.pieces import LONGEST, TARGET, PieceCache, cut


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
    cache.put(b"a", 1)
    cache.put(b"b", 2)
    assert cache.get(b"a") == 1
    cache.put(b"c", 3)
    assert (cache.get(b"a"), cache.get(b"b"), cache.get(b"c"), len(cache)) == (1, None, 3, 2)
