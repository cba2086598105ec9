"""How names are split for the index."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.store.search.indexed_text import index_tokens, places, read_name, stem


@pytest.mark.parametrize(
    ("token", "parts"),
    [
        ("walnut", "walnut"),
        ("Walnut", "walnut"),
        ("getUserName", "get user name"),
        ("HTTPServer", "http server"),
        ("parse_HTML5_file", "parse html 5 file"),
        ("dry-run", "dry run"),
        ("src/app/main.py", "src app main py"),
        ("a\\b", "a b"),
        ("std::vec", "std vec"),
        ("sha256", "sha 256"),
        ("deadbeef01", "deadbeef01"),
        ("__init__", "init"),
        ("naïveÉtude", "naïveétude"),
        ("日本語", "日 本 語"),
        ("3.11", "3 11"),
        ("___", ""),
    ],
)
def test_a_name_is_split_at_its_joints_and_humps(token: str, parts: str) -> None:
    assert " ".join(read_name(token).parts) == parts


@pytest.mark.parametrize(
    ("token", "inner"), [("src/my_app/main.py", ("my_app", "main.py")), ("os.path_join", ("path_join",)), ("one", ())]
)
def test_the_names_inside_a_name_are_names_as_well(token: str, inner: tuple[str, ...]) -> None:
    assert read_name(token).wholes[1:] == tuple(read_name(name).wholes[0] for name in inner)


def test_names_that_differ_in_their_joints_differ() -> None:
    spelt = ["dry_run", "dry-run", "dry.run", "dry/run", "dry::run", "dryRun"]
    assert len({read_name(name).wholes for name in spelt}) == len(spelt)


def test_data_without_an_end_is_no_name() -> None:
    assert read_name("aB3/" * 100 + "x").wholes == ()


@given(st.text(max_size=200))
def test_places_are_where_the_tokens_stand(text: str) -> None:
    found = list(places(text))
    assert [read_name(text[place.start : place.stop]) for place in found] == [place.name for place in found]


@given(st.text(max_size=200))
def test_the_index_has_each_word_and_name_as_one_token(text: str) -> None:
    tokens = index_tokens(text)
    assert all(token and not any(char.isascii() and not char.isalnum() for char in token) for token in tokens)
    if text.isascii():
        assert tokens >= {stem(part) for place in places(text) for part in place.name.parts}


@pytest.mark.parametrize(("word", "other"), [("walnuts", "walnut"), ("parsing", "parsed"), ("entries", "entry")])
def test_forms_of_a_word_share_a_stem(word: str, other: str) -> None:
    assert stem(word) == stem(other)
