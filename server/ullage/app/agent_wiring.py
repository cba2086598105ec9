"""Adds Ullage to the settings of agents on this machine and takes it out again, as `ullage wire` and the editors do.

In order: the files (settings that are written and restored, and the receipt next to the store that says what was
added), the command lines by which an agent runs Ullage, which do no harm where Ullage is gone, the agents as a user
names them, and the changes.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents import wiring
from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS, agent_of_word
from ullage.agents.wiring import HookPlace, Plugin, SettingsFile, Shell, Wiring
from ullage.bounds import OWN_FILE, read_plain
from ullage.host.side_files import WIRED, beside
from ullage.model.errors import InvalidRequest
from ullage.model.store_address import is_address
from ullage.store.store_place import StorePlace, local_path
from ullage.system.settings_files import apply, cautions, read_settings, switched_off
from ullage.wire.added import add, names_only_schema, take_out
from ullage.wire.json_files import old_line
from ullage.wire.plan import Added, AgentChange, FileChange, HookEntry, McpServer, OptionState
from ullage.wire.shells import joined, silent, words_in


class WiredFile(Struct, frozen=True, kw_only=True):
    """What was done to a settings file at `path`: what was `added`, and the file `before` and `after`. `before` is None
    if there was no file. `folder_made` says that its folder was not there, either."""

    path: str
    added: Added
    before: bytes | None
    after: bytes
    folder_made: bool = False


class Receipt(Struct, frozen=True, kw_only=True):
    """What was added to an agent of this name: the files."""

    agent: str
    files: tuple[WiredFile, ...]

    def file(self, path: Path) -> WiredFile | None:
        """Returns what was done to the file at `path`, or None if nothing was."""
        return next((file for file in self.files if file.path == str(path)), None)


def receipt_path(store: Path, word: str) -> Path:
    """Returns the place of the receipt for an agent, for the store at `store`."""
    return beside(store, WIRED) / f"{word}.json"


def read_receipt(store: Path, word: str) -> Receipt | None:
    """Returns what was added to an agent, or None if nothing was. Raises `InvalidRequest` for a damaged receipt."""
    path = receipt_path(store, word)
    try:
        return msgspec.json.decode(read_plain(path, OWN_FILE), type=Receipt)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise InvalidRequest(f"{path}: not a receipt that can be read ({error})") from error


def plan_adding(path: Path, added: Added, wired: WiredFile | None) -> tuple[FileChange, WiredFile | None]:
    """Returns the change that adds something to the settings at `path`, in place of what was added before, and what it
    does. This is None if there is nothing to add, or the user has added it already. Raises `InvalidRequest` if the
    settings can't be changed."""
    now, before = read_settings(path), settings_without(path, wired)
    after = None if added.is_empty else _convert(path, before, lambda text: add(text, added))
    if after is None or after == before:
        return FileChange(path=str(path), before=now, after=before), None
    made = (wired is not None and wired.folder_made) or not path.parent.exists()
    done = WiredFile(path=str(path), added=added, before=before, after=after, folder_made=made)
    return FileChange(path=str(path), before=now, after=after), done


def plan_removing(wired: WiredFile) -> FileChange:
    """Returns the change that takes out what was added. Raises `InvalidRequest` if the settings can't be changed."""
    now = read_settings(Path(wired.path))
    return FileChange(path=wired.path, before=now, after=_without(now, wired))


def remove_folder(wired: WiredFile) -> None:
    """Removes the folder of a file that was taken out, if it was made for the file and is empty now."""
    if wired.folder_made:
        with suppress(OSError):
            Path(wired.path).parent.rmdir()


def keep_receipt(store: Path, word: str, receipt: Receipt | None) -> None:
    """Keeps a receipt, or removes it if it is None. Raises `InvalidRequest` if that fails."""
    path = receipt_path(store, word)
    if receipt is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.parent.exists():
        data = None if receipt is None else msgspec.json.encode(receipt)
        apply(FileChange(path=str(path), before=read_settings(path, OWN_FILE), after=data), OWN_FILE)


def settings_without(path: Path, wired: WiredFile | None) -> bytes | None:
    """Returns a settings file's bytes without what was added; None if there is no file. Raises `InvalidRequest`."""
    now = read_settings(path)
    return _without(now, wired) if wired else now


