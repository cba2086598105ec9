"""Runs a part of Ullage (`bare_parts.py`) as on a system without the modules and calls that only POSIX has.

Usage: `python -m support.bare_system PART ARGUMENT…`. Python's own library, `platformdirs` and the SDK of MCP are
imported first, since on this system they need what is taken away afterwards.
"""

import asyncio
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module, reload
from typing import Any, cast

import mcp
import platformdirs

from ullage.host import Windows, this_system

# Modules that the parts use, directly or through Python's library, and that choose what they import by the system's
# name. They must be imported before anything is removed.
LIBRARY = (asyncio, mcp, platformdirs, shutil, socket, sqlite3, subprocess, tempfile)
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
CALLS = (
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fchown", "fork"),
    *("forkpty", "getegid", "geteuid", "getgid", "getpgid", "getuid", "killpg", "mkfifo", "openpty", "setsid", "uname"),
)
SIGNALS = ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1")
# Functions that raise NotImplementedError for `dir_fd` in Windows' `os`.
BY_FOLDER = ("chmod", "link", "mkdir", "open", "readlink", "rename", "rmdir", "stat", "symlink", "unlink")


def strip() -> None:
    """Removes what Windows' Python does not have."""
    # `None` makes an import raise ModuleNotFoundError.
    cast("dict[str, object]", sys.modules).update(dict.fromkeys(MODULES))
    for module, names in ((os, CALLS), (signal, SIGNALS)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    this_system.__class__ = Windows
    for name in BY_FOLDER:
        setattr(os, name, _only_by_path(getattr(os, name)))
    os.supports_dir_fd, os.supports_fd = set(), set()
    # `shutil` chooses how it removes a tree when it is imported.
    reload(shutil)


def _only_by_path(call: Callable[..., Any]) -> Callable[..., Any]:
    def by_path(*args: Any, **options: Any) -> Any:
        if any(options.pop(name, None) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
            raise NotImplementedError("dir_fd unavailable on this platform")
        return call(*args, **options)

    return by_path


if __name__ == "__main__":
    strip()
    import_module("support.bare_parts").PARTS[sys.argv[1]](*sys.argv[2:])
