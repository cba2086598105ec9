"""Runs `ullage` in a copy of a process that has imported it, as `python -m ullage` does in a new process. That takes a
tenth to a third of the processor time. No file of Ullage imports itself over others (`tests/tidy/test_circles.py`), so
that the order in which files are imported changes nothing.
"""

import atexit
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from support import copies

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
# What Python and the C library read once, at the start.
_UTF8 = "PYTHONUTF8"
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC")

Command = tuple[Sequence[str], Mapping[str, str], str]


def fits(command: Command) -> bool:
    """Returns whether a copy does what a new process with these arguments, environment and folder does."""
    if sys.platform != "linux" or len(copies.encoded(*command)) > copies.LONGEST:
        return False
    return _read_at_start(command[1]) == _read_at_start(os.environ)


def run(command: Command, stdin: bytes, patience: float) -> tuple[int, bytes, bytes]:
    """Returns the exit status and what was written. Raises `TimeoutExpired` if it takes over `patience` seconds."""
    source, sink = os.pipe()
    pipes = os.pipe(), os.pipe()
    given = (source, pipes[0][1], pipes[1][1])
    connection = copies.copy(_address(command[1].get(_UTF8, "")), copies.encoded(*command), given)
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
    with connection:
        connection.settimeout(patience)
        try:
            status = copies.status_from(connection)
        except TimeoutError:
            raise subprocess.TimeoutExpired(list(command[0]), patience) from None
        finally:
            # If it still runs, it is killed.
            connection.close()
            for thread in threads:
                thread.join()
    return status, written[0], written[1]


def stand_in(*arguments: str) -> list[str]:
    """Returns a command that does what `python -m ullage ARGUMENTS` does, for those who start a process. A program that
    looks at its own process needs a new one."""
    if sys.platform != "linux":
        return [sys.executable, "-m", "ullage", *arguments]
    return copies.command(_address(""), *arguments)


def program(folder: Path) -> Path:
    """Writes the program `ullage`, which does what the installed one does, for those who start it by its path."""
    if sys.platform != "linux":
        return Path(sys.executable).with_name("ullage")
    file = folder / "ullage"
    interpreter, *arguments = stand_in()
    # Its process has the name of the program and the arguments in its command line, as the installed one.
    started = f"sys.argv[1:1] = {arguments[-1:]}\nrunpy.run_path({copies.__file__!r}, run_name='__main__')"
    file.write_text(f"#!{interpreter} -IS\nimport runpy, sys\n{started}\n")
    file.chmod(0o755)
    return file


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    found = {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}
    # In UTF-8 mode Python does not ask the locale for an encoding, and this one has no words and formats of its own.
    if found.pop(_UTF8, "") == "1" and found.get("LC_ALL") == "C.UTF-8":
        del found["LC_ALL"]
    return found


@cache
def _address(is_utf8: str) -> str:
    return copies.begin(__name__, **{_UTF8: is_utf8})


def prepare() -> Callable[[Sequence[str]], None]:
    """Imports what commands need, in the process that is copied, and returns what runs in a copy."""
    for module in (*_LIBRARIES, *_own_modules()):
        import_module(module)
    from ullage.tokens.vocabulary import warm_up  # noqa: PLC0415

    for vocabulary in _VOCABULARIES:
        warm_up(vocabulary)
    return _begin


def _begin(arguments: Sequence[str]) -> None:
    """Runs the command in this process, which ends as Python ends."""
    # Where `-m` looks first.
    sys.path.insert(0, str(Path.cwd()))
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
