"""The small MCP servers of the tests, each run in a copy of a process that has imported the official SDK. In a new
process that takes seconds of processor time, many times what the test takes."""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from support import copies


def command_of(name: str) -> tuple[str, list[str]]:
    """Returns the program and the arguments that run `support/NAME.py`, to be spoken with over stdio."""
    if sys.platform != "linux":
        return sys.executable, [str(Path(__file__).with_name(f"{name}.py")), "stdio"]
    program, *arguments = copies.command(_address(), name)
    return program, arguments


@cache
def _address() -> str:
    return copies.begin(__name__)


def prepare() -> Callable[[Sequence[str]], None]:
    servers = {name: import_module(f"support.{name}").server for name in ("small_mcp_server", "asking_mcp_server")}
    return lambda arguments: servers[arguments[0]].run("stdio")
