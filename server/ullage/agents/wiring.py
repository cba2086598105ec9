"""What an agent offers officially to run Ullage by itself: where its settings are, and what is added there."""

from collections.abc import Callable, Collection
from typing import Literal

from msgspec import Struct

from ullage.agents.machine import Machine

# How a settings file is written.
Syntax = Literal["json", "toml"]


class HookPlace(Struct, frozen=True, kw_only=True):
    """A hook that is added: the agent's event, and the matcher that says when it runs; "" if always. The agent ends it
    after `timeout`, in seconds or as the agent counts it. `arguments` are those of `ullage hook` after the agent's
    word. `for_notes` says that only notes of the context's fill need it."""

    event: str
    matcher: str = ""
    timeout: int
    for_notes: bool = False
    arguments: tuple[str, ...] = ()


class SettingsFile(Struct, frozen=True, kw_only=True):
    """A file with the user's settings of an agent.

    - `path`: returns its path.
    - `hooks`: the hooks that are added to the object `hooks` there, each in the list of its event.
    - `status_line`: whether the object `statusLine` there can name a command.
    - `mcp_server`: whether the agent's MCP servers are there.
    - `mcp_variables`: the environment variables that the server needs and gets only if they are named there.
    """

    path: Callable[[Machine], str]
    syntax: Syntax = "json"
    hooks: tuple[HookPlace, ...] = ()
    status_line: bool = False
    mcp_server: bool = False
    mcp_variables: tuple[str, ...] = ()


class HookInFile(Struct, frozen=True, kw_only=True):
    """Where a hook of Ullage's is: the paths that its file may have for the agent, its event, and its numbers among the
    groups of the event and in its group, from 0."""

    paths: tuple[str, ...]
    event: str
    group: int
    number: int


class Approval(Struct, frozen=True, kw_only=True):
    """What a user has to allow before an agent runs a hook.

    - `path`: returns the path of the file in which the agent keeps it.
    - `is_given`: says whether all these hooks are allowed by the text of that file.
    - `remedy`: what the user has to do.
    """

    path: Callable[[Machine], str]
    is_given: Callable[[str, Collection[HookInFile]], bool]
    remedy: str


class Plugin(Struct, frozen=True, kw_only=True):
    """Ullage as a plugin that the agent installs by itself: its hooks and its MCP server, as `wire` adds them.

    - `path`: returns the path of the file in which the agent keeps which of the user's plugins are on.
    - `is_on`: says whether Ullage's is, by the text of that file.
    - `remedy`: the command that removes it.
    """

    path: Callable[[Machine], str]
    is_on: Callable[[str], bool]
    remedy: str


def _whole(summary: str) -> str:
    return summary


class Wiring(Struct, frozen=True, kw_only=True):
    """How Ullage is added to an agent.

    - `word`: the agent's name in commands: `ullage wire WORD`.
    - `files`: the settings that something is added to. The agent has made the first one's folder.
    - `plugin`: how it has Ullage as a plugin; None if there is none for it.
    - `approval`: what its hooks need before they run; None if nothing.
    - `summary_in_file`: whether the agent's file has a compaction's summary by the time of the hook after it.
    - `summary_in`: returns the summary as the agent's model gets it from the text that a hook is given.
    """

    word: str
    files: tuple[SettingsFile, ...]
    plugin: Plugin | None = None
    approval: Approval | None = None
    summary_in_file: bool = False
    summary_in: Callable[[str], str] = _whole
