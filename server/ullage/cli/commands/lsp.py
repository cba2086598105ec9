"""`ullage lsp`: serves the Language Server on standard input and output."""

import gc
from pathlib import Path

from ullage.app.language_server import serve_language_server
from ullage.app.serving import start_logging, wait_for_debugger

TYPE_CHECKING = False
if TYPE_CHECKING:
    # 10 ms to import, which a start without the parser of all commands need not wait for.
    from argparse import ArgumentParser, Namespace

# The default port of debugpy and its clients.
_DEBUGGER_PORT = 5678


def add_arguments(parser: "ArgumentParser") -> None:
    from ullage.cli.arguments import port  # noqa: PLC0415

    parser.add_argument("--debug", action="store_true", help="log everything")
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log to this file, not to standard error")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="append every message to this file, as JSON lines")
    parser.add_argument(
        "--wait-for-debugger",
        type=port,
        nargs="?",
        const=_DEBUGGER_PORT,
        metavar="PORT",
        help=f"wait for a debugger at this port of localhost ({_DEBUGGER_PORT}); needs debugpy",
    )


def run(args: "Namespace") -> int:
    """Serves one client until it is done. Returns the exit status. Raises `InvalidRequest` if the log or trace can't be
    written, or if no debugger can be used."""
    if args.debug or args.log_file or args.wait_for_debugger:
        start_logging(debug=args.debug, file=args.log_file)
        if args.wait_for_debugger:
            wait_for_debugger(args.wait_for_debugger)
    return serve(args.store, args.trace)


def serve(store: str | None, trace: Path | None = None) -> int:
    """Serves one client on a store, None for that of the settings, until the client is done. Returns the exit status.
    Raises `InvalidRequest` if the trace can't be written."""
    # The protocol's types are some 100,000 objects that live as long as the process. `main` has them imported without
    # collecting garbage, which takes a tenth of the start-up time; after the freeze the collector doesn't visit them.
    gc.freeze()
    gc.enable()
    return serve_language_server(store, trace)
