"""The entry point: finds the command, runs it, and turns what went wrong into one line and an exit status."""

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from ullage.cli.arguments import build_parser
from ullage.model.errors import UllageError

# As shells report a process that a signal ended: 128 + SIGINT, 128 + SIGPIPE.
_INTERRUPTED, _BROKEN_PIPE = 130, 141
_BAD_INPUT = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; 0 if it did its work, 1 if it found something wrong, 2 for input that cannot be used."""
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
        # Nobody reads any more. Python flushes stdout once more at exit, which must not fail aloud.
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
    """The arguments, with those of ULLAGE_LSP_OPTIONS for a server: editors start it with arguments of their own."""
    if argv[:1] != ["lsp"]:
        return argv
    return [*argv, *shlex.split(os.environ.get("ULLAGE_LSP_OPTIONS", ""))]


def _run(args: Namespace) -> int:
    """Imports the command on use: the Language Server must start without the drawing, `--help` without either."""
    return import_module(f"ullage.cli.commands.{args.module}").run(args)


def _fail(reason: str) -> int:
    line = " ".join(reason.split())
    sys.stderr.write(f"ullage: {line}\n".encode(errors="replace").decode())
    return _BAD_INPUT
