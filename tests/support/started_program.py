"""Runs `ullage` in a copy of a process that has imported it, as `python -m ullage` does in a new process. That takes a
tenth to a third of the processor time. No file of Ullage imports itself over others (`tests/tidy/test_circles.py`), so
that the order in which files are imported changes nothing.

Run as a program, this file is the process that is copied. Its argument is a socket, by which it gets commands, each
with the files for standard input, output and errors, and one for the process id and the exit status.
"""

import atexit
import gc
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import msgspec

_LIBRARIES = (
    *("argparse", "asyncio", "coverage", "ctypes", "difflib", "filelock", "html", "http.client", "inspect", "logging"),
    *(
        "platformdirs",
        "regex",
        "rich.align",
        "rich.console",
        "rich.table",
        "rich.text",
        "shlex",
        "sqlite3",
        "statistics",
    ),
    *("tempfile", "tiktoken", "typing_extensions", "urllib.request", "uuid"),
)
_PACKAGES = (
    "cli",
    "app",
    "agents",
    "formats",
    "lost",
    "watch",
    "service",
    "store.sqlite",
    "store.search",
    "edits",
    "wire",
)
_VOCABULARIES = ("cl100k_base", "o200k_base")
# Bytes. A longer message would not fit into the socket.
_LONGEST = 100_000
# What Python and the C library read once, at the start.
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC")
_NUMBER = 4

Command = tuple[Sequence[str], Mapping[str, str], str]


def fits(command: Command) -> bool:
    """Returns whether a copy does what a new process with these arguments, environment and folder does."""
    if sys.platform != "linux" or len(msgspec.json.encode(command)) > _LONGEST:
        return False
    return read_at_start(command[1]) == _starter()[1]


def run(command: Command, stdin: bytes, patience: float) -> tuple[int, bytes, bytes]:
    """Returns the exit status and what was written. Raises `TimeoutExpired` if it takes over `patience` seconds."""
    ours, theirs = socket.socketpair()
    source, sink = os.pipe()
    pipes = os.pipe(), os.pipe()
    given = (source, pipes[0][1], pipes[1][1], theirs.detach())
    socket.send_fds(_starter()[0], [msgspec.json.encode(command)], given)
    for each in given:
        os.close(each)
    written = [b"", b""]

    def feed() -> None:
        # The command may end before it has read it all.
        with suppress(BrokenPipeError), os.fdopen(sink, "wb") as file:
            file.write(stdin)

    def read(place: int) -> None:
        with os.fdopen(pipes[place][0], "rb") as file:
            written[place] = file.read()

    threads = [threading.Thread(target=feed), *(threading.Thread(target=read, args=(each,)) for each in (0, 1))]
    for thread in threads:
        thread.start()
    with ours:
        ours.settimeout(patience)
        process = number(ours)
        try:
            status = number(ours)
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(command[0]), patience) from None
        finally:
            for thread in threads:
                thread.join()
    return status, written[0], written[1]


def read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


def number(connection: socket.socket) -> int:
    received = connection.recv(_NUMBER, socket.MSG_WAITALL)
    assert len(received) == _NUMBER, "the process that is copied has ended"
    return int.from_bytes(received, "little", signed=True)


@cache
def _starter() -> tuple[socket.socket, dict[str, str]]:
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    environment = {**os.environ, "PYTHONUTF8": "1"}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)
    with theirs:
        # Without -P, this folder's modules could be imported in place of others.
        command = [sys.executable, "-P", __file__, str(theirs.fileno())]
        # Pipes, as a command has. Nothing is written to them.
        process = subprocess.Popen(
            command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def stop() -> None:
        ours.close()
        process.communicate()

    atexit.register(stop)
    return ours, read_at_start(environment)


def _serve(door: socket.socket) -> None:
    """Starts the commands, until the socket is closed at its other end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        text, files, _, _ = socket.recv_fds(door, _LONGEST, 4)
        if not text:
            os._exit(0)
        if not os.fork():
            door.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if process := os.fork():
                _wait(process, files)
            return _begin(msgspec.json.decode(text, type=tuple[list[str], dict[str, str], str]), files)
        for each in files:
            os.close(each)


def _wait(process: int, files: list[int]) -> None:
    for each in files[:3]:
        os.close(each)
    # The command has no pipes but its own.
    for each in range(3):
        os.close(each)
    os.write(files[3], process.to_bytes(_NUMBER, "little", signed=True))
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.write(files[3], status.to_bytes(_NUMBER, "little", signed=True))
    os._exit(0)


def _begin(command: tuple[list[str], dict[str, str], str], files: list[int]) -> None:
    """Runs the command in this process, which ends as Python ends."""
    arguments, environment, folder = command
    for number, each in enumerate(files[:3]):
        os.dup2(each, number)
    os.closerange(3, max(files) + 1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.insert(0, folder)
    if "COVERAGE_PROCESS_CONFIG" in environment:
        import coverage  # noqa: PLC0415

        coverage.process_startup()
    sys.argv = ["ullage", *arguments]
    try:
        runpy.run_module("ullage", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, int):
            _end(end.code)
        raise


def _end(status: int) -> None:
    """Ends as Python does, but takes no module apart, which would copy most of the memory."""
    vars(threading)["_shutdown"]()
    vars(atexit)["_run_exitfuncs"]()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _own_modules() -> Iterator[str]:
    """Returns the modules of the commands, and most of what they import."""
    for name in _PACKAGES:
        package = import_module(f"ullage.{name}")
        yield from (each.name for each in walk_packages(package.__path__, f"{package.__name__}."))


if __name__ == "__main__":
    for module in (*_LIBRARIES, *_own_modules()):
        import_module(module)
    from ullage.tokens.vocabulary import warm_up

    for vocabulary in _VOCABULARIES:
        warm_up(vocabulary)
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
