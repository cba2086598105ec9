"""The entry point: finds the command, runs it, and reports an error as one line and an exit status."""

import gc
import os
import sys
from io import TextIOWrapper

from ullage import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

# The exit statuses by which shells report a signal: 128 + SIGINT, 128 + SIGPIPE.
_INTERRUPTED, _BROKEN_PIPE = 130, 141
_UNUSABLE = 2
# Modules of commands that read a conversation and then print.
_READING = frozenset(("context", "messages", "lost", "compact", "continue_session", "import_file", "export"))


def main(argv: "Sequence[str] | None" = None) -> int:
    """Runs one command and returns the exit status of the program.

    It is 0 on success, 1 if the command found nothing or something wrong, 2 if an input or output can't be used, 130
    after Ctrl-C, and 141 if the reader of the output is gone. Exits by itself for an invalid command line.
    """
    if argv is None:
        # What the modules define is needed to the end of the program. A search for garbage in it, the one at the exit
        # included, finds none and takes a fifth of a short command's time. `_run` ends this.
        gc.disable()
    _open_streams()
    words = sys.argv[1:] if argv is None else argv
    light = _LIGHT.get(words[0]) if words else None
    try:
        status = light(words[1:]) if light else None
        return _command(words) if status is None else status
    except KeyboardInterrupt:
        # While modules are imported, or input is waited for.
        return _INTERRUPTED


def _version(words: "Sequence[str]") -> int | None:
    """Prints the version. Returns None if there are other arguments. Editors ask each server that they find for it."""
    if words:
        return None
    sys.stdout.write(f"ullage {__version__}\n")
    return 0


def _statusline(words: "Sequence[str]") -> int | None:
    """Prints the status line; None for wrong arguments. Runs after each message, so it imports only its own modules."""
    from ullage.cli.commands.statusline import run_words as run  # noqa: PLC0415

    return run(words)


def _hook(words: "Sequence[str]") -> int | None:
    """Answers a hook of an agent, which waits for it. Returns None if the arguments are wrong."""
    from ullage.cli.commands.hook import run_words as run  # noqa: PLC0415

    return run(words)


def _mcp(words: "Sequence[str]") -> int | None:
    """Serves the Model Context Protocol. Returns None if the arguments are not just the store and the session. An agent
    starts it in each session and waits for it; the parser of all commands takes as long as a third of the start."""
    given = _options(words, "--store", "--session")
    if given is None:
        return None
    from ullage.cli.commands.mcp import serve  # noqa: PLC0415

    return _reported(lambda: serve(_store(given.get("--store")), given.get("--session", "")))


def _lsp(words: "Sequence[str]") -> int | None:
    """Serves the Language Server. Returns None if the arguments are not just the store. Editors wait for it."""
    given = _options(_with_environment(["lsp", *words])[1:], "--store")
    if given is None:
        return None
    from ullage.cli.commands.lsp import serve  # noqa: PLC0415

    return _reported(lambda: serve(_store(given.get("--store"))))


def _options(words: "Sequence[str]", *known: str) -> dict[str, str] | None:
    """Returns the values of options written as `--NAME VALUE`, by name; None if there are other arguments."""
    names, values = words[::2], words[1::2]
    if not {*names} <= {*known} or len(names) != len(values) or any(value[:1] in ("", "-") for value in values):
        return None
    return dict(zip(names, values, strict=True))


def _store(given: str | None) -> str | None:
    from ullage.cli.store_choice import chosen_store  # noqa: PLC0415

    return chosen_store(given)


def _login(words: "Sequence[str]") -> int:
    """Stores a key. Some clients of the Agent Client Protocol put the arguments of a login in place of all others, as
    the protocol's registry describes it, instead of after them, as the protocol does."""
    return _command(["acp", "--login", *words])


# The commands that are run without the parser of all commands.
_LIGHT = {"--version": _version, "--login": _login, "statusline": _statusline, "hook": _hook, "mcp": _mcp, "lsp": _lsp}


