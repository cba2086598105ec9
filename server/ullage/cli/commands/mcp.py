"""`ullage mcp`: serves the Model Context Protocol on standard input and output."""

import gc

from ullage.app.serving_mcp import serve_mcp
from ullage.model.settings import SearchSettings, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    # 10 ms to import, which a start without the parser of all commands need not wait for.
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: "ArgumentParser") -> None:
    from ullage.cli.arguments import add_embeddings  # noqa: PLC0415

    parser.add_argument("--session", metavar="WHICH", help="the conversation, if not the starting agent's")
    add_embeddings(parser)


def run(args: "Namespace") -> int:
    """Serves one client until it is done. Returns the exit status."""
    url, model = args.embeddings or ("", "")
    return serve(
        args.store, args.session or "", Settings(search=SearchSettings(embeddings_url=url, embeddings_model=model))
    )


def serve(store: str | None, session: str, settings: Settings | None = None) -> int:
    """Serves one client on a store, None for the usual one, until the client is done. `session` names the
    conversation, "" for the starting agent's. Returns the exit status."""
    # As for the Language Server: `main` imports without collecting garbage.
    gc.freeze()
    gc.enable()
    return serve_mcp(store, session, settings)
