"""The tools on a folder that somebody has made to stop them: pipes, loops of links, endless names, files too large."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from support.memory_twin import MemoryTwin
from support.systems import needs_links, needs_named_pipes
from ullage.model.blocks import ToolUseBlock
from ullage.service.archive.recall import RecallResult
from ullage.service.ports.models import ToolOutcome
from ullage.tools.plain_file import read_plain
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
    async def look_up(_session_id: str, _arguments: Any) -> RecallResult:
        return RecallResult(text="")

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
