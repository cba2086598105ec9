"""What was made of texts is remembered within a bound of characters, however long a process runs."""

from collections.abc import Callable

from ullage.redaction.remembering import len_of, remembering


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


def test_a_text_that_is_longer_than_the_bound_is_read_all_the_same() -> None:
    upper, _ = counted(10)
    assert upper("walnut" * 100) == "WALNUT" * 100
