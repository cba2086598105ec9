"""What a program does when its output is closed, or the user presses Ctrl-C; and a door that ends has closed its
store."""

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.command_line import SAMPLE
from support.lsp_client import PATIENCE, ROOT, frame
from support.panes import wait_until
from support.proxy_rig import TOY
from support.systems import needs_linux

if sys.platform == "win32":
    pytest.skip("a process on Windows ends with a status, not by a signal", allow_module_level=True)

import fcntl
import termios


def test_reader_that_leaves_ends_the_command_quietly() -> None:
    command = [sys.executable, "-m", "ullage", "context", str(SAMPLE), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(PATIENCE) == 128 + signal.SIGPIPE
        assert process.stderr.read() == b""


def test_ctrl_c_after_the_work_is_done_shows_no_traceback() -> None:
    code = "import atexit, signal, sys; atexit.register(signal.raise_signal, signal.SIGINT); "
    code += "from ullage.cli.main import main; sys.exit(main())"
    run = [sys.executable, "-c", code, "context", str(SAMPLE)]
    ended = subprocess.run(run, capture_output=True, check=False, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr, bool(ended.stdout)) == (130, b"", True)


@needs_linux
def test_a_command_that_is_stopped_and_continued_prints_everything() -> None:
    # Types of other systems lack the size of a pipe.
    assert sys.platform == "linux"
    command = [sys.executable, "-m", "ullage", "context", str(SAMPLE), "--json", "--messages"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout is not None
        # The pipe is full, so the command waits in the middle of a write.
        pipe = process.stdout.fileno()
        full = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)
        wait_until(lambda: waiting_in(pipe) == full)
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: b"State:\tT" in Path(f"/proc/{process.pid}/status").read_bytes())
        process.send_signal(signal.SIGCONT)
        printed = process.stdout.read()
        assert process.wait(PATIENCE) == 0
    assert len(printed) > full
    assert json.loads(printed)["version"] == 1


def waiting_in(pipe: int) -> int:
    """Returns how many bytes a pipe holds."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def test_interrupt_ends_the_demo_and_its_server_quietly() -> None:
    command = [sys.executable, "-u", "-m", "ullage", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # The first line shows that the server runs and the conversation has begun.
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(PATIENCE) == 128 + signal.SIGINT
        assert process.stderr.read() == b""


@pytest.mark.parametrize("command", ["context", "lost", "messages", "import", "compact"])
def test_ctrl_c_ends_a_command_while_it_reads_a_file(tmp_path: Path, command: str) -> None:
    # A reader of a pipe waits until all writers have left.
    pipe = tmp_path / "log.jsonl"
    os.mkfifo(pipe)
    arguments = [sys.executable, "-m", "ullage", command, str(pipe), "--store", str(tmp_path / "s.db")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with pipe.open("wb"):
            out, err = interrupted(process)
        assert (process.returncode, out) == (128 + signal.SIGINT, b"")
        assert b"Traceback" not in err


# The first lines of programs that start `ullage`, and in which code that swallows an exception gets a Ctrl-C.
BEGINS = """
import os, signal, sys, time
from ullage.cli.main import main

def interrupt(*_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except KeyboardInterrupt:
        pass
"""
WHILE_IT_IMPORTS = (
    BEGINS
    + """
class Finder:
    def find_spec(self, name, *_):
        if name == "ullage.agents.table":
            interrupt()
sys.meta_path.insert(0, Finder())
sys.exit(main())
"""
)
WHILE_IT_LOOKS = (
    BEGINS
    + """
from ullage.app import catalogue

class Slow:
    def __init__(self, *_):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    has_place = staticmethod(lambda _: True)
catalogue.ReadingAll = Slow
sys.exit(main())
"""
)


@pytest.mark.parametrize("program", [WHILE_IT_IMPORTS, WHILE_IT_LOOKS], ids=["imports", "looks"])
def test_ctrl_c_ends_a_search_while_it_starts(tmp_path: Path, program: str) -> None:
    command = [sys.executable, "-c", program, "search", "wet", "--store", str(tmp_path / "s.db")]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=50)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGINT, b"", b"")


def interrupted(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Returns a process's output and errors. Python sees a signal that comes just before a read begins only when the
    read ends, so whoever gets no answer to Ctrl-C presses it again."""
    for _ in range(int(PATIENCE) // 20):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=20)
    pytest.fail("Ctrl-C was not seen")


def test_a_pipe_that_the_user_names_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "log.jsonl"
    os.mkfifo(pipe)
    arguments = [sys.executable, "-m", "ullage", "context", str(pipe), "--json", "--store", str(tmp_path / "s.db")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with pipe.open("wb") as written:
            written.write(SAMPLE.read_bytes())
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["used"] > 0


Json = dict[str, Any]


def line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


def request(number: int, method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


LSP = (
    request(1, "initialize", processId=None, capabilities={}),
    request(2, "ullage/session/new"),
)
ACP = (
    request(1, "initialize", protocolVersion=1, clientCapabilities={}),
    request(2, "session/new", cwd="/project", mcpServers=[]),
    request(3, "session/prompt", sessionId="toy_1", prompt=[{"type": "text", "text": "Hello"}]),
)


@pytest.mark.parametrize(
    ("command", "framed", "messages"),
    [
        pytest.param(("lsp",), frame, LSP, id="Language Server"),
        pytest.param(("acp",), line, ACP, id="agent"),
        pytest.param(("acp", "--", sys.executable, str(TOY), "{}"), line, ACP, id="proxy"),
    ],
)
def test_a_door_that_ends_leaves_no_connection_to_its_store_open(
    command: tuple[str, ...], framed: Callable[[Json], bytes], messages: tuple[Json, ...], tmp_path: Path
) -> None:
    store = tmp_path / "sessions.db"
    name, *rest = command
    path = os.pathsep.join(str(ROOT / folder) for folder in ("server", "tests"))
    done = subprocess.run(
        [sys.executable, "-m", "support.open_databases", name, "--store", str(store), *rest],
        env={**os.environ, "PYTHONPATH": path},
        input=b"".join(map(framed, messages)),
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b'"sessionId"' in done.stdout
    assert store.exists()
