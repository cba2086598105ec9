"""The Language Server, put together and served on standard input and output."""

import sys
from importlib import import_module
from pathlib import Path

from ullage import __version__
from ullage.api.methods import METHODS
from ullage.lsp.announce import Announcer
from ullage.lsp.palette import COMMANDS
from ullage.lsp.server import WorkspaceHooks, build_server, serve
from ullage.service.sessions import configure
from ullage.service.workspace import Workspace
from ullage.tokens.vocabulary import warm_up

# A thread that counts or summarises hands the interpreter over after so many seconds. Python's own 5 ms are waited for
# several times in an answer, and once for each thread that is at work.
_SWITCH_INTERVAL = 0.0005


def serve_language_server(store_path: Path | None) -> int:
    """Serves one client until it is done; the exit status."""

    def open_workspace(announcer: Announcer) -> Workspace:
        # Store, catalog and tokenizer are not needed to answer `initialize`, and would delay it.
        from ullage.app.compose import build_workspace  # noqa: PLC0415

        workspace = build_workspace(store_path)
        workspace.bus.listen(announcer)
        workspace.indexing_listeners.append(announcer)
        return workspace

    hooks = WorkspaceHooks(
        open=open_workspace, warm_up=_warm_up, configure=configure, cancel_compaction=Workspace.cancel
    )
    sys.setswitchinterval(_SWITCH_INTERVAL)
    return serve(build_server(hooks, METHODS, COMMANDS, __version__))


def _warm_up() -> None:
    """Imports what opening a workspace imports, and loads the vocabulary that most models share."""
    import_module("ullage.app.compose")
    warm_up()
