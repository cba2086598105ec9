"""Marks of tests that need what some systems do not have. Each mark says why the test cannot hold there; on Linux every
such test runs."""

import os
import socket
import sys

import pytest

_WINDOWS = sys.platform == "win32"

needs_links = pytest.mark.skipif(_WINDOWS, reason="making a symbolic link on Windows needs a right that users lack")
needs_modes = pytest.mark.skipif(_WINDOWS, reason="Windows has no file modes: a file inherits its folder's access list")
needs_named_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows keeps named pipes in no folder")
needs_signals = pytest.mark.skipif(_WINDOWS, reason="a process on Windows ends with a status, not by a signal")
needs_process_ids = pytest.mark.skipif(_WINDOWS, reason="Windows cannot ask whether a process lives without harming it")
needs_socket_descriptors = pytest.mark.skipif(_WINDOWS, reason="a socket of Windows cannot be a standard stream")
needs_unix_sockets = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="Python has no AF_UNIX on Windows")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="what the script installs are programs for Linux")
needs_names_of_bytes = pytest.mark.skipif(
    _WINDOWS or sys.platform == "darwin", reason="the name of a file on Windows and macOS is text"
)
needs_bound_permissions = pytest.mark.skipif(
    _WINDOWS or os.geteuid() == 0, reason="file modes bind neither root nor a user of Windows"
)
