"""Real programs, run as hooks are: bounded in time, with only the given input and environment."""

import asyncio
import fcntl
import json
import os
import sys
from pathlib import Path

import pytest

from ullage.system.commands import SubprocessRunner

PATIENCE = 10.0
# Takes a lock that only the process's end releases, prints that, and waits for ever.
HOLD_AND_WAIT = (
    "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.flock(f,2);"
    "say=open(sys.argv[2],'w'); say.write('held'); say.close(); time.sleep(3600)"
)
START_HOLDER = "import subprocess,sys,time; subprocess.Popen([sys.executable, *sys.argv[1:]]); time.sleep(3600)"


def python(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


async def wait_for_lock(path: Path) -> None:
    """Waits until no process holds the lock."""

    def take() -> None:
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)

    await asyncio.wait_for(asyncio.to_thread(take), PATIENCE)


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


async def test_a_program_that_takes_too_long_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    lock, held = tmp_path / "lock", tmp_path / "held"
    os.mkfifo(held)
    run = SubprocessRunner().run(python(START_HOLDER, "-c", HOLD_AND_WAIT, lock, held), b"", 2)
    said, outcome = await asyncio.wait_for(asyncio.gather(asyncio.to_thread(held.read_text), run), PATIENCE)
    assert (said, outcome.fault) == ("held", "it took longer than 2 s and was stopped")
    await wait_for_lock(lock)


async def test_cancelling_stops_the_program_too(tmp_path: Path) -> None:
    lock, held = tmp_path / "lock", tmp_path / "held"
    os.mkfifo(held)
    task = asyncio.create_task(SubprocessRunner().run(python(HOLD_AND_WAIT, lock, held), b"", 3_600))
    assert await asyncio.wait_for(asyncio.to_thread(held.read_text), PATIENCE) == "held"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_for_lock(lock)


async def test_a_child_left_behind_does_not_hold_us(tmp_path: Path) -> None:
    # The child keeps the parent's output open and outlives the parent.
    code = "import subprocess,sys; subprocess.Popen([sys.executable,'-c','import time; time.sleep(2)']); print('ready')"
    outcome = await SubprocessRunner().run(python(code), b"", 1.5)
    assert (outcome.status, outcome.out) == (0, "ready\n")


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
