"""Runs an agent and keeps all bytes: `python tee.py FOLDER AGENT ARGS…` writes `to_agent` and `from_agent`."""

import os
import subprocess
import sys
import threading
from pathlib import Path

_CHUNK = 1 << 16


def copy(source: int, sink: int, kept: int) -> None:
    """Forwards bytes. They are written to the file first, so that the file has every byte that the receiver has."""
    while data := os.read(source, _CHUNK):
        os.write(kept, data)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(sink, rest) :]


def main() -> int:
    folder, *command = sys.argv[1:]
    agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None
    assert agent.stdout is not None
    kept = [os.open(Path(folder) / name, os.O_APPEND | os.O_CREAT | os.O_WRONLY) for name in ("to_agent", "from_agent")]
    given = agent.stdin.fileno()

    def pass_on() -> None:
        copy(0, given, kept[0])
        os.close(given)

    threading.Thread(target=pass_on, daemon=True).start()
    copy(agent.stdout.fileno(), 1, kept[1])
    return agent.wait()


if __name__ == "__main__":
    # The thread that reads the input may still wait for a client that is connected.
    os._exit(main())
