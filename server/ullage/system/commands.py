"""Runs a user's own programs: limited in time and output, outside any project, and without our environment."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from ullage.service.ports.world import CommandOutcome
from ullage.system.ended_with_us import start_with_us
from ullage.system.process_groups import kill_group

# The environment variables that a program needs to find its parts and to write text. No others are passed on, because
# they may be keys.
_PASSED_ON = (
    *("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    # The same on Windows, where Python's `os.environ` has its names in upper case.
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP"),
    *("USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
)
# Characters. A hook answers with one line of JSON, so longer output is a mistake and is cut.
_MOST_OUTPUT = 65_536


class SubprocessRunner:
    """Runs the user's own programs, for the port `CommandRunner`.

    A program that cannot be found or started, or that runs too long, gives a `CommandOutcome` with a `fault`. Programs
    get only the variables of `_PASSED_ON`, so no keys. They run in the user's home folder, because a project's folder
    may contain programs of its own. Input and output go through files: a child that the program leaves running could
    hold a pipe open, and Ullage would wait for it.
    """

    async def run(self, command: Sequence[str], given: bytes, timeout: float) -> CommandOutcome:
        program = _find(command[0])
        if program is None:
            return CommandOutcome(fault=f"there is no program {command[0]!r}; give its full path, or a name on PATH")
        with TemporaryFile() as given_file, TemporaryFile() as out, TemporaryFile() as err:
            given_file.write(given)
            given_file.seek(0)
            try:
                process = await start_with_us(
                    program,
                    *command[1:],
                    stdin=given_file,
                    stdout=out,
                    stderr=err,
                    cwd=Path.home(),
                    env=_environment(os.environ),
                )
            except OSError as error:
                return CommandOutcome(fault=f"{program} cannot be run: {error.strerror or error}")
            status = await _wait(process, timeout)
            if status is None:
                return CommandOutcome(fault=f"it took longer than {timeout:g} s and was stopped")
            return CommandOutcome(status=status, out=_beginning(out), err=_beginning(err))


async def _wait(process: asyncio.subprocess.Process, timeout: float) -> int | None:
    """Returns the program's exit status, or None if it ran longer than `timeout` seconds. The program has ended in any
    case when this returns."""
    try:
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            await kill_group(process)


def _find(name: str) -> str | None:
    if Path(name).is_absolute():
        return name
    # A relative path would depend on the folder in which Ullage was started.
    return shutil.which(name) if Path(name).name == name else None


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    return {name: ours[name] for name in _PASSED_ON if name in ours}


def _beginning(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_OUTPUT).decode(errors="replace")
