"""The entry point: finds the command, runs it, and turns an error into one line and an exit status."""

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from ullage.cli.arguments import build_parser
from ullage.model.errors import UllageError

# The exit statuses by which shells report a signal: 128 + SIGINT, 128 + SIGPIPE.
_INTERRUPTED, _BROKEN_PIPE = 130, 141
_BAD_INPUT = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns 0 on success, 1 if the command found something wrong, 2 for unusable input."""
    args = build_parser().parse_args(_with_environment(sys.argv[1:] if argv is None else argv))
    _write_utf8()
    try:
        status = _run(args)
        sys.stdout.flush()
    except UllageError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader is gone. Python flushes stdout once more at exit, and a failure of that would print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def _write_utf8() -> None:
    """Makes redirected output UTF-8 with plain line ends on Windows, where it would be in the system's code page."""
    if sys.platform == "win32":
        out = sys.stdout
        if isinstance(out, TextIOWrapper) and not out.isatty():
            out.reconfigure(encoding="utf-8", newline="\n")


def _with_environment(argv: Sequence[str]) -> Sequence[str]:
    """Returns the arguments, for `lsp` with those in ULLAGE_LSP_OPTIONS added.

    Editors start the server with arguments of their own, which users can't always change.
    """
    if argv[:1] != ["lsp"]:
        return argv
    return [*argv, *shlex.split(os.environ.get("ULLAGE_LSP_OPTIONS", ""))]


def _run(args: Namespace) -> int:
    """Runs the command's module, which is imported on use.

    `ullage lsp` must start without importing the code that draws, and `ullage --help` without importing the code that
    draws or the server.
    """
    return import_module(f"ullage.cli.commands.{args.module}").run(args)


def _fail(reason: str) -> int:
    line = " ".join(reason.split())
    sys.stderr.write(f"ullage: {line}\n".encode(errors="replace").decode())
    return _BAD_INPUT
