"""While another process swaps files and folders for links, no command reads or changes anything outside the memory."""

import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.canary import picture, plant
from support.systems import needs_links
from ullage.memory.memory_tool import TextEdit, parse_path
from ullage.store.memories.memory_files import FolderMemory, is_supported
from ullage.tools.toolbox import run_memory

# Swaps `name` for a link to `target` and back until stopped, at most so often that no test hangs.
SWAPPER = """
import os, select, sys
name, target = sys.argv[1:]
print("ready", flush=True)
for _ in range(200_000):
    try:
        os.rename(name, name + "-real")
        os.symlink(target, name)
        os.unlink(name)
        os.rename(name + "-real", name)
    except OSError:
        for path in (name, name + "-real"):
            if os.path.islink(path):
                os.unlink(path)
    if select.select([sys.stdin], [], [], 0)[0]:
        break
"""
pytestmark = [pytest.mark.no_cover, needs_links]
ROUNDS = 150
MakeMemory = Callable[..., FolderMemory]


@contextmanager
def swapping(name: Path, target: Path) -> Generator[None]:
    """Runs a second process that swaps `name` for a link to `target` and back, as fast as it can, until the block
    ends."""
    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(name), str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        yield
        process.communicate(b"end\n", timeout=120)


def commands(path: str, turn: int) -> list[dict[str, object]]:
    return [
        {"command": "create", "path": path, "file_text": f"{turn}\n"},
        {"command": "view", "path": path},
        {"command": "view", "path": "/memories"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "must stay", "new_str": "x"},
        {"command": "rename", "old_path": path, "new_path": f"{path}-{turn}"},
        {"command": "rename", "old_path": f"{path}-{turn}", "new_path": path},
        {"command": "delete", "path": f"{path}-{turn}"},
        {"command": "delete", "path": path},
    ]


@pytest.mark.skipif(not is_supported(), reason="opening by path cannot guard against swaps (`PathFolder`)")
@pytest.mark.parametrize(
    ("swapped", "target", "path"),
    [
        ("folder", "outside", "/memories/folder/notes.md"),
        ("folder", "outside/folder", "/memories/folder/deeper/notes.md"),
        ("notes.md", "outside/notes.md", "/memories/notes.md"),
        ("folder", "outside", "/memories/folder"),
    ],
)
def test_no_swap_for_a_link_leads_a_command_outside(tmp_path: Path, swapped: str, target: str, path: str) -> None:
    outside = plant(tmp_path)
    base = tmp_path / "base"
    files = FolderMemory(base)
    files.create(parse_path(path), "first\n")
    before = picture(outside)
    refusals = 0
    with swapping(base / swapped, tmp_path / target):
        for turn in range(ROUNDS):
            for command in commands(path, turn):
                answer = run_memory(files, command)
                refusals += answer.is_error
                assert "CANARY" not in answer.text
    assert refusals
    assert picture(outside) == before


def test_changes_of_many_threads_come_one_after_another(memory: MakeMemory, tmp_path: Path) -> None:
    notes = parse_path("/memories/notes.md")
    memory(tmp_path).create(notes, "")

    def append(number: int) -> None:
        memory(tmp_path).edit(notes, lambda text: TextEdit(text=f"{text}{number}\n", answer=""))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(100)))
    text = memory(tmp_path).look(notes)
    assert isinstance(text, str)
    assert sorted(map(int, text.split())) == list(range(100))


def test_reader_sees_the_old_text_or_the_new_one_and_nothing_between(memory: MakeMemory, tmp_path: Path) -> None:
    notes = parse_path("/memories/notes.md")
    files = memory(tmp_path)
    texts = ["a" * 200_000, "b" * 100_000]
    files.create(notes, texts[0])

    def write() -> None:
        for turn in range(60):
            files.edit(notes, lambda _, turn=turn: TextEdit(text=texts[turn % 2], answer=""))

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            assert files.look(notes) in texts
        writing.result()
