"""Counting text with a packed vocabulary, and the inputs that break tokenizers."""

import pytest

from ullage.tokens.counter import TiktokenCounter, count_piece
from ullage.tokens.families import Family, family_of
from ullage.tokens.vocabulary import load_encoding

EXACT = TiktokenCounter(Family(name="exact"))


def test_text_counts_as_tiktoken_counts_it() -> None:
    text = "def f(x):\n    return x  # größer\n\n" * 500
    assert EXACT.count(text) == len(load_encoding("o200k_base").encode_ordinary(text))


def test_empty_text_has_no_tokens() -> None:
    assert EXACT.count("") == 0


@pytest.mark.parametrize("spelling", ["<|endoftext|>", "<|endofprompt|>", "<|im_start|>"])
def test_spelling_of_a_special_token_counts_as_text(spelling: str) -> None:
    assert EXACT.count(spelling) > 3


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        (" " * 1_000_011 + "x", 1_000, 20_000),
        ("a" * 1_000_000, 100_000, 200_000),
        ("0123456789" * 100_000, 330_000, 340_000),
        ("\n" * 1_000_000, 1_000, 100_000),
        ("漢" * 200_000, 200_000, 400_000),
    ],
    ids=["spaces", "one letter", "digits", "newlines", "CJK"],
)
def test_a_megabyte_in_one_line_is_counted(text: str, least: int, most: int) -> None:
    assert least <= EXACT.count(text) <= most


def test_a_panic_of_the_tokenizer_is_an_upper_bound() -> None:
    spaces = " " * 1_000_000
    assert count_piece(load_encoding("o200k_base"), spaces) in (len(spaces), 7_813, 7_812)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800", "\ud83d"])
def test_lone_surrogates_are_counted(text: str) -> None:
    assert EXACT.count(text) > 0


def test_a_surrogate_pair_counts_as_the_character_it_means() -> None:
    assert EXACT.count("\ud83d\ude00") == EXACT.count("😀")


def test_name_says_what_a_count_is_scaled_by() -> None:
    assert EXACT.name == "o200k_base"
    assert TiktokenCounter(family_of("claude-sonnet-4-5")).name == "o200k_base×1.18"


def test_a_family_without_a_public_tokenizer_states_its_error() -> None:
    assert TiktokenCounter(family_of("claude-sonnet-4-5")).error_share > 0
    assert EXACT.error_share == 0
