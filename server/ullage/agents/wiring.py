"""What an agent offers officially to run Ullage by itself: where its settings are, and what is added there."""

from collections.abc import Callable, Collection
from typing import Literal

from msgspec import Struct

from ullage.agents.machine import Machine
from ullage.model.json_values import JsonObject

# How a settings file is written. A `whole` file is Ullage's own: it has nothing else in it.
Syntax = Literal["json", "toml", "whole"]
# A shell that runs the command of a hook.
Shell = Literal["sh", "powershell", "cmd"]


class HookPlace(Struct, frozen=True, kw_only=True):
    """A hook that is added: the agent's event, and the matcher that says when it runs; "" if always. The agent ends it
    after `timeout`, in seconds or as the agent counts it. `arguments` are those of `ullage hook` after the agent's
    word. `for_notes` says that only notes of the context's fill need it."""

    event: str
    matcher: str = ""
    # Above `ullage hook`'s own limit of 4 seconds, for a machine that is too busy to keep it.
    timeout: int = 5
    for_notes: bool = False
    arguments: tuple[str, ...] = ()


class McpPlace(Struct, frozen=True, kw_only=True):
    """Where a settings file in JSON has the agent's MCP servers, and how one is written there.

    - `key`: the key of the object of servers.
    - `kind`: the `type` of a server that the agent starts; the program and its arguments are one list then. "" if a
      server has no type, a `command` and its `args`.
    - `exposure`: how the model reaches the server's tools, if the agent asks that of each server.
    """

    key: str = "mcpServers"
    kind: str = ""
    exposure: str = ""


class SettingsFile(Struct, frozen=True, kw_only=True):
    """A file with the user's settings of an agent.

    - `path`: returns its path.
    - `instead`: returns the paths of files that the agent reads in the same way. If `path` is not there, the first of
      them that is there is changed.
    - `plugin`: the parts of a plugin that the whole file becomes, as names of files in the package's folder of agents.
      The plugin runs `ullage hook`.
    - `hooks`: the hooks that are added to the object `hooks` there, each in the list of its event.
    - `status_line`: whether the object `statusLine` there can name a command.
    - `mcp_server`: whether the agent's MCP servers are there, and `mcp_place` where if the file is JSON.
    - `mcp_variables`: the environment variables that the server needs and gets only if they are named there.
    """

    path: Callable[[Machine], str]
    instead: Callable[[Machine], tuple[str, ...]] = lambda _: ()
    syntax: Syntax = "json"
    hooks: tuple[HookPlace, ...] = ()
    plugin: tuple[str, ...] = ()
    status_line: bool = False
    mcp_server: bool = False
    mcp_place: McpPlace = McpPlace()
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
    - `in_projects`: returns the paths of the files in which it keeps the plugins of the project in the folder `cwd`.
    - `remedy`: the command that removes it.
    """

    path: Callable[[Machine], str]
    is_on: Callable[[str], bool]
    in_projects: Callable[[Machine], tuple[str, ...]] = lambda _: ()
    remedy: str


class HooksOff(Struct, frozen=True, kw_only=True):
    """Which settings keep an agent from running its user's hooks.

    - `layers`: returns patterns of the files that may say so, those that others override first. `machine.cwd` is the
      folder in which the user works.
    - `managed`: returns where an organisation's settings may be, which override those: patterns of files, and places in
      Windows' registry (`HKLM/…`, the value last). The first source that has any settings is the only one that counts.
    - `off_by`: returns the setting that switches hooks off in a file, by its path and contents, "" if the file has
      them on, and None if it says nothing.
    """

    layers: Callable[[Machine], tuple[str, ...]]
    off_by: Callable[[str, JsonObject], str | None]
    managed: Callable[[Machine], tuple[tuple[str, ...], ...]] = lambda _: ()


class GuideForm(Struct, frozen=True, kw_only=True):
    """How an agent takes instructions for its summary from a hook before a compaction: at most so many `characters`, in
    UTF-16 units, as plain text, or as the answer of a hook (`is_answer`)."""

    characters: int
    is_answer: bool = False


class Wiring(Struct, frozen=True, kw_only=True):
    """How Ullage is added to an agent.

    - `word`: the agent's name in commands: `ullage wire WORD`.
    - `files`: the settings that something is added to.
    - `folder`: returns the folder that the agent has made for its settings; None if it is that of the first file.
    - `plugin`: how it has Ullage as a plugin; None if there is none for it.
    - `approval`: what its hooks need before they run; None if nothing.
    - `windows_shell`: what runs its hooks on Windows; with `names_shell` because a hook there says so.
    - `hooks_off`: what switches its hooks off; None if no setting is known to.
    - `summary_in_file`: whether the agent's file has a compaction's summary by the time of the hook after it.
    - `summary_in`: returns the summary as the agent's model gets it from the text that a hook is given.
    - `guide`: how a hook before a compaction adds to the instructions for its summary; None if none can.
    """

    word: str
    files: tuple[SettingsFile, ...]
    folder: Callable[[Machine], str] | None = None
    plugin: Plugin | None = None
    approval: Approval | None = None
    hooks_off: HooksOff | None = None
    windows_shell: Shell = "sh"
    names_shell: bool = False
    summary_in_file: bool = False
    summary_in: Callable[[str], str] = lambda summary: summary
    guide: GuideForm | None = None
