"""What a program does when its output is closed, or the user presses Ctrl-C."""

import signal
import subprocess
import sys

from support.command_line import SAMPLE

PATIENCE = 60


def test_reader_that_leaves_ends_the_command_quietly() -> None:
    command = [sys.executable, "-m", "ullage", "context", str(SAMPLE), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(PATIENCE) == 128 + signal.SIGPIPE
        assert process.stderr.read() == b""


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
