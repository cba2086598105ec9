"""What editors' settings call private, kept for commands without an editor."""

from pathlib import Path

import pytest

from ullage.model.errors import InvalidRequest
from ullage.system.team_choices import PrivatePatterns, all_patterns, keep_private, kept_private


def private(editor: str, *patterns: str, folder: str = "file:///orchard") -> PrivatePatterns:
    return PrivatePatterns(editor=editor, folders=(folder,), patterns=patterns)


def test_each_editor_and_folder_replaces_its_own_patterns_alone(tmp_path: Path) -> None:
    place = tmp_path / "team.private"
    assert kept_private(place) == ()
    keep_private(place, private("Neovim", "quince"))
    keep_private(place, private("Visual Studio Code", "pear", "quince"))
    keep_private(place, private("Neovim", "apple", folder="file:///cellar"))
    keep_private(place, private("Neovim", "plum"))
    assert sorted(all_patterns(kept_private(place))) == ["apple", "pear", "plum", "quince"]
    keep_private(place, private("Visual Studio Code"))
    assert sorted(all_patterns(kept_private(place))) == ["apple", "plum"]


def test_nothing_is_written_without_patterns_and_others_read_nothing(tmp_path: Path) -> None:
    place = tmp_path / "team.private"
    keep_private(place, private("Neovim"))
    assert not place.exists()
    keep_private(place, private("Neovim", "quince"))
    (file,) = place.iterdir()
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_read_stops_what_would_send_with_fewer_patterns(tmp_path: Path) -> None:
    keep_private(tmp_path, private("Neovim", "quince"))
    (file,) = tmp_path.iterdir()
    file.write_text("{")
    with pytest.raises(InvalidRequest, match="delete it, and open the editor again"):
        kept_private(tmp_path)
