"""The benches read every conversation of a folder, and nothing else in it."""

from pathlib import Path

import pytest

from benches.report import recorded
from support.codex_files import said, session
from support.foreign import to_lines
from ullage.model.errors import UnknownFormat


def test_files_of_a_folder_that_hold_no_conversation_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    found = tmp_path / "day" / "rollout.jsonl"
    found.write_bytes(to_lines(session(), said("user", "go")))
    (tmp_path / "README.md").write_text("# Notes")
    (tmp_path / "state.json").write_text("{}")
    ((path, transcript),) = recorded([tmp_path])
    assert (path, transcript.format) == (found, "codex-rollout")


def test_a_named_file_that_holds_no_conversation_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(UnknownFormat, match=r"state\.json"):
        recorded([tmp_path / "state.json"])
