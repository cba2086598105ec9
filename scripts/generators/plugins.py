"""Generates Ullage as a plugin of coding agents: the same hooks and the same MCP server that `ullage wire` adds, in
files that the agents themselves install."""

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from generators import as_json
from ullage import __version__
from ullage.agents.claude_code import AGENT as CLAUDE_CODE
from ullage.agents.gemini_cli import AGENT as GEMINI_CLI
from ullage.agents.machine import Machine
from ullage.agents.wiring import HookPlace, Wiring
from ullage.wire.json_files import add
from ullage.wire.plan import Added, HookEntry, McpServer

# The name of the plugin, of its marketplace and of the MCP server.
_NAME = "ullage"
_TITLE = "Ullage"
_DESCRIPTION = "Gives back what a compaction left out, and searches the conversation's whole history. Local."
_KEYWORDS = ("context", "compaction", "memory", "tokens")
_LICENSE = "MIT"
# The folders of the plugins in the repository.
_CLAUDE_CODE, _GEMINI_CLI = "editors/claude-code", "editors/gemini-cli"
_MARKETPLACE = ".claude-plugin/marketplace.json"


def plugin_files() -> Mapping[str, Callable[[], str]]:
    """Returns the files by their paths in the repository, each with a function that returns its whole text."""
    return {
        _MARKETPLACE: lambda: as_json(_marketplace()),
        f"{_CLAUDE_CODE}/.claude-plugin/plugin.json": lambda: as_json(_manifest()),
        f"{_CLAUDE_CODE}/hooks/hooks.json": lambda: _hooks(_wiring(CLAUDE_CODE.wiring)),
        f"{_CLAUDE_CODE}/.mcp.json": _server,
        f"{_GEMINI_CLI}/gemini-extension.json": lambda: as_json({**_said(), **json.loads(_server())}),
        f"{_GEMINI_CLI}/hooks/hooks.json": lambda: _hooks(_wiring(GEMINI_CLI.wiring)),
    }


def _marketplace() -> dict[str, Any]:
    plugin = {**_said(), "source": f"./{_CLAUDE_CODE}", "category": "productivity"}
    return {"name": _NAME, "description": _DESCRIPTION, "owner": {"name": _TITLE}, "plugins": [plugin]}


def _manifest() -> dict[str, Any]:
    return {**_said(), "author": {"name": _TITLE}, "license": _LICENSE, "keywords": [*_KEYWORDS]}


def _said() -> dict[str, Any]:
    """What each manifest says of the plugin, so that all of them say the same."""
    return {"name": _NAME, "version": __version__, "description": _DESCRIPTION}


def _hooks(wiring: Wiring) -> str:
    """Returns the hooks that `ullage wire` adds to the agent's first settings file, but for those that notes of the
    context's fill need: a plugin gives none."""
    file = wiring.files[0]
    settings = Path(file.path(Machine(system="linux", home="/home"))).name
    return add(
        "", Added(hooks=tuple(_hook(wiring.word, place, settings) for place in file.hooks if not place.for_notes))
    )


def _hook(word: str, place: HookPlace, settings: str) -> HookEntry:
    line = shlex.join(["ullage", "hook", word, *place.arguments, "--unless-wired-in", settings])
    # Without a program of this name, or with one that fails, the hook has no effect. Programs that start an agent
    # without a shell often leave out the folder in which pipx and uv install it.
    command = f'PATH="$PATH:$HOME/.local/bin"; command -v ullage >/dev/null && {line} 2>/dev/null || true'
    return HookEntry(event=place.event, matcher=place.matcher, command=command, timeout=place.timeout)


def _server() -> str:
    return add("", Added(mcp=McpServer(name=_NAME, command="ullage", arguments=("mcp",))))


def _wiring(known: Wiring | None) -> Wiring:
    if known is None:
        raise SystemExit("a plugin is made of what `ullage wire` adds, which is not known of this agent")
    return known
