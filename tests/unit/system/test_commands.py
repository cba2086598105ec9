"""Real programs, run as hooks are: bounded in time, with only the given input and environment; none outlives a signal
that ends Ullage."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from support.systems import needs_signals
from ullage.host import Windows, this_system
from ullage.system.processes import SubprocessRunner, ask_to_end, kill_group, last_words

PATIENCE = 60.0
# Connects to the test, says so, and waits. Only its own death ends the connection.
HOLD_AND_WAIT = (
    "import socket,sys,time; held=socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
    "held.sendall(b'held'); time.sleep(3600)"
)
# The same, until the test closes the connection.
HOLD = HOLD_AND_WAIT.replace("time.sleep(3600)", "held.recv(1)")
START_HOLDER = "import os,sys,time; os.spawnv(os.P_NOWAIT, sys.executable, ['python', *sys.argv[1:]]); time.sleep(3600)"
# Seconds, which a test lets pass.
LIMIT = 3_600


def python(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *map(str, arguments)]


class Holder:
    """Listens for one program that connects, and records the end of its connection."""

    def __init__(self) -> None:
        self.port = 0
        self.writers: list[asyncio.StreamWriter] = []
        self._reader: asyncio.Future[asyncio.StreamReader] = asyncio.get_running_loop().create_future()

    async def held(self) -> bytes:
        """Waits until the program is connected, and returns what it said."""
        return await asyncio.wait_for((await asyncio.wait_for(self._reader, PATIENCE)).readexactly(4), PATIENCE)

    async def gone(self) -> bool:
        """Returns once the program has ended."""
        with contextlib.suppress(ConnectionResetError):
            return await asyncio.wait_for(self._reader.result().read(), PATIENCE) == b""
        return True

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        self._reader.set_result(reader)


@contextlib.asynccontextmanager
async def listening() -> AsyncGenerator[Holder]:
    holder = Holder()
    server = await asyncio.start_server(holder.connected, "127.0.0.1", 0)
    holder.port = server.sockets[0].getsockname()[1]
    try:
        yield holder
    finally:
        for writer in holder.writers:
            writer.close()
        server.close()


async def test_a_program_reads_what_it_is_given_and_answers() -> None:
    code = "import json,sys; print(json.load(sys.stdin)['n'] + 1); print('careful', file=sys.stderr); sys.exit(3)"
    outcome = await SubprocessRunner().run(python(code), b'{"n": 41}', PATIENCE)
    assert (outcome.status, outcome.out, outcome.err, outcome.fault) == (3, "42\n", "careful\n", "")


async def test_a_program_that_does_not_read_its_input_is_no_trouble() -> None:
    outcome = await SubprocessRunner().run(python("print('done')"), b"x" * 1_000_000, PATIENCE)
    assert (outcome.status, outcome.out) == (0, "done\n")


async def test_no_key_and_nothing_else_of_ours_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-1")
    monkeypatch.setenv("SOMETHING_OF_OURS", "secret-2")
    code = "import json,os; print(json.dumps([dict(os.environ), os.getcwd()]))"
    outcome = await SubprocessRunner().run(python(code), b"", PATIENCE)
    environment, folder = json.loads(outcome.out)
    assert environment["PATH"] == os.environ["PATH"]
    assert "secret" not in outcome.out
    assert folder == str(Path.home().resolve())


async def test_a_program_that_takes_too_long_is_stopped_with_all_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    async with listening() as holder:
        holding = ("-I", "-S", "-c", HOLD_AND_WAIT, holder.port)
        run = asyncio.create_task(SubprocessRunner().run(python(START_HOLDER, *holding), b"", LIMIT))
        assert await holder.held() == b"held"
        monkeypatch.setattr(loop, "time", lambda: time.monotonic() + LIMIT)
        assert (await run).fault == f"it took longer than {LIMIT} s and was stopped"
        assert await holder.gone()


async def test_cancelling_stops_the_program_too() -> None:
    async with listening() as holder:
        task = asyncio.create_task(SubprocessRunner().run(python(HOLD_AND_WAIT, holder.port), b"", 3_600))
        assert await holder.held() == b"held"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await holder.gone()


async def test_a_remaining_child_process_is_not_waited_for() -> None:
    # The child keeps the parent's output open and outlives the parent.
    code = "import subprocess,sys; subprocess.Popen([sys.executable, *sys.argv[1:]]); print('ready')"
    async with listening() as holder:
        outcome = await SubprocessRunner().run(python(code, "-c", HOLD, holder.port), b"", PATIENCE)
        assert (outcome.status, outcome.out) == (0, "ready\n")
        assert await holder.held() == b"held"


async def test_of_much_output_the_beginning_is_read() -> None:
    outcome = await SubprocessRunner().run(python("print('x' * 1_000_000)"), b"", PATIENCE)
    assert outcome.out == "x" * 65_536


@pytest.mark.parametrize("name", ["no-such-program-anywhere", "./hook.sh", "hooks/hook.sh", "../hook.sh"])
async def test_a_program_must_be_on_path_or_named_in_full(name: str) -> None:
    outcome = await SubprocessRunner().run([name], b"", PATIENCE)
    assert outcome.fault == f"there is no program {name!r}; give its full path, or a name on PATH"


async def test_what_cannot_be_run_says_why(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("Milk, bread.\n")
    outcome = await SubprocessRunner().run([str(text)], b"", PATIENCE)
    assert outcome.fault == f"{text} cannot be run: Permission denied"


# Which line of an agent's standard error says why the agent ended


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["out of memory"], "out of memory"),
        (["Error: no such model", "    at open (index.js:3)".strip(), "Node.js v22.1.0"], "Error: no such model"),
        (["Traceback (most recent call last):", 'File "a.py", line 1, in f', "ValueError: 3"], "ValueError: 3"),
        (["thread 'main' panicked at a.rs:1", "note: run with `RUST_BACKTRACE=1`"], "thread 'main' panicked at a.rs:1"),
        (["Goodbye.", "[session/create] session=1 phase=register"], "Goodbye."),
        (["[session/create] session=1 phase=register"], ""),
        ([], ""),
    ],
)
def test_the_line_with_the_reason_is_quoted_and_no_entry_of_a_log(lines: list[str], why: str) -> None:
    assert last_words(lines) == why


# Child processes end together with all that they started. Windows' way is tested with a `taskkill` of the test's own


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
    child = await asyncio.create_subprocess_exec(*WAIT, stdout=asyncio.subprocess.PIPE, **this_system.apart())
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
    monkeypatch.setattr(this_system, "__class__", Windows)
    await asyncio.wait_for(kill_group(child), PATIENCE)
    assert (tmp_path / "asked").read_text(encoding="utf-8") == f"/T /F /PID {child.pid}"
    assert child.returncode not in (None, 0)


@posix
async def test_windows_without_taskkill_ends_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    child = await waiting_child()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(this_system, "__class__", Windows)
    await asyncio.wait_for(kill_group(child), PATIENCE)
    assert child.returncode not in (None, 0)


@posix
def test_windows_is_asked_for_a_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(this_system, "__class__", Windows)
    assert this_system.apart() == {"creationflags": 0x200}


# Seconds. A child ends within two; one that is forgotten lives longer than this, but not for ever.
SIGNAL_PATIENCE = 120.0
# Both hold a pipe open as long as they live. They neither read their input nor end at its end.
_GENTLE = "exec 3>'{pipe}'; echo ready >&3; sleep 150 & for n in $(seq 150); do sleep 1; done"
_STUBBORN = "trap '' TERM HUP INT; " + _GENTLE
_AGENT = """
import asyncio, sys
from ullage.system.processes import start_agent

