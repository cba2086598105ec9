"""Files that are made for other programs appear whole, and nothing is written over."""

import stat
import sys
from pathlib import Path

import pytest

from ullage.app.session_continuing import create_file
from ullage.model.errors import InvalidRequest


def test_a_file_and_its_folders_are_made_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.jsonl"
    create_file(str(path), b"{}\n")
    assert path.read_bytes() == b"{}\n"
    assert [one.name for one in path.parent.iterdir()] == ["new.jsonl"]
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_bytes(b"old")
    with pytest.raises(InvalidRequest, match="is there already"):
        create_file(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["new.jsonl"]


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidRequest, match="cannot write"):
        create_file(str(tmp_path / "file" / "new.jsonl"), b"new")
