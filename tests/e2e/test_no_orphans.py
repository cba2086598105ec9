"""However an editor or a server ends, no process of theirs is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from support.panes import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")

_SUPPORT = Path(__file__).parents[1] / "support"
_EDITOR, _TOY = _SUPPORT / "leaving_editor.py", _SUPPORT / "toy_agent.py"
# Neither the end of its input nor, if it has an argument, SIGTERM ends it.
_DEAF = """
import json, signal, sys, threading
if sys.argv[1:]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
asked = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 1}}), flush=True)
threading.Event().wait()
"""
_PYTHON = sys.executable
_PROGRAM = [_PYTHON, "-m", "ullage"]
SERVERS: dict[str, tuple[str, list[str]]] = {
    "lsp": ("lsp", [*_PROGRAM, "lsp"]),
    "acp": ("acp", [*_PROGRAM, "acp"]),
    "mcp": ("mcp", [*_PROGRAM, "mcp"]),
    "proxy": ("acp", [*_PROGRAM, "acp", "--", _PYTHON, str(_TOY), "{}"]),
    "proxy of a shell": ("acp", [*_PROGRAM, "acp", "--", "sh", "-c", f"'{_PYTHON}' '{_TOY}' '{{}}'; true"]),
    "proxy of a deaf agent": ("acp", [*_PROGRAM, "acp", "--", _PYTHON, "-c", _DEAF]),
    "proxy of an agent that ignores SIGTERM": ("acp", [*_PROGRAM, "acp", "--", _PYTHON, "-c", _DEAF, "ignore"]),
}


class Left:
    """An editor with a server, and the processes of both: all that have the mark in their environment."""

    def __init__(self, editor: "subprocess.Popen[bytes]", server: int, mark: str) -> None:
        self.editor, self.server, self._mark = editor, server, mark.encode()

    def tell(self, word: str) -> None:
        assert self.editor.stdin is not None
        self.editor.stdin.write(word.encode() + b"\n")
        self.editor.stdin.flush()

    def processes(self) -> set[int]:
        """Returns the ids of the processes that run, except the editor and those that the test has it start."""
        return {int(one.name) for one in Path("/proc").glob("[0-9]*") if self._is_one(one)} - {self.editor.pid}

    def _is_one(self, process: Path) -> bool:
        try:
            command, state = (process / "cmdline").read_bytes(), (process / "stat").read_text().rpartition(")")[2]
            marked = self._mark in (process / "environ").read_bytes()
        except OSError:
            return False
        return marked and state.split()[0] != "Z" and command != b"cat\0"


def surroundings(folder: Path, mark: str) -> dict[str, str]:
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "ANTHROPIC_API_KEY": "none"}
    return {**os.environ, **home, "ULLAGE_TEST_MARK": mark}


@contextmanager
def started(folder: Path, name: str, *, shares: bool = False) -> Generator[Left]:
    door, command = SERVERS[name]
    mark = uuid4().hex
    line = [_PYTHON, str(_EDITOR), door, str(int(shares)), *command]
    environment = surroundings(folder, mark)
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as editor:
        assert editor.stdout is not None
        left = Left(editor, int(editor.stdout.readline()), mark)
        try:
            assert left.server in left.processes()
            yield left
        finally:
            editor.kill()
            for process in left.processes():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


DOORS = ("lsp", "acp", "mcp", "proxy")
EVERY = [*DOORS, *(pytest.param(name, marks=pytest.mark.long) for name in SERVERS if name not in DOORS)]
SIGNALS = [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGHUP, signal.SIGINT))]
EDITOR_ENDS: dict[str, Callable[[Left], object]] = {
    "closes the server's input": lambda left: left.tell("input"),
    "closes the server's output": lambda left: left.tell("output"),
    "ends": lambda left: left.tell("exit"),
    "is killed": lambda left: left.editor.kill(),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("end", EDITOR_ENDS)
def test_a_server_and_its_agent_end_with_the_editor(tmp_path: Path, name: str, end: str) -> None:
    with started(tmp_path, name) as left:
        EDITOR_ENDS[end](left)
        wait_until(lambda: not left.processes())


@pytest.mark.parametrize("name", DOORS)
def test_a_server_ends_with_an_editor_whose_pipes_another_process_holds(tmp_path: Path, name: str) -> None:
    with started(tmp_path, name, shares=True) as left:
        left.editor.kill()
        wait_until(lambda: not left.processes())


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("number", SIGNALS)
def test_no_process_is_left_of_a_server_that_a_signal_ends(tmp_path: Path, name: str, number: signal.Signals) -> None:
    with started(tmp_path, name) as left:
        os.kill(left.server, number)
        wait_until(lambda: not left.processes())


@pytest.mark.parametrize("name", SERVERS)
def test_no_process_is_left_of_a_server_that_is_killed(tmp_path: Path, name: str) -> None:
    with started(tmp_path, name) as left:
        os.kill(left.server, signal.SIGKILL)
        wait_until(lambda: not left.processes())


@pytest.mark.parametrize("number", range(3))
def test_no_agent_is_left_of_a_server_that_is_killed_as_soon_as_it_has_a_child(tmp_path: Path, number: int) -> None:
    mark, deaf = uuid4().hex, [_PYTHON, "-c", "import threading; threading.Event().wait()"]
    command = [*_PROGRAM, "acp", "--", *deaf]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=surroundings(tmp_path, mark)) as server:
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
        # Without a pause: what is to be met takes milliseconds.
        while server.poll() is None and not children.read_bytes():
            pass
        server.kill()
    left = Left(server, server.pid, mark)
    try:
        wait_until(lambda: not left.processes())
    finally:
        for process in left.processes():
            os.kill(process, signal.SIGKILL)
