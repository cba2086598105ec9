"""Builds the ACP agent and serves it on standard input and output."""

from pathlib import Path

from ullage import __version__
from ullage.acp.agent import Agent, AgentHooks
from ullage.acp.announce import Announcer
from ullage.api.methods import METHODS
from ullage.app.process import share_the_interpreter, warm_up
from ullage.jsonrpc.lines import MAX_LINE
from ullage.model.settings import Settings
from ullage.service.conversation.follow import Follower
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import MemoryFiles
from ullage.system.stdio import serve_stdio


def serve_acp_agent(store_path: Path | None, settings: Settings) -> int:
    """Serves one client until it is done. Returns the exit status."""
    share_the_interpreter()
    return serve_stdio(make_agent(store_path, settings).connection)


def make_agent(store_path: Path | None, settings: Settings, max_line: int = MAX_LINE) -> Agent:
    """Builds the agent, not yet connected. Its sessions are in the same store as the Language Server's."""

    def open_workspace(announcer: Announcer) -> Workspace:
        # Imported here, because store, catalog and tokenizer would delay the answer to `initialize`, which doesn't need
        # them.
        from ullage.app.compose import build_workspace  # noqa: PLC0415

        workspace = build_workspace(store_path)
        workspace.bus.listen(announcer)
        Follower(workspace).start()
        return workspace

    def memory(cwd: str) -> MemoryFiles:
        from ullage.app.memories import project_memory  # noqa: PLC0415

        return project_memory(cwd, store_path)

    hooks = AgentHooks(open=open_workspace, warm_up=warm_up, memory=memory, check_model=_check_model, settings=settings)
    return Agent(hooks, METHODS, __version__, max_line)


def _check_model(workspace: Workspace) -> None:
    # May read the system's keyring.
    workspace.ports.providers.name(workspace.settings.model, workspace.settings)
