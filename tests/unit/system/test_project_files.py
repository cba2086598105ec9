"""Instruction files on a real disk: names for all folders, contents for trusted ones, and no file from elsewhere."""

import stat
import sys
from pathlib import Path

import pytest

from support.systems import needs_links
from ullage.model.errors import InvalidRequest
from ullage.service.ports.models import ProjectFile
from ullage.system.shared_files import create_file
from ullage.system.surroundings import LocalProjectFiles

NAMES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".github").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("Run the tests.\n")
    (folder / ".github" / "copilot-instructions.md").write_text("Be brief.\n")
    return folder


def find(folder: Path | str, *trusted: Path | str, most: int = 100) -> tuple[ProjectFile, ...]:
    return LocalProjectFiles().find(str(folder), NAMES, [str(one) for one in trusted], most)


def test_names_are_found_wherever_contents_only_where_trusted(project: Path, tmp_path: Path) -> None:
    paths = ("AGENTS.md", ".github/copilot-instructions.md")
    assert find(project) == find(project, tmp_path / "other") == tuple(ProjectFile(path=path) for path in paths)
    texts = [file.text for file in find(project, project)]
    assert texts == ["Run the tests.\n", "Be brief.\n"]
    assert find(project, tmp_path) == find(project, project)


def test_a_folder_with_the_beginning_of_a_trusted_name_is_not_trusted(project: Path, tmp_path: Path) -> None:
    assert find(project, tmp_path / "proj")[0].text == ""


def test_a_long_file_is_read_up_to_the_limit(project: Path) -> None:
    (project / "AGENTS.md").write_text("é" * 500)
    assert find(project, project)[0].text == "é" * 100


@needs_links
def test_a_link_out_of_the_folder_is_not_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    (project / "CLAUDE.md").symlink_to(tmp_path / "key")
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").symlink_to(project / ".github" / "copilot-instructions.md")
    assert [(file.path, file.text) for file in find(project, project)] == [
        ("AGENTS.md", "Be brief.\n"),
        (".github/copilot-instructions.md", "Be brief.\n"),
    ]


@needs_links
def test_a_trusted_link_to_an_untrusted_folder_does_not_make_it_trusted(project: Path, tmp_path: Path) -> None:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    (trusted / "way-out").symlink_to(project)
    assert find(trusted / "way-out", trusted)[0].text == ""


@pytest.mark.parametrize("folder", ["", "relative", "/no/such/folder", "/\0"])
def test_a_folder_that_does_not_exist_has_no_files(folder: str) -> None:
    assert find(folder, "/") == ()


def test_what_is_no_plain_file_is_not_there(project: Path) -> None:
    (project / "CLAUDE.md").mkdir()
    (project / "AGENTS.md").write_bytes(b"\xff\xfe broken")
    assert [file.path for file in find(project, project)] == ["AGENTS.md", ".github/copilot-instructions.md"]


# Files that are made for other programs appear whole, and nothing is written over


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
