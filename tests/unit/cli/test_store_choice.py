"""One rule decides which store every command has."""

from pathlib import Path

import msgspec
import pytest

from ullage.cli.store_choice import chosen_store, local_store
from ullage.model.errors import InvalidRequest
from ullage.model.settings import Settings
from ullage.store.store_place import local_path

ADDRESS = "postgresql://ada@db.example/ullage?options=-csearch_path%3Dours"


def test_the_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_STORE", "/data/shared.db")
    assert chosen_store(ADDRESS) == ADDRESS
    assert chosen_store(None) == "/data/shared.db"
    monkeypatch.delenv("ULLAGE_STORE")
    assert chosen_store(None) is None


def test_a_home_folder_in_the_environment_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("ULLAGE_STORE", "~/shared.db")
    assert Path(chosen_store(None) or "") == tmp_path / "shared.db"


@pytest.mark.parametrize("place", ["postgresql://ada:hunter2@db/ullage", "postgres://db/ullage?password=hunter2"])
def test_a_password_is_refused_wherever_the_address_comes_from(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    for name, given in (("", place), (place, None)):
        monkeypatch.setenv("ULLAGE_STORE", name)
        with pytest.raises(InvalidRequest, match="PGPASSWORD") as refused:
            chosen_store(given)
        assert "hunter2" not in str(refused.value)
    with pytest.raises(msgspec.ValidationError, match=r"store: .* contains a password") as wrong:
        msgspec.convert({"store": place}, Settings)
    assert "hunter2" not in str(wrong.value)
    assert "hunter2" not in local_store(place)


@pytest.mark.parametrize("place", ["", "/data/own.db", ADDRESS, "postgresql:///ü"])
def test_a_status_line_finds_the_files_that_a_server_keeps_next_to_the_store(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ULLAGE_STORE", raising=False)
    assert Path(local_store(place)) == local_path(place or None)


def test_the_files_next_to_an_address_have_a_name_that_every_file_system_takes() -> None:
    assert local_path(ADDRESS).name == "postgresql___ada_db.example_ullage_options_-csearch_path_3Dours"