def _without(now: bytes | None, wired: WiredFile) -> bytes | None:
    """Returns a file without what was added: as it was before, unless it has changed since."""
    if now is None or now == wired.after:
        return None if now is None else wired.before
    before = (wired.before or b"").decode()
    left = _convert(Path(wired.path), now, lambda text: take_out(text, wired.added, before))
    return None if wired.before is None and names_only_schema(left.decode(), wired.added) else left


def _convert(path: Path, data: bytes | None, change: Callable[[str], str]) -> bytes:
    try:
        return change((data or b"").decode()).encode()
    except UnicodeError as error:
        raise InvalidRequest(f"{path}: not UTF-8; nothing was changed") from error
    except InvalidRequest as error:
        raise InvalidRequest(f"{path}: {error}; nothing was changed") from error


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
    """How an agent starts Ullage: the words of the program, where the session store is if it is not the usual one,
    whether its hooks give the agent notes of how full its context is, the shell that runs them, and whether they name
    it."""

    words: tuple[str, ...]
    store: StorePlace | None = None
    fill_notes: bool = False
    shell: Shell = "sh"
    names_shell: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """The option of `ullage hook` for notes, if there are any."""
        return (_FILL_NOTES,) if self.fill_notes else ()

    def arguments(self, *command: str) -> tuple[str, ...]:
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
    lines = [(words_in(hook.command), "hook") for hook in added.hooks]
    if added.command:
        lines.append(([*added.command], "hook"))
    if added.status_line:
        lines.append((words_in(added.status_line), "statusline"))
    if added.mcp:
        lines.append(([added.mcp.command, *added.mcp.arguments], "mcp"))
    for words, command in lines:
        if command in words:
            yield tuple(words[: words.index(command)])


def hook_lines(added: Added) -> Iterator[str]:
    """Yields the command line of each hook that was added, for a shell."""
    yield from (hook.command for hook in added.hooks)
    if added.command:
        yield joined(added.command)


def _hook(place: HookPlace, word: str, own: OwnCommand) -> HookEntry:
    command = silent(own.line("hook", word, *place.arguments, *own.notes), own.shell)
    shell = own.shell if own.names_shell else ""
    return HookEntry(event=place.event, matcher=place.matcher, command=command, timeout=place.timeout, shell=shell)


def _chained(own: OwnCommand, line: str) -> str:
    """Returns a shell's command for a status line that also runs the one of before, by itself if Ullage is gone."""
    if not line:
        return silent(own.line("statusline"))
    whole = shlex.join([*own.line("statusline"), "--", line])
    return f"[ -x {shlex.quote(own.words[0])} ] && {whole} 2>/dev/null || eval {shlex.quote(line)}"


def path_here(path: Callable[[Machine], str]) -> Path:
    """Returns a path on this machine, for example a settings file's. There may be no file."""
    return Path(path(_this_machine())).expanduser()


def file_here(file: SettingsFile) -> Path:
    """Returns the path of a settings file on this machine: of one that is there, if the agent reads several."""
    usual = path_here(file.path)
    others = (Path(path).expanduser() for path in file.instead(_this_machine()))
    return next((path for path in (usual, *others) if os.path.exists(path)), usual)  # noqa: PTH110 - as in `is_here`


def folder_here(wiring: Wiring) -> Path:
    """Returns the folder that the agent has for its settings on this machine, if it is here."""
    return path_here(wiring.folder) if wiring.folder else path_here(wiring.files[0].path).parent


def is_here(wiring: Wiring) -> bool:
    """Says whether the agent has a folder for its settings on this machine."""
    return os.path.isdir(folder_here(wiring))  # noqa: PTH112 - it may be in a folder that the user can't read


def _this_machine() -> Machine:
    return Machine(system=sys.platform, home=str(Path.home()), variables=os.environ)


def missing_folder(agent: Agent) -> Path | None:
    """Returns the folder for an agent's settings if it is not on this machine, so that the agent was never started
    here. Returns None if it is there, or if it is not known where it would be."""
    return None if agent.wiring is None or is_here(agent.wiring) else folder_here(agent.wiring)


def has_plugin(wiring: Wiring) -> bool:
    """Says whether the agent has Ullage as a plugin for all projects, switched on. Raises `InvalidRequest`."""
    plugin = wiring.plugin
    return plugin is not None and _is_on(plugin, path_here(plugin.path))


