"""The small MCP servers of the tests, each run in a copy of a process that has imported the official SDK. In a new
process that takes seconds of processor time, many times what the test takes.

Run as a program with an address and a server's name, this file stands for such a copy, which has its input, output,
environment and folder.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Never

_NAMES = ("small_mcp_server", "asking_mcp_server")
# Bytes of a name, a folder and an environment.
_LONGEST = 100_000


def command_of(name: str) -> tuple[str, list[str]]:
    """Returns the program and the arguments that run `support/NAME.py`, to be spoken with over stdio."""
    if sys.platform != "linux":
        return sys.executable, [str(Path(__file__).with_name(f"{name}.py")), "stdio"]
    # What stands for the copy needs no installed packages.
    return sys.executable, ["-I", "-S", __file__, _address(), name]


@cache
def _address() -> str:
    """Starts the process that is copied, which ends with this one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        # Linux chooses a name, which is no file.
        door.bind("")
        door.listen()
        end, held = os.pipe()
        command = [sys.executable, "-P", __file__, str(door.fileno()), str(end)]
        process = subprocess.Popen(command, pass_fds=[door.fileno(), end], stdin=subprocess.DEVNULL)
        os.close(end)

        def stop() -> None:
            os.close(held)
            process.wait()

        atexit.register(stop)
        return door.getsockname()[1:].decode()


def _serve(door: socket.socket, end: int) -> Never:
    sys.path.insert(0, str(Path(__file__).parent))
    servers = {name: import_module(name).server for name in _NAMES}
    # Nobody waits for the copies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while end not in select.select([door, end], [], [])[0]:
        connection, _ = door.accept()
        text, files, _, _ = socket.recv_fds(connection, _LONGEST, 3)
        if text and not os.fork():
            door.close()
            _run(servers, connection, text, files)
        connection.close()
        for each in files:
            os.close(each)
    os._exit(0)


def _run(servers: dict[str, Any], connection: socket.socket, text: bytes, files: list[int]) -> Never:
    """Runs a server in this process, which ends with the one that it stands behind."""

    def end() -> None:
        connection.recv(1)
        os._exit(1)

    name, folder, environment = json.loads(text)
    for number, each in enumerate(files):
        os.dup2(each, number)
        os.close(each)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    threading.Thread(target=end, daemon=True).start()
    servers[name].run("stdio")
    os._exit(0)


def _stand_for_a_copy(address: str, name: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(f"\0{address}")
        text = json.dumps([name, str(Path.cwd()), dict(os.environ)]).encode()
        socket.send_fds(connection, [text], [0, 1, 2])
        # Nothing is sent: this is the copy's end.
        connection.recv(1)


if __name__ == "__main__":
    first, second = sys.argv[1:]
    if second in _NAMES:
        _stand_for_a_copy(first, second)
    else:
        _serve(socket.socket(fileno=int(first)), int(second))