def _command(words: "Sequence[str]") -> int:
    is_program = not gc.isenabled()
    if is_program:
        _handle_interrupts(_end)
    from ullage.cli.command_line import parse  # noqa: PLC0415

    try:
        args = parse(_with_environment(words))
    except SystemExit as end:
        # The help was printed, or an error.
        status = end.code if isinstance(end.code, int) else 0
        raise SystemExit(_reported(lambda: status)) from None
    _never_fail_to_encode()
    status = _reported(lambda: _run(args))
    if is_program:
        # All is printed. While Python ends, an exception is a traceback.
        _handle_interrupts(_end)
    return status


def _reported(run: "Callable[[], int]") -> int:
    """Returns the exit status of a command, or that of its error, which it prints as one line."""
    from ullage.model.errors import UllageError  # noqa: PLC0415

    try:
        status = run()
        sys.stdout.flush()
    except UllageError as error:
        return _fail(f"{error}{error.in_shell}")
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return _BROKEN_PIPE
    except OSError as error:
        _drop_output()
        if isinstance(error, FileNotFoundError) and not error.filename:
            return _fail("the folder that you are in was removed; change to another one")
        where = f" {error.filename}" if error.filename else " the output"
        return _fail(f"cannot read or write{where}: {error.strerror or error}")
    return status


def _open_streams() -> None:
    """Opens each standard stream that was closed when the program was started, as one that neither takes nor gives
    anything. Otherwise the first file that is opened, such as the store, would have its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def _never_fail_to_encode() -> None:
    """Makes standard output accept every text: characters that its encoding lacks become `?`.

    On Windows, redirected output is UTF-8 with plain line ends instead of the system's code page. JSON is written as
    bytes and is not affected.
    """
    out = sys.stdout
    if not isinstance(out, TextIOWrapper):
        return
    if sys.platform == "win32" and not out.isatty():
        out.reconfigure(encoding="utf-8", newline="\n", errors="replace")
    else:
        out.reconfigure(errors="replace")


def _drop_output() -> None:
    """Discards what is not printed yet: Python would flush it at exit and print a traceback if that fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _with_environment(argv: "Sequence[str]") -> "Sequence[str]":
    """Returns the arguments; for the command `lsp`, those in the environment variable ULLAGE_LSP_OPTIONS are added.

    Editors start the server with arguments of their own, which users can't always change.
    """
    options = os.environ.get("ULLAGE_LSP_OPTIONS")
    if argv[:1] != ["lsp"] or not options:
        return argv
    # Imported on use: few need it.
    import shlex  # noqa: PLC0415

    return [*argv, *shlex.split(options)]


def _run(args: "Namespace") -> int:
    """Imports the command's module, runs the command and returns its exit status.

    Modules are imported only here, so that `ullage lsp` starts without the code that draws, and `ullage --help` also
    without the server.
    """
    from importlib import import_module  # noqa: PLC0415

    args.store = _store(args.store)
    command = import_module(f"ullage.cli.commands.{args.module}")
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
        _handle_interrupts(_interrupt if args.module in _READING else None)
    return getattr(command, args.work)(args)


def _handle_interrupts(handler: "Callable[[int, object], None] | None") -> None:
    """Has Ctrl-C handled by `handler`, or as Python does (None); not at all if who started the program wants that."""
    import signal  # noqa: PLC0415

    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _end, _interrupt):
        signal.signal(signal.SIGINT, handler or signal.default_int_handler)


def _end(_: int, __: object) -> None:
    """Ends the program at once, while modules are imported, and when all is done: nothing is open then. An exception in
    the middle of an import can crash the interpreter: msgspec does not expect one while it makes a class."""
    os._exit(_INTERRUPTED)


def _interrupt(_: int, __: object) -> None:
    """Ends what the main thread does, at once. With Python's own handler, asyncio would cancel its task, which notices
    that only when it next waits: after a large file was read."""
    raise KeyboardInterrupt


def _fail(reason: str) -> int:
    from ullage.cli.terminal import broken, visible  # noqa: PLC0415

    sys.stderr.write(broken(f"ullage: {visible(' '.join(reason.split()))}") + "\n")
    return _UNUSABLE
