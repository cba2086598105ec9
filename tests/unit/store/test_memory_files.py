"""A memory on disk: what is written, what is refused, and that no path leads out of it."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.canary import picture, plant
from support.corpus import cases
from support.systems import needs_links, needs_modes, needs_named_pipes
from ullage.memory.memory_tool import TextEdit, parse_path
from ullage.model.errors import Conflict, InvalidRequest, NotFound, StoreUnavailable
from ullage.service.ports.models import ToolOutcome
from ullage.store.memories.memory_files import FolderMemory, MemoryLimits, memory_base
from ullage.tools.toolbox import run_memory

MakeMemory = Callable[..., FolderMemory]
NOTES = parse_path("/memories/notes.md")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def every_command(files: FolderMemory, path: str) -> list[ToolOutcome]:
    """Returns each command's answer for a path."""
    commands: list[dict[str, Any]] = [
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "must stay", "new_str": "x"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "rename", "old_path": path, "new_path": "/memories/taken.md"},
        {"command": "rename", "old_path": "/memories/notes.md", "new_path": path},
        {"command": "delete", "path": path},
    ]
    return [run_memory(files, command) for command in commands]


def test_no_hostile_path_touches_anything_inside_or_outside(memory: MakeMemory, tmp_path: Path) -> None:
    plant(tmp_path)
    files = memory(tmp_path / "base")
    files.create(NOTES, "one\n")
    before = picture(tmp_path)
    for case in cases("hostile_memory_paths.json"):
        for answer in every_command(files, case["path"]):
            assert answer.is_error
            assert "CANARY" not in answer.text
    assert picture(tmp_path) == before


@pytest.mark.parametrize(
    "path", ["/memories/link", "/memories/link/notes.md", "/memories/link/folder", "/memories/up/a"]
)
@needs_links
def test_links_that_lie_in_the_memory_lead_nowhere(memory: MakeMemory, tmp_path: Path, path: str) -> None:
    outside = plant(tmp_path)
    files = memory(tmp_path / "base")
    files.create(NOTES, "one\n")
    (tmp_path / "base" / "link").symlink_to(outside)
    (tmp_path / "base" / "up").symlink_to("..")
    before = picture(tmp_path)
    assert all(answer.is_error and "CANARY" not in answer.text for answer in every_command(files, path))
    assert picture(tmp_path) == before


@needs_links
def test_link_to_a_file_is_neither_read_nor_written_nor_listed(memory: MakeMemory, tmp_path: Path) -> None:
    outside = plant(tmp_path)
    files = memory(tmp_path / "base")
    files.create(parse_path("/memories/other.md"), "one\n")
    (tmp_path / "base" / "notes.md").symlink_to(outside / "notes.md")
    before = picture(outside)
    assert all("CANARY" not in answer.text for answer in every_command(files, "/memories/notes.md"))
    listing = run_memory(files, {"command": "view", "path": "/memories"}).text
    assert "notes.md" not in listing
    assert picture(outside) == before


@needs_links
def test_deleting_a_folder_leaves_what_links_in_it_lead_to(memory: MakeMemory, tmp_path: Path) -> None:
    outside = plant(tmp_path)
    files = memory(tmp_path / "base")
    files.create(parse_path("/memories/old/notes.md"), "one\n")
    (tmp_path / "base" / "old" / "link").symlink_to(outside)
    before = picture(outside)
    files.delete(parse_path("/memories/old"))
    assert names(tmp_path / "base") == []
    assert picture(outside) == before


def test_edit_leaves_a_hard_link_elsewhere_as_it_was(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path / "base")
    files.create(NOTES, "one\n")
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.hardlink_to(tmp_path / "base" / "notes.md")
    files.edit(NOTES, lambda text: TextEdit(text=text + "two\n", answer=""))
    assert elsewhere.read_text() == "one\n"
    assert files.look(NOTES) == "one\ntwo\n"


@needs_named_pipes
def test_pipe_in_the_memory_is_not_waited_for(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path)
    os.mkfifo(tmp_path / "notes.md")
    with pytest.raises(NotFound):
        files.look(NOTES)


@needs_modes
def test_files_and_folders_are_for_the_user_alone(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path / "base")
    files.create(parse_path("/memories/plans/one.md"), "one\n")
    modes = [stat.S_IMODE((tmp_path / "base" / name).stat().st_mode) for name in ("", "plans", "plans/one.md")]
    assert modes == [0o700, 0o700, 0o600]


def test_names_that_differ_in_case_are_one_name(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path)
    files.create(parse_path("/memories/Plans/one.md"), "one\n")
    with pytest.raises(Conflict, match="spelled 'Plans'"):
        files.create(parse_path("/memories/plans/two.md"), "two\n")
    with pytest.raises(Conflict, match=r"spelled 'one\.md'"):
        files.create(parse_path("/memories/Plans/ONE.md"), "two\n")


def test_name_may_change_its_case(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path)
    files.create(NOTES, "one\n")
    files.rename(NOTES, parse_path("/memories/NOTES.md"))
    assert names(tmp_path) == ["NOTES.md"]


def test_file_cannot_be_a_folder(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path)
    files.create(NOTES, "one\n")
    with pytest.raises(Conflict, match="is a file, not a folder"):
        files.create(parse_path("/memories/notes.md/two.md"), "two\n")


