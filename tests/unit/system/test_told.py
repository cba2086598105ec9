from pathlib import Path

import pytest

from ullage.system.next_to_store import ToldWindows


def put(folder: Path, text: str) -> None:
    path = folder / "s.db.statusline" / "id.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_window_that_an_agent_has_said_is_known_until_it_says_another(tmp_path: Path) -> None:
    told = ToldWindows(tmp_path / "s.db")
    assert told("id") is None
    put(tmp_path, '{"context_window": {"context_window_size": 200000}, "more": 1}')
    assert told("id") == told("id") == 200_000
    put(tmp_path, '{"context_window": {"context_window_size": 1000000}}')
    assert told("id") == 1_000_000


@pytest.mark.parametrize(
    "text", ["", "{", "{}", '{"context_window": null}', '{"context_window": {"context_window_size": -1}}', "[" * 99]
)
def test_what_says_no_window_is_none(tmp_path: Path, text: str) -> None:
    put(tmp_path, text)
    told = ToldWindows(tmp_path / "s.db")
    assert told("id") is None
    assert told("a\0b") is None
