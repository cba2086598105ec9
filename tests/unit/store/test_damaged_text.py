"""A store in which text is damaged is reported as such, wherever the text is read."""

from pathlib import Path

import pytest

from support.logs import message, records
from ullage.model.errors import StoreUnavailable
from ullage.model.events import SessionCreated
from ullage.store import open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with open_store(path) as store:
        store.create("s", records(SessionCreated(title="A walnut tree")))
        store.append("s", records(message("m", "walnut " * 100), start=1))
    return path


def test_a_message_that_is_no_utf_8_any_more_is_reported(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"walnut walnut", b"walnut \xca\xcblnut"))
    with open_store(path) as store, pytest.raises(StoreUnavailable, match="is damaged"):
        store.read("s")


def test_a_column_that_is_no_utf_8_any_more_is_reported(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"A walnut tree", b"A \xca\xcblnut tree"))
    with open_store(path) as store, pytest.raises(StoreUnavailable, match="is damaged"):
        store.list()
