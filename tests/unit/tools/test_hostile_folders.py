"""The tools on a folder that was made to stop them: pipes, loops of links, endless names, files too large."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from support.memory_twin import MemoryTwin
from support.systems import needs_links, needs_named_pipes
from ullage.model.message import ToolUseBlock
from ullage.service.ports.models import ToolOutcome
from ullage.tools.folder_tools import read_plain
from ullage.tools.toolbox import LocalToolbox

# Seconds. A call takes a hundredth; one that waits for a pipe's writer would never end.
PATIENCE = 60.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "app.py").write_text("def main(): pass\n")
    return root


async def use(project: Path, name: str, **given: Any) -> ToolOutcome:
    async def look_up(_session_id: str, _arguments: Any) -> ToolOutcome:
        return ToolOutcome(text="")

    async def open_text(_session_id: str, _path: str) -> None:
        return None

    box = LocalToolbox(lambda _cwd: MemoryTwin(), look_up, open_text)
    return await asyncio.wait_for(
        box.run("s", str(project), ToolUseBlock(id="t", name=name, input=given)), timeout=PATIENCE
    )


@pytest.fixture
def pipe(project: Path) -> Path:
    path = project / "a-pipe"
    os.mkfifo(path)
    return path


@needs_named_pipes
async def test_a_pipe_in_the_folder_is_passed_over_by_a_search(project: Path, pipe: Path) -> None:
    # A writer that comes lets a search that waits for the pipe end, so that a failing test ends, too.
    asyncio.get_running_loop().call_later(PATIENCE - 1, lambda: os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK)))
    assert (await use(project, "search_text", pattern="def")).text == "app.py:1: def main(): pass"
    assert (await use(project, "list_files")).text == "app.py"


@needs_named_pipes
@pytest.mark.parametrize("name", ["read_file", "search_text", "list_files"])
async def test_a_pipe_that_is_named_is_not_read(project: Path, pipe: Path, name: str) -> None:
    pattern = {"pattern": "def"} if name == "search_text" else {}
    outcome = await use(project, name, path=pipe.name, **pattern)
    assert outcome.is_error or outcome.text == "[No line matches.]"


@needs_named_pipes
def test_a_pipe_that_takes_a_files_place_after_the_check_is_not_waited_for(project: Path, pipe: Path) -> None:
    with pytest.raises(OSError, match="plain"):
        read_plain(project.resolve(), pipe.resolve(), 100)


@needs_links
def test_a_link_that_takes_a_folders_place_after_the_check_is_not_followed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = project.resolve(), tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("the secret")
    (root / "swapped").symlink_to(outside)

    def as_before_the_swap(path: Path) -> Path:
        return path

    monkeypatch.setattr(Path, "resolve", as_before_the_swap)
    with pytest.raises(OSError, match="swapped"):
        read_plain(root, root / "swapped" / "key", 100)


async def test_a_huge_file_is_read_in_part_and_says_so(project: Path) -> None:
    path = project / "huge.log"
    path.write_bytes(b"a line\n" * 2_000)
    with path.open("r+b") as file:
        # Sparse: it takes no room on the disk, but 3 GB in memory if it is read whole.
        file.truncate(3_000_000_000)
    assert "     1\ta line\n" in (await use(project, "read_file", path="huge.log", line_count=5)).text
    end = await use(project, "read_file", path="huge.log", start_line=2_001)
    assert end.text.endswith("[only the first 10,000,000 bytes of the file are read]")
    assert (await use(project, "search_text", pattern="a line")).text == "[No line matches.]"


@needs_links
@pytest.mark.parametrize("name", ["read_file", "search_text", "list_files"])
async def test_links_that_lead_to_each_other_are_passed_over(project: Path, name: str) -> None:
    (project / "one").symlink_to("other")
    (project / "other").symlink_to("one")
    pattern = {"pattern": "def"} if name == "search_text" else {}
    named = await use(project, name, path="one", **pattern)
    assert named.is_error
    assert name == "read_file" or "app.py" in (await use(project, name, **pattern)).text


@pytest.mark.parametrize("name", ["read_file", "search_text", "list_files"])
@pytest.mark.parametrize("path", ["n" * 300, "n" * 5_000, "a/" * 3_000, "a\0b"])
async def test_a_path_that_the_system_does_not_allow_is_refused_in_words(project: Path, name: str, path: str) -> None:
    pattern = {"pattern": "def"} if name == "search_text" else {}
    outcome = await use(project, name, path=path, **pattern)
    assert outcome.is_error or outcome.text == "[No line matches.]"
    assert len(outcome.text) < 10_000


@needs_links
async def test_a_folder_with_links_that_may_not_be_read_is_listed() -> None:
    outcome = await use(Path("/proc/self"), "list_files", pattern="status")
    assert "status" in outcome.text or outcome.text == "[No file matches.]"
