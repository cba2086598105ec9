"""Adds Ullage to the settings of agents on this machine and takes it out again, as `ullage wire` and the editors do.

First the agents as a user names them, and where their settings are; then the changes.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS, agent_of_word
from ullage.agents.wiring import Plugin, SettingsFile, Wiring
from ullage.app.own_command import OwnCommand, added_to, gives_fill_notes, own_words
from ullage.model.errors import InvalidRequest
from ullage.store.store_place import StorePlace, local_path
from ullage.system.wired_files import (
    Change,
    Receipt,
    WiredFile,
    apply,
    keep_receipt,
    plan_adding,
    plan_removing,
    read_receipt,
    read_settings,
    receipt_path,
    remove_folder,
    settings_without,
)
from ullage.wire.json_files import old_line
from ullage.wire.plan import Added, AgentChange, FileChange, OptionState


def path_here(path: Callable[[Machine], str]) -> Path:
    """Returns a path on this machine, such as that of a settings file. There may be no file."""
    return Path(path(_this_machine())).expanduser()


def file_here(file: SettingsFile) -> Path:
    """Returns the path of a settings file on this machine: of one that is there, if the agent reads several."""
    usual = path_here(file.path)
    others = (Path(path).expanduser() for path in file.instead(_this_machine()))
    return usual if usual.exists() else next((path for path in others if path.exists()), usual)


def folder_here(wiring: Wiring) -> Path:
    """Returns the folder that the agent has for its settings on this machine, if it is here."""
    return path_here(wiring.folder) if wiring.folder else path_here(wiring.files[0].path).parent


def is_here(wiring: Wiring) -> bool:
    """Says whether the agent has a folder for its settings on this machine."""
    return folder_here(wiring).is_dir()


def _this_machine() -> Machine:
    return Machine(system=sys.platform, home=str(Path.home()), variables=os.environ)


def missing_folder(agent: Agent) -> Path | None:
    """Returns the folder for an agent's settings if it is not on this machine, so that the agent was never started
    here. Returns None if it is there, or if it is not known where it would be."""
    return None if agent.wiring is None or is_here(agent.wiring) else folder_here(agent.wiring)


def has_plugin(wiring: Wiring) -> bool:
    """Says whether the agent has Ullage as a plugin for all of the user's projects, and it is on. Raises
    `InvalidRequest` if the agent's file can't be read."""
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
    """What agents are to get: the status line, notes of the context's fill, and the MCP server. None leaves it as it
    is."""

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
    """The wiring of agents to a session store; see `WiresAgents`. `store` is where it is, if it is not the user's
    usual one."""

    def __init__(self, store: StorePlace | None) -> None:
        self._own = OwnCommand(words=own_words(), store=store)
        self._receipts = local_path(store)

    def add(
        self, words: Sequence[str], *, status_line: bool | None, fill_notes: bool | None, mcp_server: bool = True
    ) -> Sequence[PlannedChange]:
        """Returns what adds Ullage to agents; see `WiresAgents.add`. Without `mcp_server` its MCP server is not added,
        or is taken out again."""
        wanted = _Wanted(line=status_line, notes=fill_notes, mcp=mcp_server)

        def plan(agent: Agent, wiring: Wiring) -> PlannedChange:
            return self._adding(agent, wiring, wanted)

        if words:
            return [plan(agent, wiring) for agent, wiring in called(words)]
        return [self._each(agent, wiring, plan) for agent, wiring in on_this_machine()]

    def take_out(self, words: Sequence[str]) -> Sequence[PlannedChange]:
        """Returns what takes Ullage out of agents; see `WiresAgents.take_out`. An agent that it was not added to has no
        change."""
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
            apply(Change(path=Path(file.path), before=file.before, after=file.after))
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
            plan_adding(path, self._added(path, file, wiring.word, wired[path], wanted), wired[path])
            for path, file in files.items()
        ]
        # Files of another folder, which the agent had for its settings before, stay in the receipt.
        elsewhere = [file for file in (known.files if known else ()) if Path(file.path) not in files]
        done = [file for _, file in planned if file is not None]
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=str(path),
            files=tuple(_files(change for change, _ in planned)),
            is_wired=any(wired.values()),
            notes=tuple(_notes(agent.name, wiring, plugin)),
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

    def _added(self, path: Path, file: SettingsFile, word: str, wired: WiredFile | None, wanted: _Wanted) -> Added:
        old = None
        if wanted.line and file.status_line:
            old = old_line((settings_without(path, wired) or b"").decode(errors="replace"))
        return added_to(file, word, replace(self._own, fill_notes=bool(wanted.notes)), old)

    def _taking_out(self, agent: Agent, wiring: Wiring) -> PlannedChange:
        receipt = read_receipt(self._receipts, wiring.word)
        planned = [(file, plan_removing(file)) for file in (receipt.files if receipt else ())]
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=receipt.files[0].path if receipt and receipt.files else str(file_here(wiring.files[0])),
            files=tuple(_files(change for _, change in planned)),
            is_wired=receipt is not None,
            notes=tuple(f"{file.path} is as it was before." for file, change in planned if change.after == file.before),
            receipt=None,
        )


def _options(wiring: Wiring, wanted: _Wanted) -> Iterator[OptionState]:
    if any(file.status_line for file in wiring.files):
        yield OptionState(name="statusLine", is_on=bool(wanted.line))
    if any(file.plugin or any(place.for_notes for place in file.hooks) for file in wiring.files):
        yield OptionState(name="fillNotes", is_on=bool(wanted.notes))


def _files(changes: Iterable[Change]) -> Iterator[FileChange]:
    for change in changes:
        if not change.is_empty:
            yield FileChange(path=str(change.path), before=change.before, after=change.after)


def _notes(agent: str, wiring: Wiring, plugin: Plugin | None) -> Iterator[str]:
    yield "It takes effect in its next session."
    if plugin is not None:
        yield (
            f"{agent} has Ullage's plugin, too: its hooks give way to these, and its MCP server is the one that stays. "
            f"`{plugin.remedy}` removes it; add Ullage once more after that."
        )
    if wiring.approval is not None:
        yield f"{agent} runs no hook that its user has not allowed: {wiring.approval.remedy}."
