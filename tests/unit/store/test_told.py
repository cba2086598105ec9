"""What agents say to their status lines is known to whoever follows them."""

from pathlib import Path

import pytest

from ullage.cli.statusline.files import as_object, keep, parse, read_told
from ullage.cli.statusline.line import window_of
from ullage.model.figure import RateLimit
from ullage.store.sqlite.catalogue_notes import SqliteTold, ToldOnce


def tell(store: Path, name: str, text: str) -> None:
    keep(str(store), name, text.encode(), window_of(as_object(parse(text.encode()))))


def test_the_window_that_an_agent_has_said_is_known_until_it_says_another(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    told = SqliteTold(store)
    assert told("id") is None
    tell(store, "id", '{"context_window": {"context_window_size": 200000}, "more": 1}')
    tell(store, "other", '{"context_window": {"context_window_size": 3}}')
    assert told("id") == told("id") == 200_000
    tell(store, "id", '{"context_window": {"context_window_size": 1000000}}')
    assert told("id") == 1_000_000
    # Another catalogue is noticed, too.
    for file in tmp_path.iterdir():
        file.unlink()
    tell(store, "id", '{"context_window": {"context_window_size": 5}}')
    assert told("id") == 5
    assert told("other") is None


@pytest.mark.parametrize(
    "text",
    [
        *("{}", '{"context_window": null}', '{"context_window": {"context_window_size": -1}}', "[]"),
        '{"context_window": {"context_window_size": 99999999999999999999}}',
    ],
)
def test_what_says_no_window_is_none(tmp_path: Path, text: str) -> None:
    tell(tmp_path / "s.db", "id", text)
    told = SqliteTold(tmp_path / "s.db")
    assert told("id") is None
    assert told("a\0b") is None


@pytest.mark.parametrize("name", ["a8f1-22", "a.b_c", "Ä", "x" * 128])
def test_what_was_said_last_comes_first(tmp_path: Path, name: str) -> None:
    tell(tmp_path / "s.db", "before", '{"number": 1}')
    tell(tmp_path / "s.db", name, '{"number": 2}')
    assert [said["number"] for _, said in read_told(str(tmp_path / "s.db"))][:2] in ([2, 1], [1, 2])
    tell(tmp_path / "s.db", name, '{"number": 3}')
    assert sorted(said["number"] for _, said in read_told(str(tmp_path / "s.db"))) == [1, 3]


def test_rate_limits_that_an_agent_has_said_are_known_until_it_says_others(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    told = SqliteTold(store)
    assert told.rate_limits("id") == ()
    tell(store, "id", '{"rate_limits": {"five_hour": {"used_percentage": 41.6, "resets_at": 1795000000}}}')
    tell(store, "other", '{"rate_limits": {"seven_day": {"used_percentage": 8}}}')
    assert told.rate_limits("id") == (RateLimit(name="5h", percent=42, until=1_795_000_000_000),)
    assert told.rate_limits("other") == (RateLimit(name="7d", percent=8),)
    tell(store, "id", '{"rate_limits": "none"}')
    assert told.rate_limits("id") == ()


def test_a_thing_is_told_once_whichever_process_asks(tmp_path: Path) -> None:
    first, second = ToldOnce(tmp_path / "s.db"), ToldOnce(tmp_path / "s.db")
    assert [first("moment a 1"), second("moment a 1"), first("moment a 1"), second("moment a 2")] == [
        *(True, False, False, True)
    ]
