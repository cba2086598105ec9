"""Words are found in a text as plain search finds them, and runs of characters as a pattern finds them."""

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ullage.redaction.issuers import ISSUED
from ullage.redaction.known_words import ARGUMENTS, NAMES, ORDERS, ROLES, parted_prefixes, shapes_by_prefix, words_in
from ullage.redaction.scan import LONG_WORDS, CharRuns, WordSearch, lowered

few = st.text(alphabet="abe -", min_size=1, max_size=5)
mixed = st.text(alphabet=st.sampled_from("aZ9_-./?é…İ \n"), max_size=80)


@settings(max_examples=1_000, deadline=None)
@given(words=st.sets(few, min_size=1, max_size=12), text=st.text(alphabet="abe -", max_size=40))
# The tail of one word begins that of another, begins within it, or ends at the same letter.
@example(words={"ab", "abba", "bab"}, text="eabba bab")
@example(words={"be", "beb", "ebe"}, text="ebebe")
@example(words={"a", "aa", "aaa"}, text="aaaa")
def test_every_word_of_a_text_is_found_and_no_other(words: set[str], text: str) -> None:
    assert WordSearch(words).words_in(text) == {word for word in words if word in text}


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(NAMES | ROLES | ORDERS | ARGUMENTS.keys() | parted_prefixes().keys())), max_size=6)
)
def test_words_that_overlap_others_are_found(pieces: list[str]) -> None:
    text = "".join(pieces).upper()
    assert {piece for piece in pieces if piece in NAMES | ROLES | ORDERS | parted_prefixes().keys()} <= words_in(text)


@settings(max_examples=500, deadline=None)
@given(mixed)
def test_a_text_in_lower_case_has_each_character_at_its_index(text: str) -> None:
    low = lowered(text)
    assert len(low) == len(text)
    assert all(new == old.lower() or new in "i?" for new, old in zip(low, text, strict=True))


@pytest.mark.parametrize(
    ("runs", "pattern"),
    [
        (CharRuns("_-", 3), r"[A-Za-z0-9_-]{3,}"),
        (CharRuns("_-?", 3), r"[A-Za-z0-9_?\x80-\U0010ffff-]{3,}"),
        (CharRuns("./", 1), r"[A-Za-z0-9./]+"),
        (LONG_WORDS, r"[A-Za-z0-9_?\x80-\U0010ffff-]{15,}"),
    ],
)
def test_runs_are_those_that_a_pattern_finds(runs: CharRuns, pattern: str) -> None:
    @settings(max_examples=300, deadline=None)
    @given(mixed)
    def holds(text: str) -> None:
        assert runs.of(text) == [found.span() for found in re.finditer(pattern, text)]

    check: Callable[[], None] = holds
    check()


def test_each_known_prefix_is_searched_for() -> None:
    firsts = shapes_by_prefix()
    assert all(any(prefix.startswith(first) for first in firsts) for prefix, *_ in ISSUED)
    assert {one for prefixes in parted_prefixes().values() for one in prefixes} <= firsts.keys()