def project_with_plugin(wiring: Wiring) -> Path | None:
    """Returns the file by which the agent has Ullage as a plugin in the project of this folder alone, and it is on.
    Returns None if there is none. Raises `InvalidRequest` if a file of the agent's can't be read."""
    plugin = wiring.plugin
    if plugin is None or has_plugin(wiring):
        return None
    paths = map(Path, plugin.in_projects(replace(_this_machine(), cwd=Path.cwd().as_posix())))
    return next((path for path in paths if _is_on(plugin, path)), None)


def _is_on(plugin: Plugin, path: Path) -> bool:
    return plugin.is_on((read_settings(path) or b"").decode(errors="replace"))


def called(words: Sequence[str]) -> list[tuple[Agent, Wiring]]:
    """Returns the agents of these words. Raises `InvalidRequest` for a word that means no agent."""
    found = list[tuple[Agent, Wiring]]()
    for word in dict.fromkeys(words):
        agent = agent_of_word(word)
        if agent is None or agent.wiring is None:
            raise InvalidRequest(
                f"{word}: Ullage can't be added to an agent of this name; known: {', '.join(known_words())}"
            )
        found.append((agent, agent.wiring))
    return found


def on_this_machine() -> list[tuple[Agent, Wiring]]:
    """Returns the agents on this machine that Ullage can be added to: those with a folder of settings."""
    return [(agent, wiring) for agent, wiring in all_known() if is_here(wiring)]


def all_known() -> list[tuple[Agent, Wiring]]:
    """Returns all agents that Ullage can be added to."""
    return [(agent, agent.wiring) for agent in AGENTS if agent.wiring]


def known_words() -> list[str]:
    """Returns the words of all agents that Ullage can be added to."""
    return [wiring.word for _, wiring in all_known()]


class PlannedChange(AgentChange, frozen=True, kw_only=True):
    """A change of an agent's settings, and the receipt that is kept when it is made; None if there is to be none."""

    receipt: Receipt | None


class _Wanted(Struct, frozen=True, kw_only=True):
    """What agents are to get; None leaves it as it is."""

    line: bool | None
    notes: bool | None
    mcp: bool

    def of(self, known: Receipt | None) -> "_Wanted":
        """Returns what an agent with this receipt is to get, without None."""
        added = [file.added for file in known.files] if known else []
        line = any(one.status_line for one in added) if self.line is None else self.line
        notes = any(map(gives_fill_notes, added)) if self.notes is None else self.notes
        return replace(self, line=line, notes=notes)


