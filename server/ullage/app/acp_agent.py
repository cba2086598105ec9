"""Builds the ACP agent and serves it on standard input and output."""

import logging
from contextlib import AsyncExitStack
from pathlib import Path

from ullage import __version__
from ullage.acp.agent import Agent, AgentHooks
from ullage.acp.announce import Announcer
from ullage.api.methods import METHODS
from ullage.app.serving import OpeningFailure, share_the_interpreter, warm_up
from ullage.app.telemetry import request_span
from ullage.jsonrpc.envelope import MAX_LINE
from ullage.model.errors import StoreError
from ullage.model.settings import Settings, private_patterns
from ullage.providers.prerequisites import forget_keys
from ullage.service.archive.search import indexing
from ullage.service.conversation.workspace import Follower, Workspace
from ullage.system.stdio import serve_stdio
from ullage.system.surroundings import look_around
from ullage.system.team_choices import PrivatePatterns, keep_private, private_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Imports the store, which the answer to `initialize` does not need.
    from ullage.store.store_place import StorePlace

log = logging.getLogger(__name__)


def serve_acp_agent(place: "StorePlace | None", settings: Settings) -> int:
    """Serves one ACP client on standard input and output until it is done. Returns the exit status. `place`
    says where the store is, or None for the one that the settings name, else the one in the user's data folder."""
    share_the_interpreter()
    closing = AsyncExitStack()
    return serve_stdio(make_agent(closing, place, settings).connection, closing)


def make_agent(
    closing: AsyncExitStack, place: "StorePlace | None", settings: Settings, max_line: int = MAX_LINE
) -> Agent:
    """Builds the ACP agent, not yet connected to a client.

    `place` says where the store is, or None for the one that the settings name, else the one in the user's data folder,
    which the Language Server uses, too. The store and the connections that the agent opens are closed when `closing`
    ends. `max_line` is the length of the longest message that the agent accepts, in bytes.
    """
    failure = OpeningFailure()

    def open_workspace(announcer: Announcer, settings: Settings) -> Workspace:
        # Imported here, because store, catalog and tokenizer would delay the answer to `initialize`, which doesn't need
        # them.
        from ullage.app.compose import build_workspace  # noqa: PLC0415

        chosen = place or settings.store or None
        workspace = failure.opened(lambda: build_workspace(closing, chosen, settings))
        workspace.bus.listen(announcer)
        closing.enter_context(Follower(workspace).running())
        closing.enter_context(indexing(workspace))
        return workspace

    hooks = AgentHooks(
        open=open_workspace,
        warm_up=warm_up,
        check_model=_check_model,
        look_around=look_around,
        keep_private=_keep_private,
        settings=settings,
    )
    agent = Agent(hooks, METHODS, __version__, max_line)
    agent.connection.around = request_span
    closing.push_async_callback(agent.close)
    return agent


def _keep_private(client: str, settings: Settings) -> None:
    private = PrivatePatterns(editor=client, folders=(str(Path.cwd()),), patterns=private_patterns(settings))
    try:
        keep_private(private_path(), private)
    except StoreError as error:
        log.warning("Sessions may be sent to a team with what the settings call private: %s", error)


def _check_model(workspace: Workspace) -> None:
    forget_keys()
    # May read the system's keyring.
    workspace.ports.providers.name(workspace.settings.model, workspace.settings)
