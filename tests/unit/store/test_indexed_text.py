"""Which text of a message is indexed, and in which pieces."""

from hypothesis import given
from hypothesis import strategies as st

from support.logs import message
from ullage.store.search.indexed_text import BLOCK_CHARS, CHUNK_CHARS, chunks, message_text


def test_a_huge_block_is_indexed_at_its_head_and_its_tail() -> None:
    text = message_text(message("m", "head" + "x" * BLOCK_CHARS + "tail").message)
    assert len(text) <= BLOCK_CHARS + 1
    assert text.startswith("headx")
    assert text.endswith("xtail")


@given(st.lists(st.text("ab \n", max_size=900), max_size=12).map("".join))
def test_chunks_make_up_the_text(text: str) -> None:
    spans = list(chunks(text))
    assert "".join(text[start:stop] for start, stop in spans) == text
    assert all(0 < stop - start <= CHUNK_CHARS for start, stop in spans)


def test_a_chunk_ends_with_a_line_where_there_is_one() -> None:
    text = "a line of words\n" * 1_000
    assert all(text[:stop].endswith("\n") for _, stop in chunks(text))
