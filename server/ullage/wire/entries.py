"""What Ullage adds to an agent's settings, as values."""

from msgspec import Struct

from ullage.agents.wiring import McpPlace, Syntax


class HookEntry(Struct, frozen=True, kw_only=True):
    """A hook of Ullage's: the event, the matcher ("" for always), the command, and its most time as the agent
    counts it."""

    event: str
    matcher: str
    command: str
    timeout: int


class McpServer(Struct, frozen=True, kw_only=True):
    """Ullage's MCP server as an agent starts it: its name in the settings, the program, and the program's arguments.
    `variables` are environment variables that the agent passes on only if they are named. `place` is where settings in
    JSON have servers."""

    name: str
    command: str
    arguments: tuple[str, ...]
    variables: tuple[str, ...] = ()
    place: McpPlace = McpPlace()


class Added(Struct, frozen=True, kw_only=True):
    """What is added to a settings file. `status_line` is the command of the status line; "" leaves it alone. Hooks and
    a status line can be added to JSON alone. `text` is a whole file: a plugin that runs the words of `command`."""

    syntax: Syntax = "json"
    hooks: tuple[HookEntry, ...] = ()
    status_line: str = ""
    mcp: McpServer | None = None
    text: str = ""
    command: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to add."""
        return not (self.hooks or self.status_line or self.text) and self.mcp is None