@pytest.mark.parametrize("text", ["x" * 101, "é" * 51])
def test_file_over_the_limit_is_refused_and_the_old_one_stays(memory: MakeMemory, tmp_path: Path, text: str) -> None:
    files = memory(tmp_path, MemoryLimits(file_bytes=100))
    files.create(NOTES, "one\n")
    with pytest.raises(InvalidRequest, match="at most 100"):
        files.edit(NOTES, lambda _: TextEdit(text=text, answer=""))
    with pytest.raises(InvalidRequest, match="at most 100"):
        files.create(parse_path("/memories/b.md"), text)
    assert files.look(NOTES) == "one\n"
    assert names(tmp_path) == ["notes.md"]


def test_full_memory_takes_no_more_until_something_goes(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path, MemoryLimits(total_bytes=10))
    files.create(NOTES, "12345678")
    with pytest.raises(InvalidRequest, match="memory is full"):
        files.create(parse_path("/memories/b.md"), "123")
    with pytest.raises(InvalidRequest, match="memory is full"):
        files.edit(NOTES, lambda text: TextEdit(text=text + "123", answer=""))
    files.edit(NOTES, lambda _: TextEdit(text="1", answer=""))
    files.create(parse_path("/memories/b.md"), "123")


def test_number_of_files_and_folders_is_bounded(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path, MemoryLimits(entries=3))
    files.create(parse_path("/memories/a/b.md"), "")
    with pytest.raises(InvalidRequest, match="3 files and folders"):
        files.create(parse_path("/memories/c/d.md"), "")
    with pytest.raises(InvalidRequest, match="3 files and folders"):
        files.rename(parse_path("/memories/a/b.md"), parse_path("/memories/e/f/g.md"))
    files.create(parse_path("/memories/a/c.md"), "")
    assert names(tmp_path) == ["a"]


def test_folder_cannot_be_moved_deeper_than_paths_reach(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path)
    files.create(parse_path("/memories/a/b/c/d/e.md"), "")
    files.create(parse_path("/memories/1/2/3/4/x.md"), "")
    with pytest.raises(InvalidRequest, match="too deep"):
        files.rename(parse_path("/memories/a"), parse_path("/memories/1/2/3/4/a"))


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff\xfe", "not text in UTF-8"), (b"x" * 300_000, "over the limit of 262,144 bytes")]
)
def test_file_that_another_program_laid_there_may_be_unreadable(
    memory: MakeMemory, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "notes.md").write_bytes(content)
    with pytest.raises(InvalidRequest, match=said):
        memory(tmp_path).look(NOTES)


def test_edit_sees_what_another_program_wrote_meanwhile(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path)
    files.create(NOTES, "one\n")
    seen: list[str] = []

    def change(text: str) -> TextEdit:
        seen.append(text)
        if len(seen) == 1:
            (tmp_path / "notes.md").write_text("one and a half\n")
        return TextEdit(text=text + "two\n", answer="")

    files.edit(NOTES, change)
    assert seen == ["one\n", "one and a half\n"]
    assert files.look(NOTES) == "one and a half\ntwo\n"


def test_edit_gives_up_on_a_file_that_does_not_rest(memory: MakeMemory, tmp_path: Path) -> None:
    files = memory(tmp_path)
    files.create(NOTES, "one\n")

    def change(text: str) -> TextEdit:
        (tmp_path / "notes.md").write_text(text + "more\n")
        return TextEdit(text="", answer="")

    with pytest.raises(Conflict, match="another program"):
        files.edit(NOTES, change)
    assert files.look(NOTES) == "one\n" + "more\n" * 4


def test_what_a_killed_process_left_is_removed_by_the_next_change(memory: MakeMemory, tmp_path: Path) -> None:
    (tmp_path / ".ullage-0123").write_text("half")
    (tmp_path / ".ullage-4567" / "deep").mkdir(parents=True)
    memory(tmp_path).create(NOTES, "one\n")
    assert names(tmp_path) == ["notes.md"]


def test_names_that_no_path_can_have_are_not_listed(memory: MakeMemory, tmp_path: Path) -> None:
    for name in ("good.md", ".hidden", "bad\n9B\tfake", "back\\slash", "trailing."):
        (tmp_path / name).write_text("x")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.js").write_text("x")
    listing = run_memory(memory(tmp_path), {"command": "view", "path": "/memories"}).text
    assert listing.splitlines()[1:] == ["6B\t/memories", "1B\t/memories/good.md"]


def test_base_that_is_a_file_is_reported_as_such(memory: MakeMemory, tmp_path: Path) -> None:
    (tmp_path / "base").write_text("")
    with pytest.raises(StoreUnavailable):
        memory(tmp_path / "base").look(NOTES)


@needs_links
def test_each_project_and_the_user_have_their_own_memory(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    bases = [memory_base(str(tmp_path / name), tmp_path / "data") for name in ("one", "two", "one/../one", "link")]
    assert bases[0] == bases[2] == bases[3]
    assert len({*bases, memory_base(None, tmp_path / "data")}) == 3
    assert bases[0].parent == tmp_path / "data" / "memories" / "projects"
    assert bases[0].name.startswith("one-")
