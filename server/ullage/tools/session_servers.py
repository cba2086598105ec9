"""The MCP servers of one session: started with the session's first prompt, used by its tool calls, ended with it.

A server that has ended is started again with the next prompt; one that could not be started is not tried twice.
"""

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ullage.model import words
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.ports.models import Question, ToolAbout, ToolOutcome
from ullage.tools.offered_servers import Elicit, OfferedTool, Server, input_schema, name_for_model, title_of_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.tools.server_link import Patience, ServerLink

EXTRA = "mcp"


class SessionServers:
    """The servers that a client has offered for one session, whose folder is `folder`. `elicit` asks the user what a
    server asks, None if the user cannot be asked."""

    def __init__(
        self,
        servers: Sequence[Server],
        folder: str,
        patience: "Patience | None" = None,
        elicit: Elicit | None = None,
    ) -> None:
        # By position in the client's list, because two servers may be described alike.
        self._servers = dict(enumerate(servers))
        self._folder = folder
        self._patience = patience
        self._elicit = elicit
        self._links: dict[int, ServerLink] = {}
        self._failed: set[int] = set()
        self._tools: dict[str, tuple[ServerLink, OfferedTool]] = {}
        self._starting = asyncio.Lock()

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools of all servers that run, as a model is offered them."""
        return tuple(tool.definition for _, tool in self._tools.values())

    async def prepare(self) -> tuple[str, ...]:
        """Starts the servers that do not run. Returns sentences on the unusable, and once on the ended ones."""
        async with self._starting:
            # A server that has ended since the last prompt is found here, and not by a call that fails.
            await asyncio.gather(*(link.refresh() for link in self._links.values()))
            self._tools = self._named()
            running = {at for at, link in self._links.items() if link.is_open}
            wanted = [at for at in self._servers if at not in running and at not in self._failed]
            if not wanted:
                return ()
            if not is_usable():
                self._failed.update(wanted)
                return (words.mcp_missing(", ".join(self._servers[at].name for at in wanted), EXTRA),)
            ended = [at for at in wanted if at in self._links]
            faults = await self._start(wanted)
            self._tools = self._named()
            again = [words.mcp_restarted(self._servers[at].name) for at in ended if at not in self._failed]
            return (*faults, *again)

    async def refresh(self) -> None:
        changed = [link for link in self._links.values() if link.has_changed]
        if changed:
            await asyncio.gather(*(link.refresh() for link in changed))
            self._tools = self._named()

    def only_reads(self, name: str) -> bool:
        return name in self._tools and self._tools[name][1].only_reads

    def describe(self, name: str) -> ToolAbout:
        """Returns what the user is shown of a call of a tool. The server need not run."""
        if name not in self._tools:
            return ToolAbout(title=title_of_call(name), kind=ToolKind.OTHER)
        link, tool = self._tools[name]
        kind = ToolKind.READ if tool.only_reads else ToolKind.OTHER
        return ToolAbout(title=f"{link.server.name}: {tool.title}", kind=kind)

    def question(self, name: str) -> Question | None:
        """Returns what the user is asked before a call: about each tool, whatever its server says of it. Returns None
        for a tool that is not there, as the call's result then says."""
        return Question(key=name) if name in self._tools else None

    async def run(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Calls a tool and returns its result. A failure is a result that says so."""
        if name not in self._tools:
            return ToolOutcome(text=f"No running MCP server has the tool {name!r}.", is_error=True)
        link, tool = self._tools[name]
        return await link.call(tool.name, arguments)

    async def close(self) -> None:
        """Ends all servers. Bounded."""
        links, self._links, self._tools = self._links, {}, {}
        await asyncio.gather(*(link.close() for link in links.values()))

    async def _start(self, wanted: Sequence[int]) -> tuple[str, ...]:
        # The import takes a second, in which other sessions continue.
        module = await asyncio.to_thread(_import_link)
        patience = self._patience or module.Patience()
        links = {at: module.ServerLink(self._servers[at], self._folder, patience, self._elicit) for at in wanted}
        self._links |= links
        try:
            faults = dict(zip(links, await asyncio.gather(*(link.opened() for link in links.values())), strict=True))
        except asyncio.CancelledError:
            await asyncio.gather(*(link.close() for link in links.values()))
            raise
        failed = {at: fault for at, fault in faults.items() if fault}
        self._failed |= failed.keys()
        return tuple(words.mcp_failed(self._servers[at].name, fault) for at, fault in failed.items())

    def _named(self) -> dict[str, tuple["ServerLink", OfferedTool]]:
        """Returns the running servers' tools by the names that a model uses, in the order of the client's list."""
        named: dict[str, tuple[ServerLink, OfferedTool]] = {}
        for _, link in sorted(self._links.items()):
            for tool in link.tools if link.is_open else ():
                name = name_for_model(link.server.name, tool.name, named)
                definition = ToolDefinition(
                    name=name, description=tool.description or "", input_schema=input_schema(tool.input_schema)
                )
                hints = tool.annotations
                only_reads = hints is not None and hints.read_only_hint is True
                title = tool.title or tool.name
                offered = OfferedTool(name=tool.name, title=title, definition=definition, only_reads=only_reads)
                named[name] = (link, offered)
        return named


def is_usable() -> bool:
    """Returns whether the SDK is installed, which is one of Ullage's extras. Imports nothing."""
    return find_spec(EXTRA) is not None


def _import_link() -> Any:
    from ullage.tools import server_link  # noqa: PLC0415

    return server_link
