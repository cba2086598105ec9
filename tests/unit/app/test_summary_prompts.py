"""A user's own instructions for summaries, read from files."""

from pathlib import Path

import pytest

from support.systems import needs_links
from ullage.app.compose import read_summary_prompts
from ullage.model.errors import InvalidRequest


def project(folder: Path, text: str = "Name the tickets.") -> Path:
    """Returns a project folder with its own instructions."""
    (folder / ".ullage").mkdir()
    (folder / ".ullage" / "summary.md").write_text(text)
    return folder


def test_without_instruction_files_there_are_no_instructions(tmp_path: Path) -> None:
    assert read_summary_prompts("", "") == ()
    assert read_summary_prompts(str(tmp_path), "") == ()


def test_the_projects_instructions_come_after_the_users(tmp_path: Path) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("Write in French.")
    assert read_summary_prompts(str(project(tmp_path)), str(mine)) == ("Write in French.", "Name the tickets.")


def test_a_named_file_that_is_missing_is_reported_with_the_setting(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"ullage\.summary\.promptFile: cannot read .*missing\.md"):
        read_summary_prompts("", str(tmp_path / "missing.md"))


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"x" * 20_001])
def test_what_is_no_text_or_far_too_long_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mine.md"
    path.write_bytes(data)
    with pytest.raises(InvalidRequest, match=r"mine\.md"):
        read_summary_prompts("", str(path))


@needs_links
def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("a private key")
    folder = tmp_path / "project"
    (folder / ".ullage").mkdir(parents=True)
    (folder / ".ullage" / "summary.md").symlink_to(secret)
    with pytest.raises(InvalidRequest, match="outside"):
        read_summary_prompts(str(folder), "")
