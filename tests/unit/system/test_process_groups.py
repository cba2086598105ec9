"""Child processes end together with all that they started. Windows' way is tested with a `taskkill` of the test's
own."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from ullage.host import Windows, here
from ullage.system.processes import ask_to_end, kill_group

PATIENCE = 60.0
WAIT = (sys.executable, "-c", "print(flush=True); import time; time.sleep(3600)")
# Replaces Windows' program: writes its arguments to a file next to itself and ends the process named last.
TASKKILL = f"""#!{sys.executable}
import os, pathlib, sys
pathlib.Path(__file__).with_name("asked").write_text(" ".join(sys.argv[1:]))
os.kill(int(sys.argv[-1]), 9)
"""
posix = pytest.mark.skipif(os.name != "posix", reason="imitates Windows on another system")


async def waiting_child() -> asyncio.subprocess.Process:
    """Returns a child that has begun to wait."""
    child = await asyncio.create_subprocess_exec(*WAIT, stdout=asyncio.subprocess.PIPE, **here.apart())
    assert child.stdout
    await asyncio.wait_for(child.stdout.readline(), PATIENCE)
    return child


async def test_child_that_is_asked_ends() -> None:
    child = await waiting_child()
    ask_to_end(child)
    assert await asyncio.wait_for(child.wait(), PATIENCE) != 0


async def test_child_that_is_killed_has_ended_when_the_call_returns() -> None:
    child = await waiting_child()
    await asyncio.wait_for(kill_group(child), PATIENCE)
    assert child.returncode not in (None, 0)
    await asyncio.wait_for(kill_group(child), PATIENCE)


@posix
async def test_windows_ends_the_whole_tree_by_taskkill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "taskkill"
    program.write_text(TASKKILL, encoding="utf-8")
    program.chmod(0o755)
    child = await waiting_child()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(here, "__class__", Windows)
    await asyncio.wait_for(kill_group(child), PATIENCE)
    assert (tmp_path / "asked").read_text(encoding="utf-8") == f"/T /F /PID {child.pid}"
    assert child.returncode not in (None, 0)


@posix
async def test_windows_without_taskkill_ends_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    child = await waiting_child()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(here, "__class__", Windows)
    await asyncio.wait_for(kill_group(child), PATIENCE)
    assert child.returncode not in (None, 0)


@posix
def test_windows_is_asked_for_a_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(here, "__class__", Windows)
    assert here.apart() == {"creationflags": 0x200}
