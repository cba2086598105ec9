"""The command lines by which an agent runs Ullage. They do no harm where Ullage is gone."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ullage.agents import wiring
from ullage.agents.wiring import HookPlace, SettingsFile
from ullage.model.store_address import is_address
from ullage.store.store_place import StorePlace
from ullage.wire.plan import Added, HookEntry, McpServer

# The name of the MCP server in agents' settings.
_SERVER = "ullage"
_FILL_NOTES = "--fill-notes"
# How Python runs Ullage's module. `-P`: the folder in which an agent works may have a module of any name.
MODULE = ("-P", "-m", "ullage")
# The line of a plugin that names the command.
_COMMAND = "const COMMAND = {};\n"
_PLUGINS = Path(wiring.__file__).parent


def own_words() -> tuple[str, ...]:
    """Returns the words that start this Ullage from any folder: its installed program, or Python with its module."""
    program = Path(sys.argv[0])
    found = program if program.is_file() else Path(shutil.which(sys.argv[0]) or "")
    if found.is_file() and found.stem == "ullage" and os.access(found, os.X_OK):
        return (str(found.absolute()).replace("\\", "/"),)
    return (sys.executable.replace("\\", "/"), *MODULE)


class OwnCommand(Struct, frozen=True, kw_only=True):
    """How an agent starts Ullage: the words of the program, where the session store is if it is not the usual one, and
    whether its hooks give the agent notes of how full its context is."""

    words: tuple[str, ...]
    store: StorePlace | None = None
    fill_notes: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """The option of `ullage hook` for notes, if there are any."""
        return (_FILL_NOTES,) if self.fill_notes else ()

    def arguments(self, *command: str) -> tuple[str, ...]:
        """Returns the arguments of a command of Ullage's."""
        if not self.store:
            return command
        is_file = not is_address(str(self.store))
        return (*command, "--store", str(Path(self.store).absolute() if is_file else self.store))

    def line(self, *command: str) -> tuple[str, ...]:
        """Returns the program and all its arguments that run a command of Ullage's."""
        return (*self.words, *self.arguments(*command))


def added_to(file: SettingsFile, word: str, own: OwnCommand, line: str | None) -> Added:
    """Returns what is added to a settings file of the agent that commands call `word`. `line` is the command of the
    status line until now; None leaves the status line alone."""
    program, *arguments = own.line("mcp")
    server = McpServer(
        name=_SERVER,
        command=program,
        arguments=tuple(arguments),
        variables=file.mcp_variables,
        place=file.mcp_place,
    )
    command = own.line("hook", word, *own.notes) if file.plugin else ()
    return Added(
        syntax=file.syntax,
        hooks=tuple(_hook(place, word, own) for place in file.hooks if own.fill_notes or not place.for_notes),
        status_line=_chained(own, line) if file.status_line and line is not None else "",
        mcp=server if file.mcp_server else None,
        text=plugin_text(file.plugin, command) if file.plugin else "",
        command=command,
    )


def plugin_text(parts: Sequence[str], command: Sequence[str]) -> str:
    """Returns the plugin of these parts, paths in the folder of agents, that runs the words of `command`."""
    text = "\n".join((_PLUGINS / part).read_text(encoding="utf-8") for part in parts)
    return text.replace(_COMMAND.format("[]"), _COMMAND.format(json.dumps([*command])))


def gives_fill_notes(added: Added) -> bool:
    """Says whether hooks that were added give notes of the context's fill."""
    return _FILL_NOTES in added.command or any(_FILL_NOTES in hook.command.split() for hook in added.hooks)


def started_by(added: Added) -> Iterator[tuple[str, ...]]:
    """Yields the words that start Ullage in each command that was added, without the command's own arguments."""
    lines = [(_words_in(hook.command), "hook") for hook in added.hooks]
    if added.command:
        lines.append(([*added.command], "hook"))
    if added.status_line:
        lines.append((_words_in(added.status_line), "statusline"))
    if added.mcp:
        lines.append(([added.mcp.command, *added.mcp.arguments], "mcp"))
    for words, command in lines:
        if command in words:
            yield tuple(words[: words.index(command)])


def _words_in(command: str) -> list[str]:
    """Returns the words of a shell's command after the question whether its program is there."""
    words = shlex.split(command)
    return words[words.index("&&") + 1 :] if "&&" in words else words


def _hook(place: HookPlace, word: str, own: OwnCommand) -> HookEntry:
    command = _silent(own.line("hook", word, *place.arguments, *own.notes))
    return HookEntry(event=place.event, matcher=place.matcher, command=command, timeout=place.timeout)


def _silent(line: Sequence[str]) -> str:
    """Returns a shell's command that prints no error and never fails."""
    return f"[ -x {shlex.quote(line[0])} ] && {shlex.join(line)} 2>/dev/null || true"


def _chained(own: OwnCommand, line: str) -> str:
    """Returns a shell's command for a status line that also runs the one of before, by itself if Ullage is gone."""
    if not line:
        return _silent(own.line("statusline"))
    whole = shlex.join([*own.line("statusline"), "--", line])
    return f"[ -x {shlex.quote(own.words[0])} ] && {whole} 2>/dev/null || eval {shlex.quote(line)}"