class AgentWiring:
    """The wiring of agents to a session store. `store` is where it is, if it is not the user's usual one."""

    def __init__(self, store: StorePlace | None) -> None:
        self._own = OwnCommand(words=own_words(), store=store)
        self._receipts = local_path(store)

    def add(
        self, words: Sequence[str], *, status_line: bool | None, fill_notes: bool | None, mcp_server: bool = True
    ) -> Sequence[PlannedChange]:
        """Returns what adds Ullage to agents. Without `mcp_server` its MCP server is left out, or taken out again."""
        wanted = _Wanted(line=status_line, notes=fill_notes, mcp=mcp_server)

        def plan(agent: Agent, wiring: Wiring) -> PlannedChange:
            return self._adding(agent, wiring, wanted)

        if words:
            return [plan(agent, wiring) for agent, wiring in called(words)]
        return [self._each(agent, wiring, plan) for agent, wiring in on_this_machine()]

    def take_out(self, words: Sequence[str]) -> Sequence[PlannedChange]:
        if words:
            return [self._taking_out(agent, wiring) for agent, wiring in called(words)]
        return [self._each(agent, wiring, self._taking_out) for agent, wiring in all_known()]

    def make(self, change: AgentChange) -> None:
        if change.failed:
            raise InvalidRequest(" ".join(change.notes))
        receipt = change.receipt if isinstance(change, PlannedChange) else None
        # The receipt first: what was added can always be taken out.
        if receipt is not None:
            keep_receipt(self._receipts, change.word, receipt)
        for file in change.files:
            apply(file)
        if receipt is None:
            known = read_receipt(self._receipts, change.word)
            for file in known.files if known else ():
                remove_folder(file)
            keep_receipt(self._receipts, change.word, None)

    def _adding(self, agent: Agent, wiring: Wiring, asked: _Wanted) -> PlannedChange:
        known = read_receipt(self._receipts, wiring.word)
        wanted = asked.of(known)
        path = file_here(wiring.files[0])
        if not is_here(wiring):
            raise InvalidRequest(f"{agent.name}: there is no folder {folder_here(wiring)}; start {agent.name} once")
        # A plugin brings the server; its hooks give way to those that are added here.
        plugin = wiring.plugin if has_plugin(wiring) else None
        server = wanted.mcp and plugin is None
        files = {file_here(file): replace(file, mcp_server=file.mcp_server and server) for file in wiring.files}
        wired = {path: known.file(path) if known else None for path in files}
        planned = [
            plan_adding(path, self._added(path, file, wiring, wired[path], wanted), wired[path])
            for path, file in files.items()
        ]
        # Files of another folder, which the agent had for its settings before, stay in the receipt.
        elsewhere = [file for file in (known.files if known else ()) if Path(file.path) not in files]
        done = [file for _, file in planned if file is not None]
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=str(path),
            files=tuple(change for change, _ in planned if not change.is_empty),
            is_wired=any(wired.values()),
            notes=(*(note for path in files for note in cautions(path)), *_notes(agent.name, wiring, plugin)),
            options=tuple(_options(wiring, wanted)),
            receipt=Receipt(agent=agent.name, files=(*done, *elsewhere)),
        )

    def _each(self, agent: Agent, wiring: Wiring, plan: Callable[[Agent, Wiring], PlannedChange]) -> PlannedChange:
        """Returns the change of one of several agents. If its settings can't be changed, it has failed."""
        try:
            return plan(agent, wiring)
        except InvalidRequest as error:
            return PlannedChange(
                agent=agent.name,
                word=wiring.word,
                path=str(file_here(wiring.files[0])),
                files=(),
                is_wired=receipt_path(self._receipts, wiring.word).exists(),
                notes=(str(error),),
                failed=True,
                receipt=None,
            )

    def _added(self, path: Path, file: SettingsFile, wiring: Wiring, wired: WiredFile | None, wanted: _Wanted) -> Added:
        old = None
        if wanted.line and file.status_line:
            old = old_line((settings_without(path, wired) or b"").decode(errors="replace"))
        own = replace(self._own, fill_notes=bool(wanted.notes))
        if _this_machine().system == "win32":
            own = replace(own, shell=wiring.windows_shell, names_shell=wiring.names_shell)
        return added_to(file, wiring.word, own, old)

    def _taking_out(self, agent: Agent, wiring: Wiring) -> PlannedChange:
        receipt = read_receipt(self._receipts, wiring.word)
        planned = [(file, plan_removing(file)) for file in (receipt.files if receipt else ())]
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=receipt.files[0].path if receipt and receipt.files else str(file_here(wiring.files[0])),
            files=tuple(change for _, change in planned if not change.is_empty),
            is_wired=receipt is not None,
            notes=tuple(_taken_out(file, change) for file, change in planned),
            receipt=None,
        )


def _taken_out(file: WiredFile, change: FileChange) -> str:
    """Returns what became of a file from which what was added is taken out."""
    if change.is_empty:
        return f"{file.path} had nothing of it any more."
    if change.after == file.before:
        return f"{file.path} is as it was before."
    return f"{file.path} has all else that was written to it since."


def _options(wiring: Wiring, wanted: _Wanted) -> Iterator[OptionState]:
    if any(file.status_line for file in wiring.files):
        yield OptionState(name="statusLine", is_on=bool(wanted.line))
    if any(file.plugin or any(place.for_notes for place in file.hooks) for file in wiring.files):
        yield OptionState(name="fillNotes", is_on=bool(wanted.notes))


def _notes(agent: str, wiring: Wiring, plugin: Plugin | None) -> Iterator[str]:
    yield "It takes effect in its next session, or at once."
    if plugin is not None:
        yield (
            f"{agent} has Ullage's plugin, too: its hooks give way to these, and its MCP server is the one that stays. "
            f"`{plugin.remedy}` removes it; add Ullage once more after that."
        )
    if off := switched_off(wiring.hooks_off):
        yield f"{agent} runs no hook of yours: {off}."
    if wiring.approval is not None:
        yield f"{agent} runs no hook that its user has not allowed: {wiring.approval.remedy}."
