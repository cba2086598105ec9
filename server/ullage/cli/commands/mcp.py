"""`ullage mcp`: serves the Model Context Protocol on standard input and output."""

import gc
from argparse import Namespace


def run(args: Namespace) -> int:
    """Serves one client until it is done. Returns the exit status."""
    # As for the Language Server: collecting garbage during the start takes time and finds none.
    gc.disable()
    from ullage.app.serving_mcp import serve_mcp  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return serve_mcp(args.store, args.session or "")
