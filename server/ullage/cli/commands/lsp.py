"""`ullage lsp`."""

from argparse import Namespace

from ullage.app.language_server import serve_language_server


def run(args: Namespace) -> int:
    """Serves the Language Server until its client is done."""
    return serve_language_server(args.store)
