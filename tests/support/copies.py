"""Copies of a process that has imported what a program needs: a new process takes ten times the processor time.

Run as a program with an address and arguments, this file stands for a copy, for those who start a process and speak
with it: it has that copy's input, output, errors, variables, folder, signals and exit status. It runs without installed
packages, so this file needs none.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Never

# Bytes of a message. A longer one would not fit into the socket.
LONGEST = 100_000
_NUMBER = 4
_SERVE = "--serve"
_TESTS = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - `pathlib` takes longer than all else here


def begin(module: str, **variables: str) -> str:
    """Starts the process that is copied, and returns its address. It ends with this process. The module's `prepare`
    imports what copies need, and returns what runs in a copy."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        # Linux chooses a name, which is no file.
        door.bind("")
        door.listen(16)
        end, held = os.pipe()
        environment = {**os.environ, **variables}
        environment.pop("COVERAGE_PROCESS_CONFIG", None)
        # Without -P, the modules beside this file could be imported in place of others. Input and output are pipes, as
        # a copy has. Nothing is written to them.
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, _SERVE, module, str(door.fileno()), str(end)],
            env=environment,
            pass_fds=[door.fileno(), end],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        os.close(end)
        address = door.getsockname()[1:].decode()

    def stop() -> None:
        os.close(held)
        process.communicate()

    atexit.register(stop)
    return address


def command(address: str, *arguments: str) -> list[str]:
    """Returns the command that stands for a copy with these arguments."""
    return [sys.executable, "-I", "-S", __file__, address, *arguments]


def encoded(arguments: Sequence[str], environment: Mapping[str, str], folder: str) -> bytes:
    return json.dumps([arguments, dict(environment), folder]).encode()


def copy(address: str, told: bytes, files: Sequence[int]) -> socket.socket:
    """Makes a copy that has been told its arguments, variables and folder, with files for its input, output and errors.
    It is killed when the connection is closed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(f"\0{address}")
    socket.send_fds(connection, [told], files)
    return connection


def status_from(connection: socket.socket) -> int:
    """Waits for a copy's end and returns its exit status, negative for a signal."""
    received = connection.recv(_NUMBER)
    assert len(received) == _NUMBER, "the process that is copied has ended"
    return int.from_bytes(received, "little", signed=True)


def _serve(module: str, door: socket.socket, end: int) -> None:
    """Makes copies until the process that has started this one ends. Returns in each copy, after it has run."""
    sys.path.append(_TESTS)
    run: Callable[[Sequence[str]], None] = import_module(module).prepare()
    sys.path.remove(_TESTS)
    # Coverage asks for it when it begins. The first time in a process takes longer than a short command.
    import_module("inspect").stack()
    gc.freeze()
    # Nobody waits for the processes that watch copies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while end not in select.select([door, end], [], [])[0]:
        connection, _ = door.accept()
        told, files, _, _ = socket.recv_fds(connection, LONGEST, 3)
        if told and not os.fork():
            door.close()
            os.close(end)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if process := os.fork():
                _watch(process, connection, files)
            connection.close()
            return run(_become(told, files))
        connection.close()
        for each in files:
            os.close(each)
    os._exit(0)


def _watch(process: int, connection: socket.socket, files: Sequence[int]) -> Never:
    """Gives a copy the signals that come, and tells its exit status. Kills it when the connection is closed."""
    # The copy has no pipes but its own.
    for each in (*files, 0, 1):
        os.close(each)
    ended = os.pidfd_open(process)
    while ended not in (ready := select.select([ended, connection], [], [])[0]):
        assert connection in ready
        number = connection.recv(1)
        os.kill(process, number[0] if number else signal.SIGKILL)
        if not number:
            break
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with suppress(BrokenPipeError):
        connection.send(status.to_bytes(_NUMBER, "little", signed=True))
    os._exit(0)


def _become(told: bytes, files: Sequence[int]) -> list[str]:
    """Returns the arguments."""
    arguments, environment, folder = json.loads(told)
    for number, each in enumerate(files):
        os.dup2(each, number)
    for each in files:
        os.close(each)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if "COVERAGE_PROCESS_CONFIG" in environment:
        measured = import_module("coverage").process_startup()
        # Else it would look for the package's files that never ran, as pytest-cov does for all processes.
        measured._inorout.source_pkgs.clear()
    return arguments


def _stand_in(address: str, *arguments: str) -> Never:
    connection = copy(address, encoded(arguments, os.environ, os.getcwd()), (0, 1, 2))  # noqa: PTH109
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, _: connection.send(bytes([number])))
    # The copy's end is the end of its output.
    for number in (0, 1, 2):
        os.close(number)
    status = status_from(connection)
    if status < 0:
        with suppress(OSError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == _SERVE:
        _serve(sys.argv[2], socket.socket(fileno=int(sys.argv[3])), int(sys.argv[4]))
    else:
        _stand_in(*sys.argv[1:])
