"""What of a message is indexed, and what a query's words are."""

from support.logs import message
from ullage.store.search_text import BLOCK_CHARS, message_text, query_words


def test_a_long_block_is_indexed_up_to_the_bound() -> None:
    text = message_text(message("m", "x" * BLOCK_CHARS + "beyond").message)
    assert text == "x" * BLOCK_CHARS


def test_words_without_a_letter_or_digit_are_left_out_of_a_query() -> None:
    assert query_words(' -- "walnut" & 7\0b ') == ('"walnut"', "7", "b")
