"""What a copy of a process does is what a new process does."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support import copies, started_program
from support.command_line import PATIENCE, SAMPLE, new_process
from support.systems import needs_linux

pytestmark = needs_linux
_UTF8 = {"PYTHONUTF8": "1"}


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["--version"], b""),
        (["schema"], b""),
        (["context", str(SAMPLE)], b""),
        (["compact", str(SAMPLE)], b""),
        (["context", "-"], SAMPLE.read_bytes()),
        # It ends before it has read this.
        (["--version"], SAMPLE.read_bytes() * 100),
        (["context", "no-such-file"], b""),
        (["no-such-command"], b""),
        (["sessions", "--help"], b""),
    ],
)
def test_a_copy_does_what_a_new_process_does(arguments: list[str], stdin: bytes, tmp_path: Path) -> None:
    command = arguments, {**os.environ, **_UTF8, "COLUMNS": "80"}, str(tmp_path)
    assert started_program.fits(command)
    new = new_process(*arguments, env={**_UTF8, "COLUMNS": "80"}, stdin=stdin, cwd=tmp_path)
    assert started_program.run(command, stdin, PATIENCE) == (new.status, new.out, new.err)


def test_a_locale_of_utf8_changes_nothing_in_utf8_mode(tmp_path: Path) -> None:
    env = {**_UTF8, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    command = ["context", str(SAMPLE)], {**os.environ, **env}, str(tmp_path)
    assert started_program.fits(command)
    new = new_process("context", str(SAMPLE), env=env, cwd=tmp_path)
    assert started_program.run(command, b"", PATIENCE) == (new.status, new.out, new.err)


def test_a_copy_has_the_variables_and_the_folder_that_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "sample.jsonl").write_bytes(SAMPLE.read_bytes())
    data = tmp_path / "data"
    command = ["import", "sample.jsonl"], {**os.environ, **_UTF8, "XDG_DATA_HOME": str(data)}, str(tmp_path)
    status, _, err = started_program.run(command, b"", PATIENCE)
    assert (status, [path.name for path in data.glob("*/sessions.db")]) == (0, ["sessions.db"]), err


@pytest.mark.parametrize("name", ["PYTHONIOENCODING", "LC_ALL"])
def test_where_python_reads_a_variable_at_its_start_there_is_no_copy(name: str) -> None:
    assert not started_program.fits((["--version"], {**os.environ, **_UTF8, name: "C"}, "/"))


def test_a_copy_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    command = ["context", "log"], {**os.environ, **_UTF8}, str(tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        started_program.run(command, b"", 1.0)


def test_a_copy_that_is_killed_before_its_end_is_no_success() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    with ours, pytest.raises(AssertionError, match="has ended"):
        copies.status_from(ours)


@pytest.mark.parametrize("arguments", [["--version"], ["context", str(SAMPLE)], ["no-such-command"]])
def test_what_stands_for_a_copy_does_what_a_new_process_does(arguments: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, **_UTF8, "COLUMNS": "80"}
    command = started_program.stand_in(*arguments)
    ran = subprocess.run(command, capture_output=True, timeout=PATIENCE, env=environment, cwd=tmp_path, check=False)
    new = new_process(*arguments, env={**_UTF8, "COLUMNS": "80"}, cwd=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (new.status, new.out, new.err)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_what_stands_for_a_copy_ends_it_by_each_signal_as_a_new_process_ends(number: int, tmp_path: Path) -> None:
    greeting = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    arguments = ("mcp", "--store", str(tmp_path / "s.db"))
    outcomes: list[tuple[int, bytes]] = []
    for command in (started_program.stand_in(*arguments), [sys.executable, "-m", "ullage", *arguments]):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(greeting)
            process.stdin.flush()
            answer = process.stdout.readline()
            process.send_signal(number)
            # The end of the output is the end of every process that has it.
            outcomes.append((process.wait(PATIENCE), answer + process.stdout.read()))
    assert outcomes[0] == outcomes[1]