async def main():
    agent = await start_agent(["sh", "-c", sys.argv[1]])
    await agent.process.wait()

asyncio.run(main())
"""
_HOOK = """
import asyncio, sys
from ullage.system.processes import SubprocessRunner

asyncio.run(SubprocessRunner().run(["sh", "-c", sys.argv[1]], b"", 3600))
"""


@needs_signals
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("child", [_GENTLE, _STUBBORN], ids=["gentle", "stubborn"])
@pytest.mark.parametrize("program", [_AGENT, _HOOK], ids=["agent", "hook"])
async def test_a_signal_that_ends_ullage_ends_what_it_has_started(
    tmp_path: Path, program: str, child: str, number: str
) -> None:
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    ours = subprocess.Popen(
        [sys.executable, "-c", program, child.format(pipe=pipe)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        # Opening it waits until the child has opened its end; reading ends when no process holds that any more.
        with await asyncio.wait_for(asyncio.to_thread(pipe.open, "rb"), SIGNAL_PATIENCE) as held:
            assert await asyncio.wait_for(asyncio.to_thread(held.readline), SIGNAL_PATIENCE) == b"ready\n"
            ours.send_signal(getattr(signal, number))
            assert await asyncio.wait_for(asyncio.to_thread(held.read), SIGNAL_PATIENCE) == b""
        status = await asyncio.wait_for(asyncio.to_thread(ours.wait), SIGNAL_PATIENCE)
        assert status != 0
    finally:
        ours.kill()
        ours.wait()
        assert ours.stdin is not None
        ours.stdin.close()
