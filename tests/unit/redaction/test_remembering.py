"""What was made of texts is remembered within a bound of characters, however long a process runs."""

from collections.abc import Callable

import pytest

from ullage.redaction.remembering import len_of, memory_of, remembering


def counted(most: int) -> tuple[Callable[[str], str], list[str]]:
    """Returns a function that remembers, and the texts for which it was computed."""
    computed: list[str] = []

    @remembering(most, len_of)
    def upper(text: str) -> str:
        computed.append(text)
        return text.upper()

    return upper, computed


def test_a_text_is_read_once_while_few_others_come() -> None:
    upper, computed = counted(1_000)
    for _ in range(3):
        assert [upper(text) for text in ("cask", "walnut")] == ["CASK", "WALNUT"]
    assert computed == ["cask", "walnut"]


def test_what_is_used_again_and_again_stays_among_many_others() -> None:
    upper, computed = counted(1_000)
    for number in range(400):
        upper(f"{number:010}")
        upper("cask")
    assert computed.count("cask") == 1


def test_no_more_texts_are_remembered_than_have_the_bound() -> None:
    upper, computed = counted(1_000)
    texts = [f"{number:0100}" for number in range(40)]
    for text in texts:
        upper(text)
    del computed[:]
    for text in reversed(texts):
        upper(text)
    assert 30 <= len(computed) < 40


def test_what_was_made_of_a_text_is_made_again_once_it_is_forgotten() -> None:
    upper, computed = counted(1_000)
    upper("cask")
    getattr(upper, "cache_clear")()  # noqa: B009 - a type checker knows no such attribute
    assert upper("cask") == "CASK"
    assert computed == ["cask", "cask"]


def test_a_text_that_is_longer_than_half_of_the_bound_is_read_all_the_same_and_displaces_no_other() -> None:
    upper, computed = counted(1_000)
    upper("cask")
    assert [upper("walnut" * 100) for _ in range(2)] == ["WALNUT" * 100] * 2
    upper("cask")
    assert computed == ["cask", "walnut" * 100, "walnut" * 100]


@pytest.mark.parametrize(("letter", "most"), [("a", 20), ("字", 10)])
def test_a_bound_of_memory_holds_whatever_the_script_of_the_texts(letter: str, most: int) -> None:
    read: list[str] = []

    @remembering(24_000, memory_of)
    def remembers(text: str) -> None:
        read.append(text)

    texts = [letter * 1_000 + str(number) for number in range(100)]
    for text in [*texts, *reversed(texts)]:
        remembers(text)
    assert most // 2 <= 200 - len(read) <= most
