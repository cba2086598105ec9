"""What an agent offers officially to run Ullage by itself: where its settings are, and which hooks are added there."""

from collections.abc import Callable

from msgspec import Struct

from ullage.agents.machine import Machine


class HookPlace(Struct, frozen=True, kw_only=True):
    """A hook that is added: the agent's event, and the matcher that says when it runs; "" if always. The agent ends it
    after `timeout` seconds."""

    event: str
    matcher: str = ""
    timeout: int


def _whole(summary: str) -> str:
    return summary


class Wiring(Struct, frozen=True, kw_only=True):
    """How Ullage is added to an agent.

    - `word`: the agent's name in commands: `ullage wire WORD`.
    - `settings`: returns the path of the file with the user's settings, a JSON object.
    - `hooks`: the hooks that are added to the object `hooks` there, each in the list of its event.
    - `status_line`: whether the object `statusLine` there can name a command.
    - `mcp_command`: the agent's own command that adds an MCP server, before the words of the server's.
    - `summary_in`: returns the summary as the agent's model gets it from the text that a hook is given.
    """

    word: str
    settings: Callable[[Machine], str]
    hooks: tuple[HookPlace, ...]
    status_line: bool = False
    mcp_command: str = ""
    summary_in: Callable[[str], str] = _whole
